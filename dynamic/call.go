package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng"
)

// Draw gives a call of a random operator its generator: a random.RNG.
type Draw interface {
	// Draw takes what one call needs and returns the generator of its samples.
	Draw() rng.Philox
}

// Call is a call of an operator, as the functions of dynamic/fn make it.
type Call struct {
	Op     string  // full name: "decoders.image"
	Args   any     // a struct of op/opargs or op.Args; nil: the defaults. It must not change afterwards.
	Inputs []Value // nil at the end: not given
	Draw   Draw    // of operators that draw random numbers
	Batch  int     // the size of the batch where no Batch is among inputs and arguments; 0: a Tensor
}

// Invoke calls an operator and returns its outputs, all of them *Batch where an input
// or argument is one or c.Batch is set, otherwise all *Tensor. When it is computed says
// the mode of ctx; when ctx ends before, the call fails with errs.Canceled.
//
// What is wrong with a call is an error of its outputs. That the sizes of
// batches differ, errs.Invalid, and that there is no such operator, errs.NotFound,
// is known at once, whatever the mode.
func Invoke(ctx context.Context, c Call) []Value { return invoke(ctx, &c, nil) }

// invoke is Invoke; it appends the outputs to dst. A call is recorded in the body of a loop
// that is being compiled, and where an input is a value of such a body. Any other call is
// computed: at once, in the background, or when a value is wanted.
func invoke(ctx context.Context, c *Call, dst []Value) []Value {
	s := scopeOf(ctx)
	if s.recording != nil {
		return s.recording.record(c)
	}
	e := s.evalContext()
	if s.mode == Sync {
		return e.invokeSync(ctx, c, dst)
	}
	k := &call{e: e, ctx: ctx, mode: s.mode}
	k.site.capture(0)
	switch body, err := k.prepare(c); {
	case err != nil:
		return k.refuse(err, dst)
	case body != nil:
		return body.record(c)
	}
	dst = k.makeOutputs(dst)
	for _, r := range k.outs {
		r.call = k
		r.holders.retain() // until it is computed, even if the value is released before
	}
	if s.mode == Eager {
		e.enqueue(k)
	} else {
		e.deferCall(k)
	}
	return dst
}

// invokeSync computes a call at once. Nothing of the call itself remains.
func (e *EvalContext) invokeSync(ctx context.Context, c *Call, dst []Value) []Value {
	k, ok := e.free.Get().(*call)
	if !ok {
		k = &call{}
	}
	k.e, k.ctx, k.mode = e, ctx, Sync
	defer func() {
		k.clear()
		e.free.Put(k)
	}()
	switch body, err := k.prepare(c); {
	case err != nil:
		k.site.capture(0)
		return k.refuse(err, dst)
	case body != nil:
		return body.record(c)
	}
	dst = k.makeOutputs(dst)
	k.run()
	for _, r := range k.outs {
		r.seen.Store(true)
	}
	return dst
}

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
		return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op,
			Want: "samples alone, as the first input is one or none was given", Got: "a Batch",
			Remedy: "broadcast the first input, or call the function for batches"}, 1)
	}
	return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "batch size",
		Want: "1 or more, or a Batch that tells it", Got: "neither"}, 1)
}
