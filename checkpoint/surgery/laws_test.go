package surgery_test

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/surgery"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// drawArray draws an array of one of several dtypes; at least one axis where least
// is 1.
func drawArray(t *rapid.T, least int) tensor.Tensor {
	d := rapid.SampledFrom([]tensor.DType{tensor.Int8, tensor.Int32, tensor.Float64, tensor.BFloat16, tensor.Bool}).Draw(t,
		"dtype")
	shape := rapid.SliceOfN(rapid.IntRange(1, 4), least, 4).Draw(t, "shape")
	x := tensor.New(d, shape...)
	for i := range x.Data {
		if x.Data[i] = byte(i*37 + 1); d == tensor.Bool {
			x.Data[i] &= 1
		}
	}
	return x
}

// noisy is an array of the same dtype and shape with other elements.
func noisy(t *rapid.T, like tensor.Tensor) tensor.Tensor {
	x := like.Clone()
	by := byte(rapid.IntRange(0, 255).Draw(t, "noise"))
	for i := range x.Data {
		if x.Data[i] += by; x.DType == tensor.Bool {
			x.Data[i] &= 1
		}
	}
	return x
}

// applied returns what rules make of a tree, read.
func applied(t *rapid.T, n *tree.Node, rules ...surgery.Rule) *tree.Node {
	got, err := surgery.Script{Rules: rules}.Transform(t.Context(), []*tree.Node{n})
	if err != nil {
		t.Fatal(err)
	}
	return eager(t, got)
}

func sameTree(t *rapid.T, want, got *tree.Node) {
	if d := tree.Diff(want, got); len(d) > 0 {
		t.Fatalf("\n%s", tree.FormatDiff(d))
	}
}

func TestUnstackUndoesStack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		like := drawArray(t, 0)
		layers := tree.NewList()
		for range rapid.IntRange(1, 12).Draw(t, "n") {
			layers.Items = append(layers.Items, tree.NewDict().Set("w", tree.NewLeaf(noisy(t, like))))
		}
		n := tree.NewDict().Set("layers", layers)
		axis := rapid.IntRange(-len(like.Shape)-1, len(like.Shape)).Draw(t, "axis")
		sameTree(t, n, applied(t, n,
			surgery.Stack{Match: surgery.Match{Pattern: `layers\.(\d+)\.(.*)`}, To: "layers.$2", Axis: axis},
			surgery.Unstack{Match: surgery.Match{Pattern: `layers\.(.*)`}, To: "layers.${index}.$1", Axis: axis}))
	})
}

func TestSplitUndoesFuse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		like := drawArray(t, 1)
		axis := rapid.IntRange(0, len(like.Shape)-1).Draw(t, "axis")
		n, keys, sizes := tree.NewDict(), []string(nil), []int(nil)
		for i := range rapid.IntRange(1, 5).Draw(t, "n") {
			shape := slices.Clone(like.Shape)
			shape[axis] = rapid.IntRange(0, 4).Draw(t, "extent")
			x := noisy(t, tensor.New(like.DType, shape...))
			keys, sizes = append(keys, "w"+strconv.Itoa(i)), append(sizes, shape[axis])
			n.Set(keys[i], tree.NewLeaf(x))
		}
		at := axis - rapid.SampledFrom([]int{0, len(like.Shape)}).Draw(t, "from the end")
		sameTree(t, n, applied(t, n,
			surgery.Fuse{Keys: keys, To: "all", Axis: at},
			surgery.Split{Match: surgery.Match{Pattern: "all"}, To: keys, Sizes: sizes, Axis: at}))
	})
}

// A bijection of names and its inverse give the tree back. Its leaves are where they were, except
// for the order of keys.
func TestRenameInverts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := tree.NewDict()
		for _, outer := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,4}"), 1, 4, rapid.ID).Draw(t, "outer") {
			inner := tree.NewList()
			for i := range rapid.IntRange(1, 3).Draw(t, "inner") {
				inner.Items = append(inner.Items, tree.NewDict().Set("w", tree.NewLeaf(i)).Set("b", tree.NewLeaf("x")))
			}
			n.Set(outer, inner)
		}
		there, back := surgery.Rename{Match: surgery.Match{Pattern: `(\w+)\.(.*)`}, To: "model.${1}_x.$2"},
			surgery.Rename{Match: surgery.Match{Pattern: `model\.(\w+)_x\.(.*)`}, To: "$1.$2"}
		moved := applied(t, n, there)
		if moved.Get("model") == nil {
			t.Fatal(moved)
		}
		sameTree(t, n, applied(t, moved, back))
	})
}

