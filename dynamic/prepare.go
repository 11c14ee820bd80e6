package dynamic

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
)

// call is a call of an operator that is not finished.
type call struct {
	e        *EvalContext
	ctx      context.Context
	mode     Mode
	site     site
	place    string // Call.Site
	number   uint64 // in the order of calls
	operator *operator
	args     arguments
	inputs   []*result // then the values of arguments
	ports    int       // the number of entries that are inputs
	batch    bool
	samples  int
	draw     rng.Philox
	outs     []*result
	few      [3]*result // memory of inputs, if they fit
	one      [1]*result // memory of outs, if they fit

	state atomic.Uint32
	mu    sync.Mutex
	done  chan struct{} // closed when the call is computed; made for the first waiter
}

// The states of a call.
const (
	fresh   = iota
	claimed // a goroutine computes it, or waits for a call that it needs
	finished
)

func (k *call) finished() bool { return k.state.Load() == finished }

// prepare checks what is known before the call is computed, holds the memory of its inputs, and
// draws its random numbers. If an input is a value of a body that is being recorded, prepare does
// none of this and returns the recording, to which the call belongs.
func (k *call) prepare(c *Call) (*recording, error) {
	if err := k.resolve(c); err != nil {
		return nil, err
	}
	for _, in := range k.inputs {
		if in.symbol != nil {
			return in.symbol.recording, nil
		}
	}
	if err := k.findSize(c); err != nil {
		return nil, err
	}
	if k.operator.schema.Random {
		if c.Draw == nil {
			return nil, &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "Draw",
				Want: "a generator, because the operator draws random numbers", Got: "no generator"}
		}
		k.draw = c.Draw.Draw()
	}
	return nil, k.holdInputs(c)
}

// resolve finds the operator, the arguments and the inputs of the call.
func (k *call) resolve(c *Call) error {
	var err error
	if k.operator, err = k.e.operator(c); err != nil {
		return err
	}
	if err = k.setArguments(c.Args); err != nil {
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
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: fmt.Sprintf("input %d", i),
				Want: "a *dynamic.Tensor or *dynamic.Batch", Got: "nil"}
		}
		k.inputs = append(k.inputs, v.core())
	}
	for _, v := range k.args.values {
		d, ok := v.(Value)
		if !ok || absent(d) {
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: "arguments",
				Want: "a *dynamic.Tensor or *dynamic.Batch per sample", Got: fmt.Sprintf("%T", v)}
		}
		k.inputs = append(k.inputs, d.core())
	}
	return nil
}

// holdInputs holds the memory of the inputs until the call is computed.
func (k *call) holdInputs(c *Call) error {
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

// findSize determines the number of samples of the call.
func (k *call) findSize(c *Call) error {
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
			return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: k.inputName(i),
				Want: fmt.Sprintf("a batch of %d samples, like %s", k.samples, from),
				Got:  fmt.Sprint(in.n), Remedy: "use batches of one size, or a Tensor, which is used for all samples"}
		}
		if !k.batch {
			k.samples, k.batch, from = in.n, true, k.inputName(i)
		}
	}
	return nil
}

// mostSamples is the largest batch size, as in pipelines.
const mostSamples = 1 << 24

func badSize(op string, n int) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: "batch size",
		Want: fmt.Sprintf("1 to %d", mostSamples), Got: fmt.Sprint(n)}
}

func (k *call) inputName(i int) string {
	if i < k.ports {
		return fmt.Sprintf("input %d", i)
	}
	return "an argument"
}

// clear resets the call.
func (k *call) clear() {
	k.ctx, k.operator, k.args, k.place = nil, nil, arguments{}, ""
	k.ports, k.batch, k.samples = 0, false, 0
	k.inputs, k.outs, k.few, k.one = nil, nil, [len(k.few)]*result{}, [1]*result{}
	k.state.Store(fresh)
}

// makeOutputs makes the values of the call and appends them to dst.
func (k *call) makeOutputs(dst []Value) []Value {
	k.outs = k.one[:0]
	for range k.countOutputs() {
		v, r := newValue(k.batch)
		r.n = k.samples
		k.outs, dst = append(k.outs, r), append(dst, v)
	}
	return dst
}

// refuse appends to dst the values of a call that cannot be made. Each value has the error.
func (k *call) refuse(err error, dst []Value) []Value {
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
	place := k.place
	if place == "" {
		place = k.site.String()
	}
	return &errs.Error{Op: "dynamic", Subject: "call at " + place, Err: err}
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

// site is the place of a call in the program: the innermost program counters.
type site [8]uintptr

// capture sets s to the place that called the caller, skip frames further out. String leaves out
// frames of dynamic mode, so skip need not be exact.
func (s *site) capture(skip int) {
	n := runtime.Callers(skip+2, s[:])
	clear(s[n:])
}

// own is the import path of this package. Followed by a slash, it begins the paths of the packages
// below it.
const own = "github.com/bivouac-ml/bivouac/dynamic"

// String returns file and line of the first frame outside dynamic mode, or "" if nothing was
// captured.
func (s *site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(s[:n])
	for {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, own+".") || strings.HasPrefix(f.Function, own+"/")
		if !inside || strings.HasSuffix(f.File, "_test.go") || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}
