package main

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/internal/growth"
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

func treeOps() []growth.Op {
	return []growth.Op{
		{Name: "tree: set", N: 300, Prepare: func(_ growth.TB, n int) func() error {
			return func() error { wide(n); return nil }
		}},
		{Name: "tree: get each", N: 300, Prepare: func(tb growth.TB, n int) func() error {
			d := wide(n)
			return func() error {
				for i := range n {
					if v := d.Get(name(i)); v == nil {
						return fmt.Errorf("%s is missing", name(i))
					}
				}
				return nil
			}
		}},
		{Name: "tree: diff", N: 300, Prepare: func(_ growth.TB, n int) func() error {
			a, b := wide(n), wide(n)
			return func() error { _ = tree.Diff(a, b); return nil }
		}},
	}
}
