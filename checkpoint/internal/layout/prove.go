package layout

import (
	"context"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// proven reports whether the whole array is compared with its checksum without its elements being
// in memory.
func (l *Leaf) proven() bool {
	a, ok := l.array.(numpyArray)
	return l.array.entire() || ok && !a.alone
}

// Prove reads what parts of the array are not verified by, when they are read: the
// whole array against its one checksum, where there is no other. It does so piece
// by piece.
func (l *Leaf) Prove(ctx context.Context) error {
	if !l.array.entire() {
		return nil
	}
	w := worker{pool: newPool(budget)}
	defer w.release()
	return l.wrap(l.prove(ctx, &w))
}

func (l *Leaf) prove(ctx context.Context, w *worker) error {
	switch a := l.array.(type) {
	case numpyArray:
		return a.prove(ctx)
	case *zarrArray:
		return a.prove(ctx, w)
	}
	return nil
}

// prove compares the member of an archive with its checksum.
func (a numpyArray) prove(ctx context.Context) error {
	archive, err := a.file.archive(ctx)
	if err == nil {
		err = archive.Check(a.name)
	}
	return err
}

// prove sums the array in C order.
func (l *zarrArray) prove(ctx context.Context, w *worker) error {
	size := l.sums.size
	sum := uint32(0)
	for box := range Pieces(zarr.WholeBox(l.sums.shape), size, slabBytes) {
		b := w.take(&w.shared, box.Len()*size)
		if err := l.readRegion(ctx, box, box, b, w); err != nil {
			return err
		}
		sum = crc.Update(sum, b)
	}
	return l.sums.same(sum)
}

// Tiles yields boxes that tile the array. Each box has as many of the smallest parts worth reading
// by themselves as fit in most bytes, and at least one.
func (l *Leaf) Tiles(most int) iter.Seq[zarr.Box] {
	return zarr.Cells(zarr.WholeBox(l.Shape), slab(l.Shape, l.array.unit(), l.DType.Size(), most))
}

// Pieces yields boxes that tile a box in C order: each is a run of the box's memory. Each has at
// most most bytes, or one element if an element is larger. Elements have size bytes.
func Pieces(box zarr.Box, size int, most int64) iter.Seq[zarr.Box] {
	return func(yield func(zarr.Box) bool) { pieces(box, size, 0, most, yield) }
}

func pieces(box zarr.Box, size, axis int, most int64, yield func(zarr.Box) bool) bool {
	bytes := int64(box.Len() * size)
	if bytes <= most || axis == len(box.Shape) {
		return bytes == 0 || yield(box)
	}
	step := max(1, int(most/(bytes/int64(box.Shape[axis]))))
	for at := 0; at < box.Shape[axis]; at += step {
		part := zarr.Box{Origin: slices.Clone(box.Origin), Shape: slices.Clone(box.Shape)}
		part.Origin[axis], part.Shape[axis] = box.Origin[axis]+at, min(step, box.Shape[axis]-at)
		if !pieces(part, size, axis+1, most, yield) {
			return false
		}
	}
	return true
}
