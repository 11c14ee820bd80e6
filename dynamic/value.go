package dynamic

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Value is a *Tensor or a *Batch. It can be an input of an operator or, with op.Of, an argument
// with a value for each sample.
type Value interface {
	op.Value
	// Evaluate computes the value if it is not computed yet, waits for it, and returns its error. It
	// returns errs.Canceled if ctx ends before.
	Evaluate(ctx context.Context) error
	// Err returns the error of a value after Evaluate or EvaluateAll, or of a value that was made in
	// Sync mode. It never waits.
	Err() error
	// Release gives back the memory of the value; see Tensor.Release.
	Release()

	core() *result
}

// Kind is the constraint of functions that work on both kinds of values.
type Kind interface {
	*Tensor | *Batch
	Value
}

// result is the inside of a value: its samples (one for a Tensor), or the call or value that they
// come from.
type result struct {
	batch   bool
	refused bool // by Invoke: the call was not made
	n       int  // samples
	seen    atomic.Bool

	// At most one of these is set; neither is set if the samples were given.
	call *call // computes samples, spec and err
	view *view // the samples are a view of another value

	samples []tensor.Tensor
	spec    *tensor.Spec // of the samples, with dtype, number of axes and layout; nil after a failure
	err     error

	memory   *memory // that the samples came from
	slab     *[]byte // all of the memory, if it is one piece for several samples
	holders  holders
	lent     loan.Mark // the place where the samples were handed out
	released atomic.Bool
	symbol   *symbol // the value stands for the values of a compiled loop
}

// take sets the samples of r to an output of a frame.
func (r *result) take(f *exec.Frame, output int, spec *tensor.Spec, m *memory) {
	samples, slab := f.Take(output)
	r.samples, r.spec, r.memory = samples, spec, m
	switch {
	case slab == nil:
	case len(samples) == 1:
		samples[0].Data = slab
	default:
		r.slab = &slab
	}
}

// view is a choice of samples of another value.
type view struct {
	base *result
	pick []int
	once sync.Once
}

// newValue returns a Batch or a Tensor, and its result.
func newValue(batch bool) (Value, *result) {
	if batch {
		b := &Batch{result{batch: true}}
		return b, &b.result
	}
	t := &Tensor{}
	t.samples = t.own[:]
	t.own[0].Shape = t.dims[:0:len(t.dims)]
	return t, &t.result
}

func (r *result) core() *result { return r }

// OpValue implements op.Value.
func (r *result) OpValue() {}

// origin returns the call that computes the value, or nil.
func (r *result) origin() *call {
	for r.view != nil {
		r = r.view.base
	}
	return r.call
}

// wait waits for the samples. It returns the error of the value, or the error of ctx.
func (r *result) wait(ctx context.Context) error {
	switch {
	case r.symbol != nil && r.err == nil:
		return r.symbol.recording.refuseContents()
	case r.call != nil:
		if err := r.call.wait(ctx); err != nil {
			return err
		}
	case r.view != nil:
		if err := r.view.base.wait(ctx); err != nil {
			return err
		}
		r.view.once.Do(r.takeView)
	}
	return r.err
}

// takeView takes the samples of a view from its base.
func (r *result) takeView() {
	base := r.view.base
	r.spec = base.spec
	if len(r.view.pick) == 1 {
		i := r.view.pick[0]
		r.samples = base.samples[i : i+1 : i+1]
		return
	}
	r.samples = make([]tensor.Tensor, len(r.view.pick))
	for i, from := range r.view.pick {
		r.samples[i] = base.samples[from]
	}
}

// list returns the samples of a computed value.
func (r *result) list() []tensor.Tensor { return r.samples }

// kind describes the samples of a computed value.
func (r *result) kind() (d tensor.DType, ndim int, layout string) {
	if len(r.samples) > 0 {
		t := &r.samples[0]
		return t.DType, len(t.Shape), t.Layout
	}
	if r.spec == nil {
		return tensor.Invalid, 0, ""
	}
	return r.spec.DType, len(r.spec.Shape), r.spec.Layout
}

