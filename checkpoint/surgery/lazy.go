package surgery

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// part is an array that is a box of another one.
type part struct {
	box   zarr.Box
	array checkpoint.Lazy
	// drop is the axis of the box, of extent 1, that the array lacks, or -1.
	drop int
}

// joined returns the array that the parts tile.
func joined(d tensor.DType, shape tensor.Shape, parts []part) checkpoint.Lazy {
	return checkpoint.Lazy{DType: d, Shape: shape, Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
		for i := range parts {
			if err := parts[i].read(ctx, zarr.Box(box), dst, d.Size()); err != nil {
				return err
			}
		}
		return nil
	}}
}

// own converts a box of the whole to a box of the array of the part.
func (p *part) own(b zarr.Box) checkpoint.Box {
	own := checkpoint.Box{Origin: slices.Clone(b.Origin), Shape: slices.Clone(b.Shape)}
	for k, o := range p.box.Origin {
		own.Origin[k] -= o
	}
	if p.drop >= 0 {
		own.Origin, own.Shape = slices.Delete(own.Origin, p.drop, p.drop+1), slices.Delete(own.Shape, p.drop, p.drop+1)
	}
	return own
}

// read copies the elements that the part has of a box to their place in dst. If they are one run
// there, it reads them directly, else through memory of its own.
func (p *part) read(ctx context.Context, box zarr.Box, dst []byte, size int) error {
	common, ok := box.Intersect(p.box)
	if !ok {
		return nil
	}
	if place, ok := box.Run(common, size); ok {
		return p.array.ReadBox(ctx, p.own(common), dst[place.Offset:place.Offset+place.Length])
	}
	return inPieces(common, size, func(piece zarr.Box) error {
		memory := make([]byte, piece.Len()*size)
		if err := p.array.ReadBox(ctx, p.own(piece), memory); err != nil {
			return err
		}
		zarr.CopyBox(box, dst, piece, memory, size)
		return nil
	})
}

// pieceBytes bounds the memory that a rule takes to put a box together.
const pieceBytes = 1 << 20

// inPieces calls do for boxes of at most pieceBytes that tile a box, in C order.
func inPieces(box zarr.Box, size int, do func(zarr.Box) error) error {
	n := box.Len() * size
	axis := slices.IndexFunc(box.Shape, func(n int) bool { return n > 1 })
	if n <= pieceBytes || axis < 0 {
		if n == 0 {
			return nil
		}
		return do(box)
	}
	step := max(1, pieceBytes/(n/box.Shape[axis]))
	for at := 0; at < box.Shape[axis]; at += step {
		piece := zarr.Box{Origin: slices.Clone(box.Origin), Shape: slices.Clone(box.Shape)}
		piece.Origin[axis], piece.Shape[axis] = box.Origin[axis]+at, min(step, box.Shape[axis]-at)
		if err := inPieces(piece, size, do); err != nil {
			return err
		}
	}
	return nil
}

// concatenated joins arrays that differ only in their extent along the axis.
func concatenated(arrays []checkpoint.Lazy, axis int) checkpoint.Lazy {
	shape := arrays[0].Shape.Clone()
	shape[axis] = 0
	parts := make([]part, len(arrays))
	for i, a := range arrays {
		box := zarr.WholeBox(a.Shape)
		box.Origin[axis] = shape[axis]
		shape[axis] += a.Shape[axis]
		parts[i] = part{box, a, -1}
	}
	return joined(arrays[0].DType, shape, parts)
}

// stacked joins arrays of the same shape along a new axis.
func stacked(arrays []checkpoint.Lazy, axis int) checkpoint.Lazy {
	shape := slices.Insert(arrays[0].Shape.Clone(), axis, len(arrays))
	parts := make([]part, len(arrays))
	for i, a := range arrays {
		box := zarr.WholeBox(shape)
		box.Origin[axis], box.Shape[axis] = i, 1
		parts[i] = part{box, a, axis}
	}
	return joined(arrays[0].DType, shape, parts)
}

// cut returns n elements of an array along an axis, starting at index from.
func cut(a checkpoint.Lazy, axis, from, n int) checkpoint.Lazy {
	shape := a.Shape.Clone()
	shape[axis] = n
	return checkpoint.Lazy{DType: a.DType, Shape: shape,
		Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
			origin := slices.Clone(box.Origin)
			origin[axis] += from
			return a.ReadBox(ctx, checkpoint.Box{Origin: origin, Shape: box.Shape}, dst)
		}}
}

// element returns one element of an array along an axis, without that axis.
func element(a checkpoint.Lazy, axis, i int) checkpoint.Lazy {
	shape := slices.Delete(a.Shape.Clone(), axis, axis+1)
	return checkpoint.Lazy{DType: a.DType, Shape: shape,
		Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
			in := checkpoint.Box{Origin: slices.Insert(slices.Clone(box.Origin), axis, i), Shape: slices.Insert(slices.Clone(box.Shape), axis, 1)}
			return a.ReadBox(ctx, in, dst)
		}}
}

