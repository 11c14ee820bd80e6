package layout

import (
	"context"
	"errors"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/cast"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A target is staged when its elements cannot be read to where they go: they are
// cast, or have neighbours there that the array has not. What several targets
// share is staged as well.

// dtype is the type of the elements of Dst.
func (g *Target) dtype() tensor.DType {
	if g.DType == tensor.Invalid {
		return g.Leaf.DType
	}
	return g.DType
}

func (g *Target) staged() bool {
	return g.dtype() != g.Leaf.DType || !g.Box.Inside(g.Leaf.Shape)
}

// within returns the part of the box that lies in the array; ok is false if no part does.
func (g *Target) within() (region zarr.Box, ok bool) {
	if g.Box.Inside(g.Leaf.Shape) {
		return g.Box, true
	}
	return g.Box.Intersect(zarr.WholeBox(g.Leaf.Shape))
}

// encoded is how many bytes of the array are read.
func (g *Target) encoded() int {
	region, ok := g.within()
	if !ok {
		return 0
	}
	return region.Len() * g.Leaf.DType.Size()
}

// admit checks the box and the size of its memory.
func (g *Target) admit() error {
	l := g.Leaf
	if !g.staged() {
		return l.admit(g.Box, len(g.Dst))
	}
	if !g.dtype().Valid() {
		return &errs.Error{Kind: errs.Invalid, Want: "a type of elements", Got: g.dtype().String()}
	}
	far := make([]int, len(l.Shape))
	for i, n := range l.Shape {
		far[i] = n
		if i < len(g.Box.Origin) && i < len(g.Box.Shape) && g.Box.Origin[i] >= 0 {
			far[i] = max(n, g.Box.Origin[i]+g.Box.Shape[i])
		}
	}
	if !g.Box.Inside(far) {
		return &errs.Error{Kind: errs.Invalid, Want: "a box of " + strconv.Itoa(len(far)) + " axes", Got: g.Box.String()}
	}
	if n := g.Box.Len() * g.dtype().Size(); n != len(g.Dst) {
		return &errs.Error{Kind: errs.Invalid, Want: strconv.Itoa(n) + " bytes of memory", Got: strconv.Itoa(len(g.Dst))}
	}
	return nil
}

// runStaged reads the region around pieces of one leaf once, verifies it, and puts
// their parts of it where they go.
func runStaged(ctx context.Context, pieces []piece, w *worker) error {
	l := pieces[0].Leaf
	regions, staged := make([]zarr.Box, len(pieces)), false
	for i, p := range pieces {
		regions[i] = p.region
		staged = staged || p.staged()
	}
	around := bounding(regions)
	b := w.take(&w.shared, around.Len()*l.DType.Size())
	if err := l.array.readRegion(ctx, around, around, b, w); err != nil {
		return err
	}
	if staged {
		if err := l.array.checkBox(around, b); err != nil {
			return err
		}
	}
	for _, p := range pieces {
		if err := p.place(around, b); err != nil {
			return err
		}
	}
	return nil
}

// place puts what the box has of a region into its memory.
func (g *Target) place(region zarr.Box, b []byte) error {
	size := g.Leaf.DType.Size()
	if g.dtype() == g.Leaf.DType {
		zarr.CopyBox(g.Box, g.Dst, region, b, size)
		return nil
	}
	common, ok := g.Box.Intersect(region)
	if !ok {
		return nil
	}
	wide := g.dtype().Size()
	var failed error
	zarr.Runs(g.moved(common), g.moved(region), g.Box.Shape, 1, func(src, dst, n int) {
		if failed == nil {
			failed = g.cast(g.Dst[dst*wide:(dst+n)*wide], b[src*size:(src+n)*size])
		}
	})
	return failed
}

// moved returns the box as seen from the origin of the target's.
func (g *Target) moved(b zarr.Box) zarr.Box {
	origin := make([]int, len(b.Origin))
	for i, o := range b.Origin {
		origin[i] = o - g.Box.Origin[i]
	}
	return zarr.Box{Origin: origin, Shape: b.Shape}
}

// cast casts a run of elements, and refuses what the type does not have.
func (g *Target) cast(out, in []byte) error {
	src := g.Leaf.DType
	err := cast.Into(g.dtype(), out, src, in, g.Lossy)
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Mismatch {
		e.Remedy = "load it as " + src.String() + ", or with LossyCast as what is left of it"
	}
	return err
}