// known evaluates the value and works like kind. It returns zero values after a failure. In the
// body of a loop that is being compiled, the description is known without evaluation.
func (r *result) known() (d tensor.DType, ndim int, layout string) {
	if r.symbol != nil {
		s := r.symbol.recording.describe(r)
		return s.DType, len(s.Shape), s.Layout
	}
	if !r.ready() {
		return tensor.Invalid, 0, ""
	}
	return r.kind()
}

// describe returns the result of kind as a Spec without extents.
func (r *result) describe() tensor.Spec {
	d, ndim, layout := r.kind()
	s := tensor.Spec{DType: d, Shape: make(tensor.Shape, ndim), Layout: layout}
	for i := range s.Shape {
		s.Shape[i] = -1
	}
	return s
}

// Evaluate implements Value.
func (r *result) Evaluate(ctx context.Context) error {
	if r.released.Load() {
		return errReleased()
	}
	err := r.wait(ctx)
	if err == nil || err == r.failure() {
		r.seen.Store(true)
	}
	return err
}

func errReleased() error {
	return &errs.Error{Kind: errs.Closed, Want: "a value that is in use", Got: "a released value"}
}

// failure returns the error of the computed value.
func (r *result) failure() error {
	for r.view != nil && r.err == nil {
		r = r.view.base
	}
	if r.call != nil && !r.call.finished() {
		return nil
	}
	return r.err
}

// Err implements Value.
func (r *result) Err() error {
	if c := r.origin(); !r.seen.Load() && (c == nil || c.number == 0 || c.number > c.e.evaluated.Load()) {
		return nil
	}
	return r.failure()
}

// ready evaluates the value for a method that returns one of its properties, and reports success.
func (r *result) ready() bool { return r.Evaluate(context.Background()) == nil }

// hold keeps the memory of the samples until drop. It fails if the value was released.
func (r *result) hold() error {
	if !r.root().holders.retain() {
		return errReleased()
	}
	if r.released.Load() {
		r.drop()
		return errReleased()
	}
	return nil
}

// drop ends a hold. If only the call that gives the value holds it then, and nobody can ask for it,
// the call is dropped too.
func (r *result) drop() {
	b := r.root()
	switch b.holders.leave() {
	case 0:
		b.free()
	case 1:
		if b.call != nil && b.released.Load() {
			b.call.abandon()
		}
	}
}

// lend records that the caller hands out the memory of the samples.
func (r *result) lend() {
	if loan.Debug {
		r.root().lent.Set()
	}
}

// root returns the value that owns the samples: r, or the value that r is a view of.
func (r *result) root() *result {
	for r.view != nil {
		r = r.view.base
	}
	return r
}

// holders counts the holders of the memory of a value besides its owner. The owner counts as long
// as the value is not released. The count goes from 0 to -1 once, when the last holder leaves, and
// stays there. So the memory is given back only once.
type holders struct{ n atomic.Int32 }

// retain adds a holder. It returns false, and adds none, when the last holder has left.
func (h *holders) retain() bool {
	for {
		n := h.n.Load()
		if n < 0 {
			return false
		}
		if h.n.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// leave removes a holder, or the owner, and returns how many are left.
func (h *holders) leave() int32 { return h.n.Add(-1) + 1 }

// only reports whether one is left.
func (h *holders) only() bool { return h.n.Load() == 0 }

// Release gives the memory of an operator's output to the next calls, as soon as the calls that use
// it are computed and its views are released. Do not use the value, or a tensor.Tensor taken from
// it, afterwards. The build tag bivouac_debug helps to find such uses. Without Release the garbage
// collector frees the memory.
func (r *result) Release() {
	if !r.released.Swap(true) {
		r.drop()
	}
}

// free gives the memory back.
func (r *result) free() {
	if r.memory == nil {
		return
	}
	give := r.memory.give
	if loan.Debug && r.lent.IsSet() {
		give = func(b []byte) { loan.Back(b, "memory of a released value", &r.lent) }
	}
	if r.slab != nil {
		give(*r.slab)
	} else {
		for _, t := range r.samples {
			give(t.Data)
		}
	}
	r.samples, r.slab = nil, nil
}
