package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Range is an index that takes the elements from Start up to, not including,
// Stop, each Step-th. Each is an int, a value of one integer a sample, or nil: the
// beginning, the end, 1. Numbers below 0 count from the end; a Step below 0 goes
// backwards, from the end to the beginning by default. The zero Range takes all.
type Range = arith.Range

// NewAxis is an index that makes a new axis of length 1, whose letter in the
// layout is Name: of all new axes or of none.
type NewAxis = arith.NewAxis

// Index returns part of x, of each sample of a Batch, as numpy's indexing does: an int or a
// value of one integer a sample takes one element of an axis, which disappears with its
// letter in the layout, a [Range] several, and a [NewAxis] takes none. Axes for which
// there is no index are taken whole.
//
//	dynamic.Index(ctx, image, dynamic.Range{}, dynamic.Range{Step: -1})	// mirrored
func Index[T Kind](ctx context.Context, x T, indices ...any) T {
	steps, err := arith.Index(indices...)
	if err != nil {
		return failed[T](err, 1)
	}
	for _, s := range steps {
		x = Invoke1[T](ctx, Call{Op: s.Op, Args: s.Args, Inputs: []Value{x}})
	}
	return x
}

// ShapeOf returns the shape of x, of each sample of a Batch, as numbers of type int64.
func ShapeOf[T Kind](ctx context.Context, x T) T {
	return Invoke1[T](ctx, Call{Op: "shapes", Args: opargs.Shapes{DType: tensor.Int64}, Inputs: []Value{x}})
}
