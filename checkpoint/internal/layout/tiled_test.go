package layout

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// held is a part of an array in memory.
type held struct{ array tensor.Tensor }

func (h held) read(_ context.Context, _ *part, region, box zarr.Box, dst []byte, _ bool, _ *worker) error {
	b := make([]byte, region.Len())
	zarr.CopyBox(region, b, zarr.WholeBox(h.array.Shape), h.array.Data, 1)
	zarr.CopyBox(box, dst, region, b, 1)
	return nil
}

func (held) check(context.Context, *part, zarr.Box, []byte) error { return nil }

func (held) prove(context.Context, *part, *worker) error { return nil }

// cutBox cuts one of the boxes in two.
func cutBox(t *rapid.T, boxes []zarr.Box) []zarr.Box {
	i := rapid.IntRange(0, len(boxes)-1).Draw(t, "box")
	b := boxes[i]
	axis := rapid.IntRange(0, len(b.Shape)-1).Draw(t, "axis")
	at := rapid.IntRange(0, b.Shape[axis]).Draw(t, "at")
	low := zarr.Box{Origin: slices.Clone(b.Origin), Shape: slices.Clone(b.Shape)}
	high := zarr.Box{Origin: slices.Clone(b.Origin), Shape: slices.Clone(b.Shape)}
	low.Shape[axis], high.Shape[axis] = at, b.Shape[axis]-at
	high.Origin[axis] += at
	return append(append(slices.Clone(boxes[:i]), low, high), boxes[i+1:]...)
}

// A box of an array in parts has the elements of the array, however the parts lie.
func TestTiledLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := make(tensor.Shape, rapid.IntRange(1, 3).Draw(t, "rank"))
		for i := range shape {
			shape[i] = rapid.IntRange(1, 7).Draw(t, "extent")
		}
		x := tensor.New(tensor.Uint8, shape...)
		for i := range x.Data {
			x.Data[i] = byte(i)
		}
		boxes := []zarr.Box{zarr.WholeBox(shape)}
		for range rapid.IntRange(0, 6).Draw(t, "cuts") {
			boxes = cutBox(t, boxes)
		}
		var parts []*part
		for _, b := range rapid.Permutation(boxes).Draw(t, "order") {
			parts = append(parts, &part{b, held{x}})
		}
		a := newTiled(shape, 1, parts, rapid.Bool().Draw(t, "sums"), rapid.Bool().Draw(t, "packed"))
		l := Leaf{Kind: Array, array: a, Form: a.form(tensor.Uint8)}
		box := zarr.Box{Origin: make([]int, len(shape)), Shape: make([]int, len(shape))}
		for i, n := range shape {
			box.Origin[i] = rapid.IntRange(0, n).Draw(t, "origin")
			box.Shape[i] = rapid.IntRange(0, n-box.Origin[i]).Draw(t, "size")
		}
		want, got := make([]byte, box.Len()), make([]byte, box.Len())
		zarr.CopyBox(box, want, zarr.WholeBox(shape), x.Data, 1)
		if err := l.ReadBox(context.Background(), box, got); err != nil || !bytes.Equal(want, got) {
			t.Fatalf("box %v: %v, want %v: %v", box, got, want, err)
		}
		if a.lumps && a.cell != nil {
			for _, p := range a.parts {
				for cell := range zarr.Cells(p.box, a.units) {
					if !cell.Equal(p.box) {
						t.Fatalf("the unit %v cuts the part %v", a.units, p.box)
					}
				}
			}
		}
	})
}

// An element of a list that was an empty container has no entry. A load gives None for it.
func TestGapsAreNone(t *testing.T) {
	index := func(list, i string) tree.Path {
		return tree.Path{{Name: list}, {Name: i, Kind: tree.KeyIndex}}
	}
	leaf := func() *Leaf { return &Leaf{Kind: Array, Form: &Form{ValueType: orbax.TypeNumpy}} }
	var b valueTree
	b.put(index("a", "3"), leaf())
	b.put(index("a", "1"), leaf())
	var out OpenTree
	if err := b.finish(&out); err != nil {
		t.Fatal(err)
	}
	var kinds []Kind
	for i, l := range out.Leaves {
		if l.Param != "a."+string(rune('0'+i)) {
			t.Errorf("leaf %d is %s", i, l.Param)
		}
		kinds = append(kinds, l.Kind)
	}
	if !slices.Equal(kinds, []Kind{None, Array, None, Array}) {
		t.Errorf("%v", kinds)
	}
	for _, c := range [][2]string{{"5000", "large gaps"}, {"1000000000", "large gaps"},
		{"9223372036854775807", "large gaps"}, {"-1", "an index"}, {"x", "an index"}} {
		var b valueTree
		b.put(index("a", c[0]), leaf())
		err := b.finish(&OpenTree{})
		if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), c[1]) {
			t.Fatalf("index %s: %v", c[0], err)
		}
	}
	var twice valueTree
	twice.put(index("a", "0"), leaf())
	twice.put(index("a", "0"), leaf())
	if err := twice.finish(&OpenTree{}); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("two entries of one path: %v", err)
	}
	var none valueTree
	if err := none.finish(&out); err != nil || len(out.Leaves) != 1 || out.Leaves[0].Kind != EmptyDict {
		t.Errorf("no entries: %v, %v", out.Leaves, err)
	}
}
