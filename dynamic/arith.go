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
