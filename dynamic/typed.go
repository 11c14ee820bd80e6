package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
)

// Invoke1 is Invoke for an operator with one output, of a kind that is known when the
// program is written. Where the call gives the other kind the result has an error of
// kind errs.Invalid: a Tensor where an input or argument is a Batch, and a Batch where
// nothing tells its size.
func Invoke1[T Kind](ctx context.Context, c Call) T {
	var one [1]Value
	return typed[T](&c, invoke(ctx, &c, one[:0])[0])
}

// InvokeN is Invoke1 for an operator of several outputs: n, or where n is 0 as many as its
// arguments make.
func InvokeN[T Kind](ctx context.Context, c Call, n int) []T {
	values := Invoke(ctx, c)
	out := make([]T, max(n, len(values)))
	for i := range out {
		out[i] = typed[T](&c, values[min(i, len(values)-1)]) // the error of a call that is refused stands for all
	}
	return out
}

// Values returns the inputs of a call: first, then rest.
func Values[T Kind](rest []T, first ...Value) []Value {
	for _, v := range rest {
		first = append(first, v)
	}
	return first
}

// typed returns v as a T, or a failed T.
func typed[T Kind](c *Call, v Value) T {
	if t, ok := v.(T); ok {
		return t
	}
	if v.core().refused { // before its kind was known
		t := failed[T](nil, 0)
		t.core().err = v.Err()
		return t
	}
	if _, batch := v.(*Batch); batch {
		return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op, Want: "samples alone, as the first input is one or none was given", Got: "a Batch",
			Remedy: "broadcast the first input, or call the function for batches"}, 1)
	}
	return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "batch size", Want: "1 or more, or a Batch that tells it", Got: "neither"}, 1)
}
