package dynamic

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
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

// invoke is Invoke; it appends the outputs to dst.
func invoke(ctx context.Context, c *Call, dst []Value) []Value {
	s := scopeOf(ctx)
	if s.trace != nil {
		return s.trace.record(ctx, c)
	}
	e := s.evalContext()
	if s.mode == Sync {
		return e.invokeSync(ctx, c, dst)
	}
	k := &call{e: e, ctx: ctx, mode: s.mode}
	k.site.capture(0)
	if err := k.prepare(c); err != nil {
		return k.refused(err, dst)
	}
	if k.trace != nil {
		return k.trace.record(ctx, c)
	}
	dst = k.outputs(dst)
	for _, r := range k.outs {
		r.call = k
		r.holders.retain() // until it is computed, even if the value is released before
	}
	if s.mode == Eager {
		e.enqueue(k)
		return dst
	}
	e.mu.Lock()
	k.number = e.next()
	e.deferred.add(k)
	e.mu.Unlock()
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
	if err := k.prepare(c); err != nil {
		k.site.capture(0)
		return k.refused(err, dst)
	}
	if k.trace != nil {
		return k.trace.record(ctx, c)
	}
	dst = k.outputs(dst)
	k.run()
	for _, r := range k.outs {
		r.seen.Store(true)
	}
	return dst
}

// call is a call of an operator on its way.
type call struct {
	e        *EvalContext
	ctx      context.Context
	mode     Mode
	site     site
	number   uint64 // in the order of calls
	operator *operator
	args     arguments
	inputs   []*result // and then those of arguments
	ports    int       // how many of them are inputs
	batch    bool
	samples  int
	draw     rng.Philox
	outs     []*result
	trace    *trace     // takes the call instead, for an input is of its loop
	few      [3]*result // inputs, mostly
	one      [1]*result // outs, mostly

	state atomic.Uint32
	mu    sync.Mutex
	done  chan struct{} // closed when it is computed; made for the first who waits
}

// The states of a call.
const (
	fresh   = iota
	claimed // somebody computes it, or waits for what it needs
	finished
)

func (k *call) finished() bool { return k.state.Load() == finished }

// prepare checks what can be seen at the call.
func (k *call) prepare(c *Call) error {
	var err error
	if k.operator, err = k.e.operator(c.Op); err != nil {
		return err
	}
	if err = k.resolve(c.Args); err != nil {
		return err
	}
	inputs := c.Inputs
	for len(inputs) > 0 && absent(inputs[len(inputs)-1]) {
		inputs = inputs[:len(inputs)-1]
	}
	k.ports = len(inputs)
	k.inputs = k.few[:0]
	for i, v := range inputs {
		if absent(v) {
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: fmt.Sprintf("input %d", i), Want: "a *dynamic.Tensor or *dynamic.Batch", Got: "nil"}
		}
		k.inputs = append(k.inputs, v.core())
	}
	for _, v := range k.args.values {
		d, ok := v.(Value)
		if !ok || absent(d) {
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "arguments", Want: "a *dynamic.Tensor or *dynamic.Batch per sample", Got: fmt.Sprintf("%T", v)}
		}
		k.inputs = append(k.inputs, d.core())
	}
	for _, in := range k.inputs {
		if in.symbol != nil {
			k.trace = in.symbol.trace
			return nil
		}
	}
	if err := k.size(c); err != nil {
		return err
	}
	if k.operator.schema.Random {
		if c.Draw == nil {
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "Draw", Want: "a generator, for the operator draws random numbers", Got: "none"}
		}
		k.draw = c.Draw.Draw()
	}
	return k.retain(c)
}

// retain keeps the memory of the inputs until the call is computed.
func (k *call) retain(c *Call) error {
	for i, in := range k.inputs {
		err := in.hold()
		if err == nil {
			continue
		}
		for _, held := range k.inputs[:i] {
			held.drop()
		}
		return errs.Wrap(c.Op, k.inputName(i), err)
	}
	return nil
}

// size finds out how many samples the call has.
func (k *call) size(c *Call) error {
	k.samples, k.batch = 1, c.Batch != 0
	if c.Batch < 0 || c.Batch > mostSamples {
		return badSize(c.Op, c.Batch)
	}
	k.samples = max(1, c.Batch)
	from := "the call"
	for i, in := range k.inputs {
		if !in.batch {
			continue
		}
		if k.batch && in.n != k.samples {
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: k.inputName(i), Want: fmt.Sprintf("a batch of %d samples, as of %s", k.samples, from),
				Got: fmt.Sprint(in.n), Remedy: "give batches of one size, or a Tensor, which serves all samples"}
		}
		if !k.batch {
			k.samples, k.batch, from = in.n, true, k.inputName(i)
		}
	}
	return nil
}

// mostSamples is the largest batch, as of pipelines.
const mostSamples = 1 << 24

func badSize(op string, n int) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: "batch size", Want: fmt.Sprintf("1 to %d", mostSamples), Got: fmt.Sprint(n)}
}

func (k *call) inputName(i int) string {
	if i < k.ports {
		return fmt.Sprintf("input %d", i)
	}
	return "an argument"
}

// clear makes the call as new.
func (k *call) clear() {
	k.ctx, k.operator, k.args, k.trace = nil, nil, arguments{}, nil
	k.ports, k.batch, k.samples = 0, false, 0
	k.inputs, k.outs, k.few, k.one = nil, nil, [len(k.few)]*result{}, [1]*result{}
	k.state.Store(fresh)
}

// outputs makes the values of the call and appends them to dst.
func (k *call) outputs(dst []Value) []Value {
	k.outs = k.one[:0]
	for range k.countOutputs() {
		v, r := newValue(k.batch)
		r.n = k.samples
		k.outs, dst = append(k.outs, r), append(dst, v)
	}
	return dst
}

// refused appends the values of a call that cannot be made to dst.
func (k *call) refused(err error, dst []Value) []Value {
	n := 1
	if k.operator != nil {
		n = k.countOutputs()
	}
	for range n {
		v, r := newValue(k.batch)
		r.n, r.err, r.refused = max(1, k.samples), k.wrap(err), true
		r.seen.Store(true)
		dst = append(dst, v)
	}
	return dst
}

// wrap adds the site to an error.
func (k *call) wrap(err error) error {
	return &errs.Error{Op: "dynamic", Subject: "call at " + k.site.String(), Err: err}
}

// absent reports whether v is nil, or a nil pointer.
func absent(v Value) bool {
	switch v := v.(type) {
	case *Tensor:
		return v == nil
	case *Batch:
		return v == nil
	}
	return true
}

var _ op.Value = (*Tensor)(nil)
