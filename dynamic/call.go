package dynamic

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
)

// Draw provides the generator for a call of a random operator. random.RNG implements it.
type Draw interface {
	// Draw draws the numbers for one call, and returns the generator of the call's samples.
	Draw() rng.Philox
}

// Call is a call of an operator, as the functions of dynamic/fn make it.
type Call struct {
	Op     string  // full name: "decoders.image"
	Args   any     // a struct of op/opargs or op.Args; nil: the defaults. It must not change afterwards.
	Inputs []Value // nil inputs at the end are not given
	Draw   Draw    // for operators that draw random numbers
	Batch  int     // the batch size if no input or argument is a Batch; 0: the result is a Tensor
	// Schema is an operator that is not registered, in place of Op.
	Schema *op.Schema
	// Site is the file and line that errors name, in place of the line of the Go program.
	Site string
}

// lookup returns the operator of a call.
func (c *Call) lookup() (*op.Schema, error) {
	if c.Schema != nil {
		return c.Schema, nil
	}
	return op.Lookup(c.Op)
}

// Invoke calls an operator and returns its outputs. All outputs are *Batch if an input or argument
// is a *Batch or c.Batch is set; otherwise all are *Tensor. The mode of ctx says when the call is
// computed. If ctx ends before that, the call fails with errs.Canceled.
//
// The outputs of an invalid call have an error. Two errors are reported at once in every mode:
// errs.Invalid if the batch sizes differ, and errs.NotFound if the operator does not exist.
func Invoke(ctx context.Context, c Call) []Value {
	if c.Schema != nil {
		c.Op = c.Schema.FullName()
	}
	return invoke(ctx, &c, nil)
}

// invoke works like Invoke and appends the outputs to dst. A call in the body of a loop that is
// being compiled, or with an input from such a body, is recorded. Any other call is computed: at
// once, in the background, or when a value is needed.
func invoke(ctx context.Context, c *Call, dst []Value) []Value {
	s := scopeOf(ctx)
	if s.recording != nil {
		return s.recording.record(c)
	}
	e := s.evalContext()
	if s.mode == Sync {
		return e.invokeSync(ctx, c, dst)
	}
	k := &call{e: e, ctx: ctx, mode: s.mode, place: c.Site}
	if k.place == "" {
		k.site.capture(0)
	}
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

// invokeSync computes a call at once. The call itself is not kept.
func (e *EvalContext) invokeSync(ctx context.Context, c *Call, dst []Value) []Value {
	k, ok := e.free.Get().(*call)
	if !ok {
		k = &call{}
	}
	k.e, k.ctx, k.mode, k.place = e, ctx, Sync, c.Site
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

// Invoke1 works like Invoke for an operator with one output of kind T. The result has an error of
// kind errs.Invalid if the call gives the other kind: if T is *Tensor and an input or argument is a
// Batch, or if T is *Batch and nothing sets the batch size.
func Invoke1[T Kind](ctx context.Context, c Call) T {
	var one [1]Value
	return typed[T](&c, invoke(ctx, &c, one[:0])[0])
}

// InvokeN works like Invoke1 for an operator with n outputs. If n is 0, the arguments decide the
// number of outputs.
func InvokeN[T Kind](ctx context.Context, c Call, n int) []T {
	values := Invoke(ctx, c)
	out := make([]T, max(n, len(values)))
	for i := range out {
		out[i] = typed[T](&c, values[min(i, len(values)-1)]) // a refused call has one value for all outputs
	}
	return out
}

// Values returns the inputs of a call: first first, then rest.
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
	if v.core().refused { // before the kind was known
		t := failed[T](nil, 0)
		t.core().err = v.Err()
		return t
	}
	if _, batch := v.(*Batch); batch {
		return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op,
			Want: "single samples, because the first input is a Tensor or is missing", Got: "a Batch",
			Remedy: "broadcast the first input, or call the function for batches"}, 1)
	}
	return failed[T](&errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "batch size",
		Want: "a size of 1 or more, or a Batch among the inputs", Got: "neither"}, 1)
}
