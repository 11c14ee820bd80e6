// Package gofunc makes operators of Go functions. Graphs of package pipeline and calls of package
// dynamic use them.
package gofunc

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Function is a Go function as an operator; fn.Func appends it to a graph, and dynamic/fn.NewFunc
// makes a function of dynamic mode. It is never pruned or merged with another node. A graph with a
// Function cannot be serialized.
//
// Set exactly one of Sample and Batch, and exactly one of Deterministic and Stateful.
type Function struct {
	Name string // of the node; by default "func"
	// Sample makes the outputs of one sample from its inputs. The inputs are valid during the call and
	// must not be written to. The outputs are copied.
	Sample func(in []tensor.Tensor) ([]tensor.Tensor, error)
	// Batch makes the outputs of all samples of a batch: [input][sample] to [output][sample].
	Batch func(in [][]tensor.Tensor) ([][]tensor.Tensor, error)
	// Outputs describes what the function returns: the dtype of each output, and its shape and layout
	// if they are known. A function that is called only for its effects has no outputs.
	Outputs []tensor.Spec
	// Deterministic says that the outputs depend only on the inputs. Sample is called for any sample
	// at any time, by several goroutines at once.
	Deterministic bool
	// Stateful says that the function remembers something between calls. Its calls do not overlap, and
	// the samples of a batch come in order. Without State, batches come in order only without
	// prefetching (NoPrefetch), and the state of a pipeline does not contain what the function
	// remembers.
	Stateful bool
	// State reads and sets what a Stateful function remembers. With it batches come in order, one
	// after the other, and the state of a pipeline contains what the function remembers after the
	// last delivered batch: a resumed function goes on as if nothing had happened. Batches that were
	// made ahead and dropped, or that failed, leave no trace. Pipeline.Skip does not call the
	// function. The pipeline calls the methods between batches, and SetState only with what
	// AppendState appended.
	State state.Stateful
}

// functionName is the name of the operator.
const functionName = "func"

// maxFunctionInputs is the most inputs of a function.
const maxFunctionInputs = 256

// Schema returns the operator, which is not registered. It fails with errs.Invalid for a Function
// whose fields contradict each other.
func (f Function) Schema() (*op.Schema, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	used := new(atomic.Bool)
	return &op.Schema{
		Name: functionName, Doc: "Calls a Go function.", Keep: true, Stateful: true,
		Inputs:  []op.Port{{Name: "input", Optional: true}},
		Repeat:  maxFunctionInputs,
		Outputs: make([]op.Port, len(f.Outputs)),
		New:     func(*op.Config) (op.Kernel, error) { return f.kernel(used), nil },
	}, nil
}

func (f *Function) validate() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: functionName, Subject: "Function." + field, Want: want, Got: got}
	}
	switch {
	case (f.Sample == nil) == (f.Batch == nil):
		return bad("Sample", "one of Sample and Batch", "both or neither")
	case f.Deterministic == f.Stateful:
		return bad("Deterministic", "one of Deterministic and Stateful", "both or neither")
	case f.State != nil && !f.Stateful:
		return bad("State", "Stateful, or no State", "a State of a function that is Deterministic")
	}
	for i, s := range f.Outputs {
		if !s.DType.Valid() {
			return bad("Outputs", fmt.Sprintf("a dtype for output %d", i), "no dtype")
		}
	}
	return nil
}

func (f Function) kernel(used *atomic.Bool) op.Kernel {
	if f.State != nil {
		return &rememberingFunction{function{Function: f}, f.State, used}
	}
	return &function{Function: f}
}

// function is a Function as a kernel.
type function struct {
	Function
	mu sync.Mutex // of stateful functions
}

// rememberingFunction is a Function with a State. It implements op.Remembering.
type rememberingFunction struct {
	function
	memory state.Stateful
	used   *atomic.Bool // by a pipeline: there is one memory
}

// Use begins the use of the memory by a pipeline, until Leave. It returns false if another pipeline
// uses it.
func (f *rememberingFunction) Use() bool { return f.used.CompareAndSwap(false, true) }

// Leave ends the use of the memory.
func (f *rememberingFunction) Leave() { f.used.Store(false) }

// Identity implements op.Identifier.
func (f *rememberingFunction) Identity() string { return "a function with a state" }

// AppendState implements op.Remembering.
func (f *rememberingFunction) AppendState(dst []byte) ([]byte, error) {
	return f.memory.AppendState(dst)
}

// SetState implements op.Remembering.
func (f *rememberingFunction) SetState(b []byte) error { return f.memory.SetState(b) }

// arguments is memory that a worker reuses from call to call.
type arguments struct {
	sample []tensor.Tensor
	batch  [][]tensor.Tensor
}

// Infer implements op.Kernel.
func (f *function) Infer([]tensor.Spec) ([]tensor.Spec, error) { return f.Outputs, nil }

// Batched implements op.Batched.
func (f *function) Batched() bool { return f.Batch != nil || f.Stateful }

// Run implements op.Kernel.
func (f *function) Run(b *op.Block) error {
	if f.Stateful {
		f.mu.Lock()
		defer f.mu.Unlock()
	}
	args := op.PerWorker[arguments](b)
	if f.Batch != nil {
		return f.runBatch(b, args)
	}
	for s := range b.Len() {
		args.sample = args.sample[:0]
		for i := range b.Inputs() {
			args.sample = append(args.sample, b.In(i, s))
		}
		out, err := f.Sample(args.sample)
		if err == nil {
			err = count(len(out), len(f.Outputs), "outputs")
		}
		for i := 0; err == nil && i < len(out); i++ {
			err = f.give(b, i, s, out[i])
		}
		if err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (f *function) runBatch(b *op.Block, args *arguments) error {
	args.batch = args.batch[:0]
	for i := range b.Inputs() {
		samples := make([]tensor.Tensor, b.Len())
		for s := range samples {
			samples[s] = b.In(i, s)
		}
		args.batch = append(args.batch, samples)
	}
	out, err := f.Batch(args.batch)
	if err != nil {
		return err
	}
	if err := count(len(out), len(f.Outputs), "outputs"); err != nil {
		return err
	}
	for i := range out {
		if err := count(len(out[i]), b.Len(), "samples"); err != nil {
			return err
		}
		for s, t := range out[i] {
			if err := f.give(b, i, s, t); err != nil {
				b.Fail(s, err)
			}
		}
	}
	return nil
}

func count(got, want int, what string) error {
	if got == want {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Subject: "the function", Want: fmt.Sprintf("%d %s", want, what),
		Got: fmt.Sprint(got)}
}

// give copies what the function returned for output i of sample s.
func (f *function) give(b *op.Block, i, s int, t tensor.Tensor) error {
	if err := t.Check(); err != nil {
		return errs.Wrap("", fmt.Sprintf("output %d of the function", i), err)
	}
	if want := f.Outputs[i]; t.DType != want.DType || want.Shape != nil && !fits(t.Shape, want.Shape) {
		return &errs.Error{Kind: errs.Mismatch, Subject: fmt.Sprintf("output %d of the function", i),
			Want: fmt.Sprint(want.DType, want.Shape), Got: t.String()}
	}
	copy(b.Out(i, s, t.Shape...).Data, t.Data)
	return nil
}

// fits reports whether a shape agrees with its description, in which -1 means any length.
func fits(got, want tensor.Shape) bool {
	if len(got) != len(want) {
		return false
	}
	for i, d := range want {
		if d >= 0 && d != got[i] {
			return false
		}
	}
	return true
}