// converted returns the array in another dtype.
func converted(a checkpoint.Lazy, d tensor.DType) checkpoint.Lazy {
	if a.DType == d {
		return a
	}
	wide := max(d.Size(), a.DType.Size())
	return checkpoint.Lazy{DType: d, Shape: a.Shape, Read: func(ctx context.Context, box checkpoint.Box,
		dst []byte) error {
		return inPieces(zarr.Box(box), wide, func(piece zarr.Box) error {
			memory := make([]byte, piece.Len()*a.DType.Size())
			if err := a.ReadBox(ctx, checkpoint.Box(piece), memory); err != nil {
				return err
			}
			n := piece.Len() * d.Size() // pieces are runs of dst, one after the other
			err := tensor.CastInto(d, dst[:n], a.DType, memory)
			dst = dst[n:]
			return err
		})
	}}
}

// transposed returns an array whose axis i is the axis axes[i] of a.
func transposed(a checkpoint.Lazy, axes []int) checkpoint.Lazy {
	shape := make(tensor.Shape, len(axes))
	for i, k := range axes {
		shape[i] = a.Shape[k]
	}
	size := a.DType.Size()
	return checkpoint.Lazy{DType: a.DType, Shape: shape,
		Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
			return inPieces(zarr.Box(box), size, func(piece zarr.Box) error {
				from := checkpoint.Box{Origin: make([]int, len(axes)), Shape: make([]int, len(axes))}
				for i, k := range axes {
					from.Origin[k], from.Shape[k] = piece.Origin[i], piece.Shape[i]
				}
				memory := make([]byte, piece.Len()*size)
				if err := a.ReadBox(ctx, from, memory); err != nil {
					return err
				}
				permute(dst[:len(memory)], piece.Shape, memory, from.Shape, axes, size)
				dst = dst[len(memory):]
				return nil
			})
		}}
}

// permute writes the elements of src, of shape from, to dst, of shape to, whose
// axis i is the axis axes[i] of src.
func permute(dst []byte, to []int, src []byte, from, axes []int, size int) {
	steps := make([]int, len(from))
	step := size
	for k := len(from) - 1; k >= 0; k-- {
		steps[k] = step
		step *= from[k]
	}
	at, s := make([]int, len(to)), 0
	for d := 0; d < len(dst); d += size {
		copy(dst[d:d+size], src[s:s+size])
		for i := len(to) - 1; i >= 0; i-- {
			at[i]++
			s += steps[axes[i]]
			if at[i] < to[i] {
				break
			}
			s -= at[i] * steps[axes[i]]
			at[i] = 0
		}
	}
}

// repeated returns the array with each element along an axis n times in a row.
func repeated(a checkpoint.Lazy, axis, n int) checkpoint.Lazy {
	shape := a.Shape.Clone()
	shape[axis] *= n
	size := a.DType.Size()
	return checkpoint.Lazy{DType: a.DType, Shape: shape,
		Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
			return inPieces(zarr.Box(box), size, func(piece zarr.Box) error {
				from := zarr.Box{Origin: slices.Clone(piece.Origin), Shape: slices.Clone(piece.Shape)}
				from.Origin[axis] = piece.Origin[axis] / n
				from.Shape[axis] = (piece.Origin[axis]+piece.Shape[axis]-1)/n + 1 - from.Origin[axis]
				memory := make([]byte, from.Len()*size)
				if err := a.ReadBox(ctx, checkpoint.Box(from), memory); err != nil {
					return err
				}
				spread(dst, piece, memory, from, axis, n, size)
				dst = dst[piece.Len()*size:]
				return nil
			})
		}}
}

// spread fills piece, a box of an array that has each element of from n times along the axis.
func spread(dst []byte, piece zarr.Box, src []byte, from zarr.Box, axis, n, size int) {
	run := size * tensor.Shape(piece.Shape[axis+1:]).Len()
	for outer := range tensor.Shape(piece.Shape[:axis]).Len() {
		for i := range piece.Shape[axis] {
			k := outer*from.Shape[axis] + (piece.Origin[axis]+i)/n - from.Origin[axis]
			dst = dst[copy(dst[:run], src[k*run:]):]
		}
	}
}

// filled returns an array whose elements all equal one element.
func filled(d tensor.DType, shape tensor.Shape, bytes []byte) checkpoint.Lazy {
	return checkpoint.Lazy{DType: d, Shape: shape, Read: func(_ context.Context, _ checkpoint.Box, dst []byte) error {
		for len(dst) > 0 {
			dst = dst[copy(dst, bytes):]
		}
		return nil
	}}
}

// tiled returns the array n times in a row along an axis.
func tiled(a checkpoint.Lazy, axis, n int) checkpoint.Lazy {
	shape := a.Shape.Clone()
	extent := shape[axis]
	shape[axis] *= n
	return checkpoint.Lazy{DType: a.DType, Shape: shape,
		Read: func(ctx context.Context, box checkpoint.Box, dst []byte) error {
			first, last := box.Origin[axis]/extent, (box.Origin[axis]+box.Shape[axis]-1)/extent
			for i := first; i <= last; i++ {
				whole := zarr.WholeBox(a.Shape)
				whole.Origin[axis] = i * extent
				p := part{whole, a, -1}
				if err := p.read(ctx, zarr.Box(box), dst, a.DType.Size()); err != nil {
					return err
				}
			}
			return nil
		}}
}
