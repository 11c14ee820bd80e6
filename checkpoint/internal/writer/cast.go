package writer

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/cast"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// An array may be stored in another type than it is given in (Storage.DType). Its
// elements are cast when they are encoded, sub-chunk by sub-chunk: nowhere is
// there a second copy of the array.

// castTo returns the source with elements of another type.
func (s source) castTo(d tensor.DType) source {
	s.from, s.DType = s.DType, d
	return s
}

// casts reports whether elements are of another type where they come from.
func (s *source) casts() bool { return s.from != tensor.Invalid && s.from != s.DType }

// castBytes is about how much is read at once to be cast.
const castBytes = 4 << 20

// castRoom keeps memory for what is read to be cast.
var castRoom = sync.Pool{New: func() any { return new([]byte) }}

// castRegion is fill with a cast.
func (s *source) castRegion(ctx context.Context, region zarr.Box, dst []byte) error {
	if s.read == nil {
		for _, m := range s.places() {
			if err := s.castFrom(m, region, dst); err != nil {
				return err
			}
		}
		return nil
	}
	room := castRoom.Get().(*[]byte)
	defer castRoom.Put(room)
	for part := range zarr.Cells(region, rows(region.Shape, castBytes/s.from.Size())) {
		n := part.Len() * s.from.Size()
		*room = slices.Grow((*room)[:0], n)[:n]
		if err := s.read(ctx, part, *room); err != nil {
			return err
		}
		if err := s.castFrom(zarr.Source{Data: *room, Box: part}, region, dst); err != nil {
			return err
		}
	}
	return nil
}

// castFrom casts what some memory has of a region into dst, the memory of that.
func (s *source) castFrom(m zarr.Source, region zarr.Box, dst []byte) (err error) {
	common, ok := m.Box.Intersect(region)
	if !ok {
		return nil
	}
	narrow, wide := s.from.Size(), s.DType.Size()
	zarr.Runs(seenFrom(region, common), seenFrom(region, m.Box), region.Shape, 1, func(at, to, n int) {
		if err == nil {
			err = cast.Into(s.DType, dst[to*wide:(to+n)*wide], s.from, m.Data[at*narrow:(at+n)*narrow], false)
		}
	})
	return explainLoss(err)
}

// explainLoss says what to do about values that the stored type does not have.
func explainLoss(err error) error {
	var e *errs.Error
	if errors.As(err, &e) && e.Kind == errs.Mismatch {
		e.Remedy = "store it in another type (leaf_storage), or cast it first: tensor.Cast takes what is left"
	}
	return err
}

// seenFrom returns the box as seen from the origin of another.
func seenFrom(from, b zarr.Box) zarr.Box {
	origin := make([]int, len(b.Origin))
	for i, o := range b.Origin {
		origin[i] = o - from.Origin[i]
	}
	return zarr.Box{Origin: origin, Shape: b.Shape}
}

// rows returns the shape of the largest parts of at most most elements, but at least one,
// whose elements lie behind each other.
func rows(shape []int, most int) []int {
	out := slices.Clone(shape)
	n := tensor.Shape(shape).Len()
	for axis := 0; axis < len(out) && n > most; axis++ {
		row := n / out[axis]
		out[axis] = max(1, most/row)
		n = row * out[axis]
	}
	return out
}

// castSum is sum of what the elements are cast to; nil where they cannot be.
func (s *source) castSum() *uint32 {
	sum := uint32(0)
	for _, m := range s.places() {
		if m.Box.Len() == 0 {
			continue
		}
		for part := range zarr.Cells(m.Box, rows(m.Box.Shape, castBytes/s.DType.Size())) {
			b := make([]byte, part.Len()*s.DType.Size())
			if s.castRegion(context.Background(), part, b) != nil {
				return nil
			}
			_, share := sumRuns(part, zarr.Source{Data: b, Box: part}, s.Shape, s.DType.Size(), 0, false)
			sum ^= share
		}
	}
	return &sum
}
