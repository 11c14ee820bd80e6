package layout_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
)

// checkpoints returns directories of checkpoints that other programs wrote: the ones of this
// repository and, if they lie beside it, the shared vectors.
func checkpoints(t *testing.T) []string {
	t.Helper()
	var dirs []string
	for _, root := range []string{"../../../testdata/orbax", "../../../../shared/vectors/orbax"} {
		found, err := filepath.Glob(filepath.Join(root, "*", "checkpoint"))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	if len(dirs) == 0 {
		t.Fatal("no checkpoints found")
	}
	return dirs
}

// A box of an array is that part of the whole, in every layout.
func TestBoxesOfVectors(t *testing.T) {
	leaves := 0
	for _, dir := range checkpoints(t) {
		leaves += testBoxes(t, dir)
	}
	if leaves < 100 {
		t.Errorf("boxes of %d arrays, expected more", leaves)
	}
}

// testBoxes returns how many arrays it read; what does not open, or does not
// load as a whole, is for other tests.
func testBoxes(t *testing.T, dir string) (leaves int) {
	ctx := t.Context()
	st, err := local.Open(filepath.Dir(dir), nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := layout.Open(ctx, st, filepath.Base(dir))
	if err != nil {
		return 0
	}
	items, err := c.Items(ctx)
	if err != nil {
		return 0
	}
	for _, it := range items {
		if it.Kind != layout.Tree {
			continue
		}
		open, err := c.Tree(ctx, it.Name)
		if err != nil {
			continue
		}
		var sound []*layout.Leaf
		wholes := map[*layout.Leaf][]byte{}
		for i := range open.Leaves {
			if l := &open.Leaves[i]; l.HasArray() {
				whole := make([]byte, l.Bytes())
				if l.Read(ctx, whole) == nil {
					sound, wholes[l] = append(sound, l), whole
					rapid.Check(t, func(t *rapid.T) { boxIsPart(ctx, t, dir, l, whole) })
				}
			}
		}
		rapid.Check(t, func(t *rapid.T) { boxesTogether(ctx, t, dir, open, sound, wholes) })
		leaves += len(sound)
		if err := open.Close(); err != nil {
			t.Error(err)
		}
	}
	return leaves
}

func boxIsPart(ctx context.Context, t *rapid.T, dir string, l *layout.Leaf, whole []byte) {
	box := drawBox(t, l.Shape)
	size := l.DType.Size()
	got, want := make([]byte, box.Len()*size), make([]byte, box.Len()*size)
	zarr.CopyBox(box, want, zarr.WholeBox(l.Shape), whole, size)
	if err := l.ReadBox(ctx, box, got); err != nil {
		t.Fatalf("%s: %s%s: %v", dir, l.Param, box, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %s of %s%s is not that part of the whole", dir, box, l.Param, l.Shape)
	}
}

// boxesTogether reads several boxes of several leaves at once, into memory that
// is not zero.
func boxesTogether(ctx context.Context, t *rapid.T, dir string, open *layout.OpenTree, leaves []*layout.Leaf,
	wholes map[*layout.Leaf][]byte) {
	var targets []layout.Target
	for _, l := range leaves {
		for range rapid.IntRange(0, 3).Draw(t, "boxes") {
			box := drawBox(t, l.Shape)
			targets = append(targets, layout.Target{Leaf: l, Box: box,
				Dst: bytes.Repeat([]byte{0xa5}, box.Len()*l.DType.Size())})
		}
	}
	if err := open.Read(ctx, targets); err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	for _, g := range targets {
		want := make([]byte, len(g.Dst))
		zarr.CopyBox(g.Box, want, zarr.WholeBox(g.Leaf.Shape), wholes[g.Leaf], g.Leaf.DType.Size())
		if !bytes.Equal(g.Dst, want) {
			t.Fatalf("%s: %s of %s%s is not that part of the whole", dir, g.Box, g.Leaf.Param, g.Leaf.Shape)
		}
	}
}

func drawBox(t *rapid.T, shape tensor.Shape) zarr.Box {
	b := zarr.WholeBox(shape)
	for i, n := range shape {
		b.Origin[i] = rapid.IntRange(0, n).Draw(t, "origin")
		b.Shape[i] = rapid.IntRange(0, n-b.Origin[i]).Draw(t, "extent")
	}
	return b
}

// What is not a box of the array, or has other memory, is refused.
func TestBoxRefused(t *testing.T) {
	ctx := t.Context()
	st, err := local.Open("../../../testdata/orbax/v1-shapes", nil)
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
	for i := range open.Leaves {
		l := &open.Leaves[i]
		if !l.HasArray() || len(l.Shape) == 0 {
			continue
		}
		beyond, negative := zarr.WholeBox(l.Shape), zarr.WholeBox(l.Shape)
		beyond.Shape[0]++
		negative.Origin[0] = -1
		for name, b := range map[string]zarr.Box{"beyond": beyond, "negative": negative, "rank": {}} {
			if err := l.ReadBox(ctx, b, nil); errs.KindOf(err) != errs.Invalid {
				t.Errorf("%s: %v, want Invalid", name, err)
			}
		}
		if err := l.ReadBox(ctx, zarr.WholeBox(l.Shape), make([]byte, l.Bytes()+1)); errs.KindOf(err) != errs.Invalid {
			t.Errorf("memory of another size: %v, want Invalid", err)
		}
		return
	}
	t.Fatal("no array to read")
}