// Any box of what rules make is that box of the whole of it, and rules make the
// same of lazy arrays as of what was read before each of them.
func TestBoxesAreThoseOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := tree.NewDict().Set("w", tree.NewLeaf(drawArray(t, 1)))
		lazy, read := n, n
		for range rapid.IntRange(1, 4).Draw(t, "rules") {
			r := drawRule(t, read.Get("w"))
			got, err := surgery.Script{Rules: r}.Transform(t.Context(), []*tree.Node{lazy})
			if err != nil {
				t.Fatalf("%v: %v", r, err)
			}
			lazy, read = got, applied(t, read, r...)
		}
		sameTree(t, read, eager(t, lazy))
		l, ok := lazy.Get("w").Value.(checkpoint.Lazy)
		if !ok {
			return
		}
		whole, _ := read.Get("w").Tensor()
		box := zarr.WholeBox(whole.Shape)
		for k, extent := range whole.Shape {
			box.Origin[k] = rapid.IntRange(0, extent).Draw(t, "origin")
			box.Shape[k] = rapid.IntRange(0, extent-box.Origin[k]).Draw(t, "extent")
		}
		got, want := make([]byte, box.Len()*whole.DType.Size()), make([]byte, box.Len()*whole.DType.Size())
		zarr.CopyBox(box, want, zarr.WholeBox(whole.Shape), whole.Data, whole.DType.Size())
		if err := l.ReadBox(t.Context(), checkpoint.Box(box), got); err != nil || !slices.Equal(got, want) {
			t.Fatalf("box %v of %v: %v, want %v, %v", box, l, got, want, err)
		}
	})
}

// drawRule draws rules that can be applied to the array w, and leave one.
func drawRule(t *rapid.T, w *tree.Node) []surgery.Rule {
	x, _ := w.Tensor()
	match := surgery.Match{Pattern: "w"}
	rank := len(x.Shape)
	cast := []surgery.Rule{surgery.Cast{Match: match,
		DType: rapid.SampledFrom([]tensor.DType{tensor.Int16, tensor.Float32, tensor.Float64, tensor.Uint8}).Draw(t,
			"dtype")}}
	stack := []surgery.Rule{
		surgery.Rename{Match: match, To: "w0"}, surgery.Copy{Match: surgery.Match{Pattern: "w0"}, To: "w2"},
		surgery.Stack{Match: surgery.Match{Pattern: `w(\d)`}, To: "w", Axis: rapid.IntRange(0, rank).Draw(t, "axis"), Count: 3, Fill: new(float64)},
	}
	if rank == 0 || x.Len() > 1<<12 {
		return cast
	}
	axis := rapid.IntRange(0, rank-1).Draw(t, "axis")
	repeat := surgery.Repeat{Match: match, Axis: axis, Times: rapid.IntRange(1, 3).Draw(t, "times"),
		Whole: rapid.Bool().Draw(t, "whole")}
	at := rapid.IntRange(0, x.Shape[axis]).Draw(t, "at")
	return rapid.SampledFrom([][]surgery.Rule{
		cast, stack, {repeat},
		{surgery.Transpose{Match: match, Axes: rapid.Permutation(upTo(rank)).Draw(t, "axes")}},
		{surgery.Split{Match: match, To: []string{"b", "a"}, Axis: axis, Sizes: []int{at, x.Shape[axis] - at}}, surgery.Fuse{Keys: []string{"a", "b"}, To: "w", Axis: axis}},
		{surgery.Split{Match: match, To: []string{"b", "w"}, Axis: axis, Sizes: []int{at, x.Shape[axis] - at}}, surgery.Drop{Match: surgery.Match{Pattern: "b"}}},
		{surgery.Unstack{Match: match, To: "x${index}", Axis: axis}, surgery.Rename{Match: surgery.Match{Pattern: "x0"}, To: "w"}, surgery.Drop{Match: surgery.Match{Pattern: `x\d`, Optional: true}}},
	}).Filter(func(r []surgery.Rule) bool { _, cuts := r[0].(surgery.Unstack); return !cuts || x.Shape[axis] > 0 }).Draw(t,
		"rule")
}

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
