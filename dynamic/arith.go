package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Apply computes a function of op/arith, such as "sub". The functions of dynamic/fn,
// such as fn.Sub, call it, and return what their first operand is, a Tensor or a Batch.
// Here T says what is returned: *Batch if an operand is a Batch, else *Tensor.
//
// Arithmetic works element by element, on shapes broadcast as in numpy, by the rules of
// package op/arith, as in graphs. An operand is a value, a Go number or bool, or an
// arith.Constant; at least one is a value. Go's int and float64 count as int32 and float32,
// numbers of other types as what they are.
//
//	dynamic.Apply[*dynamic.Tensor](ctx, "sub", 1, x)
func Apply[T Kind](ctx context.Context, function string, operands ...any) T {
	args, values, err := arith.Apply(function, operands...)
	if err != nil {
		return failed[T](err, 2)
	}
	inputs := make([]Value, len(values))
	for i, v := range values {
		inputs[i], _ = v.(Value)
	}
	return Invoke1[T](ctx, Call{Op: arith.Name, Args: args, Inputs: inputs})
}

// failed returns a value that has an error, found in a call skip frames out.
func failed[T Kind](err error, skip int) T {
	_, batch := any(*new(T)).(*Batch)
	v, r := newValue(batch)
	k := &call{}
	k.site.capture(skip)
	r.n, r.err = 1, k.wrap(err)
	r.seen.Store(true)
	return v.(T)
}

// Cast converts the elements to a type: rounded and saturated where that is an integer.
func Cast[T Kind](ctx context.Context, x T, d tensor.DType) T {
	return Invoke1[T](ctx, Call{Op: "cast", Args: opargs.Cast{DType: d}, Inputs: []Value{x}})
}

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
