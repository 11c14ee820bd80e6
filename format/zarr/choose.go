package zarr

import (
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ChunkOptions say how ChooseChunk cuts; the zero value does not.
type ChunkOptions struct {
	// Bytes is what a chunk takes at most; 0 is no bound.
	Bytes int
	// Axes are cut to 1 first, so that slices along them can be read alone.
	Axes []int
}

// ChooseChunk returns the shape of the chunks of an array of which parts of the
// shape part are written, as Orbax 0.12 chooses it (choose_chunk_shape): part,
// with axes replaced by divisors of them until a chunk takes at most o.Bytes.
// After the axes that are asked for, the longest one is reduced to its next
// smaller divisor, the first of several, among those along which the array is
// cut already, and among all once these are 1. Extents of 0 count as 1.
//
// Errors, of kind errs.Invalid: another rank of part, an axis out of range, a
// bound below the size of one element, a malformed shape or dtype.
func ChooseChunk(shape, part tensor.Shape, d tensor.DType, o ChunkOptions) (tensor.Shape, error) {
	if err := o.check(shape, part, d); err != nil {
		return nil, err
	}
	chunk := part.Clone()
	cut := make([]bool, len(part))
	for i, n := range chunk {
		chunk[i] = max(1, n)
		cut[i] = shape[i] != chunk[i]
	}
	for _, axis := range o.Axes {
		if chunk[axis] > 1 {
			chunk[axis], cut[axis] = 1, true
		}
	}
	if o.Bytes > 0 {
		reduce(chunk, part, cut, o.Bytes/d.Size())
	}
	return chunk, nil
}

func (o ChunkOptions) check(shape, part tensor.Shape, d tensor.DType) error {
	fail := func(subject, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "zarr.ChooseChunk", Subject: subject, Want: want, Got: got}
	}
	for _, s := range []tensor.Shape{shape, part} {
		if _, err := s.Bytes(d); err != nil {
			return err
		}
	}
	if len(shape) != len(part) {
		return fail("part "+part.String(), "the rank of "+shape.String(), "another")
	}
	for _, axis := range o.Axes {
		if axis < 0 || axis >= len(shape) {
			return fail("axes", "axes of "+shape.String(), strconv.Itoa(axis))
		}
	}
	if o.Bytes < 0 || o.Bytes > 0 && o.Bytes < d.Size() {
		return fail("bytes of a chunk", "one element of "+d.String()+" or more", strconv.Itoa(o.Bytes))
	}
	return nil
}

// reduce shrinks chunk to at most limit elements, along axes that divide part.
func reduce(chunk, part tensor.Shape, cut []bool, limit int) {
	for chunk.Len() > limit {
		longest := -1
		for i, n := range chunk {
			if cut[i] && n > 1 && (longest < 0 || n > chunk[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			cut = slices.Repeat([]bool{true}, len(chunk))
			continue
		}
		chunk[longest] = divisorBelow(part[longest], chunk[longest])
	}
}

// divisorBelow returns the greatest divisor of n that is less than limit.
func divisorBelow(n, limit int) int {
	best := 1
	for k := 1; k*k <= n; k++ {
		if n%k != 0 {
			continue
		}
		if n/k < limit {
			return n / k // those that follow are less
		}
		if k < limit {
			best = k
		}
	}
	return best
}
