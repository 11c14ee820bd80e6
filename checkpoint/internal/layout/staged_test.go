package layout_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A box that is cast, and goes beyond the array, is the cast of that part of it,
// and what is beyond is as it was.
func TestStagedTargets(t *testing.T) {
	ctx, all := t.Context(), tensor.DTypes()
	for _, name := range []string{"v1-shapes", "v1-dtypes-np"} {
		dir := filepath.Join("..", "..", "..", "testdata", "orbax", name)
		st, err := local.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := layout.Open(ctx, st, "checkpoint")
		if err != nil {
			t.Fatal(err)
		}
		item, err := c.Default(ctx)
		if err != nil {
			t.Fatal(err)
		}
		open, err := c.Tree(ctx, item)
		if err != nil {
			t.Fatal(err)
		}
		defer open.Close()
		rapid.Check(t, func(t *rapid.T) {
			l := &open.Leaves[rapid.IntRange(0, len(open.Leaves)-1).Draw(t, "leaf")]
			if !l.HasArray() {
				return
			}
			whole := make([]byte, l.Bytes())
			if l.Read(ctx, whole) != nil {
				return
			}
			var targets []layout.Target
			for range rapid.IntRange(1, 3).Draw(t, "boxes") {
				b := drawBox(t, l.Shape)
				for i := range b.Shape {
					b.Shape[i] += rapid.IntRange(0, 2).Draw(t, "beyond")
				}
				d := rapid.SampledFrom(all).Draw(t, "dtype")
				targets = append(targets, layout.Target{Leaf: l, Box: b, DType: d, Lossy: true,
					Dst: bytes.Repeat([]byte{0xa5}, b.Len()*d.Size())})
			}
			if err := open.Read(ctx, targets); err != nil {
				t.Fatal(err)
			}
			for _, g := range targets {
				cast, err := tensor.Cast(g.DType, tensor.Tensor{DType: l.DType, Shape: l.Shape, Data: whole})
				if err != nil {
					t.Fatal(err)
				}
				want := bytes.Repeat([]byte{0xa5}, len(g.Dst))
				zarr.CopyBox(g.Box, want, zarr.WholeBox(l.Shape), cast.Data, g.DType.Size())
				if !bytes.Equal(g.Dst, want) {
					t.Fatalf("%s%s of %s as %s", l.Param, g.Box, l.DType, g.DType)
				}
			}
		})
	}
}
