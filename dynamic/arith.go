package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Apply computes a function of op/arith, such as "sub". The functions of dynamic/fn, such as
// fn.Sub, call it; they return the kind of their first operand, a Tensor or a Batch. T is the kind
// of the result: *Batch if an operand is a Batch, else *Tensor.
//
// Arithmetic works element by element, by the rules of package op/arith, as in graphs; shapes are
// broadcast as in numpy. An operand is a value, a Go number or bool, or an arith.Constant. At least
// one operand is a value. Go's int and float64 count as int32 and float32; numbers of other Go
// types keep their type.
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

// failed returns a value with an error. The call at fault is skip frames further out.
func failed[T Kind](err error, skip int) T {
	_, batch := any(*new(T)).(*Batch)
	v, r := newValue(batch)
	k := &call{}
	k.site.capture(skip)
	r.n, r.err = 1, k.wrap(err)
	r.seen.Store(true)
	return v.(T)
}

// Cast converts the elements to a dtype. For an integer dtype they are rounded and saturated.
func Cast[T Kind](ctx context.Context, x T, d tensor.DType) T {
	return Invoke1[T](ctx, Call{Op: "cast", Args: opargs.Cast{DType: d}, Inputs: []Value{x}})
}

// Range is an index that takes every Step-th element from Start up to, but not including, Stop.
// Each field is an int, a value with one integer per sample, or nil. nil means the beginning, the
// end, and a step of 1. A Start or Stop below 0 counts from the end. A Step below 0 goes backwards,
// by default from the end to the beginning. The zero Range takes all elements.
type Range = arith.Range

// NewAxis is an index that makes a new axis of length 1. Name is the letter of the axis in the
// layout. Either all new axes have a Name, or no new axis has one.
type NewAxis = arith.NewAxis

// Index returns a part of x, or of each sample of a Batch, like indexing in numpy. An int, or a
// value with one integer per sample, takes one element of an axis, and removes the axis and its
// letter in the layout. A [Range] takes several elements. A [NewAxis] inserts an axis. An axis
// without an index is taken whole.
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

// ShapeOf returns the shape of x, or of each sample of a Batch, as numbers of type int64.
func ShapeOf[T Kind](ctx context.Context, x T) T {
	return Invoke1[T](ctx, Call{Op: "shapes", Args: opargs.Shapes{DType: tensor.Int64}, Inputs: []Value{x}})
}
