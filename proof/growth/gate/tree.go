package main

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/proof/growth"
	"github.com/bivouac-ml/bivouac/tree"
)

// wide is a dictionary of n numbers.
func wide(n int) *tree.Node {
	d := tree.NewDict()
	for i := range n {
		d.Set(name(i), tree.NewLeaf(int64(i)))
	}
	return d
}

func name(i int) string { return fmt.Sprintf("leaf%07d", i) }

// layered is a dictionary of n/4 dictionaries of four numbers, and a list of n numbers.
func layered(n int) *tree.Node {
	layers := tree.NewDict()
	for i := range n / 4 {
		layers.Set(fmt.Sprintf("layer%d", i), wide(4))
	}
	list := tree.NewList()
	for i := range n {
		list.Items = append(list.Items, tree.NewLeaf(float64(i)))
	}
	return tree.NewDict().Set("layers", layers).Set("list", list)
}

// each is an operation on a tree of n leaves, wide and layered.
func each(what string, n int, do func(*tree.Node) error) []growth.Op {
	op := func(shape string, make func(int) *tree.Node) growth.Op {
		return growth.Op{Name: what + ": " + shape, N: n, Prepare: func(_ growth.TB, n int) func() error {
			t := make(n)
			return func() error { return do(t) }
		}}
	}
	return []growth.Op{op("wide", wide), op("layered", layered)}
}

func treeOps() []growth.Op {
	ops := []growth.Op{
		{Name: "tree: set", N: 300, Prepare: func(_ growth.TB, n int) func() error {
			return func() error { wide(n); return nil }
		}},
		{Name: "tree: into a map", N: 300, Prepare: func(_ growth.TB, n int) func() error {
			t, m := wide(n), map[string]int64{}
			return func() error { return tree.Into(t, &m) }
		}},
		{Name: "tree: into a list", N: 300, Prepare: func(_ growth.TB, n int) func() error {
			t := layered(n).Get("list")
			return func() error {
				var s []any
				return tree.Into(t, &s)
			}
		}},
	}
	for _, o := range [][]growth.Op{
		each("tree: get each", 300, func(t *tree.Node) error {
			for _, e := range tree.Flatten(t) {
				if t.At(e.Path) != e.Node {
					return fmt.Errorf("%s is not found", e.Path)
				}
			}
			return nil
		}),
		each("tree: of what it is in Go", 300, func(t *tree.Node) error {
			_, err := tree.From(tree.ToGo(t))
			return err
		}),
		each("tree: flatten and build", 300, func(t *tree.Node) error {
			entries := tree.Flatten(t)
			if err := tree.Collisions(entries); err != nil {
				return err
			}
			_, err := tree.Unflatten(entries)
			return err
		}),
		each("tree: diff", 300, func(t *tree.Node) error {
			if d := tree.Diff(t, layered(t.Len())); len(tree.FormatDiff(d)) == 0 {
				return fmt.Errorf("no difference")
			}
			return nil
		}),
		each("tree: structure", 300, func(t *tree.Node) error {
			tree.Summary(tree.Structure(t, layered(t.Len())), 0)
			return t.Check()
		}),
		each("tree: merge", 300, func(t *tree.Node) error {
			_, err := tree.Merge([]*tree.Node{t, tree.Untyped(t)}, &tree.MergeOptions{Overwrite: true})
			return err
		}),
	} {
		ops = append(ops, o...)
	}
	return ops
}
