package pipeline

import (
	"fmt"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Function is a Go function as an operator; fn.Func appends it to a graph. It is
// never pruned nor merged with another, and a graph that has one cannot be
// serialized.
//
// One of Sample and Batch is set, and one of Deterministic and Stateful.
type Function struct {
	Name string // of the node; by default "func"
	// Sample makes the outputs of one sample from its inputs. What it is given is
	// valid during the call and must not be written to; what it returns is copied.
	Sample func(in []tensor.Tensor) ([]tensor.Tensor, error)
	// Batch makes the outputs of all samples of a batch: [input][sample] to [output][sample].
	Batch func(in [][]tensor.Tensor) ([][]tensor.Tensor, error)
	// Outputs describes what the function returns: a dtype each, and shape and layout
	// where they are known. A function for its effects has none.
	Outputs []tensor.Spec
	// Deterministic functions depend on their inputs alone. Sample is called for any
	// sample at any time, by several goroutines at once.
	Deterministic bool
	// Stateful functions remember something. Their calls do not overlap and the
	// samples of a batch come in order; batches come in order without batches ahead,
	// NoPrefetch. A pipeline's state does not know what they remember.
	Stateful bool
}

// functionName is the operator's.
const functionName = "func"

// maxFunctionInputs is the most inputs of a function.
const maxFunctionInputs = 64

// Call appends a function.
func (b *Builder) Call(f Function, inputs ...Node) []Node {
	if err := f.validate(); err != nil {
		b.fail(err)
		return make([]Node, len(f.Outputs))
	}
	s := &op.Schema{
		Name: functionName, Doc: "Calls a Go function.", Keep: true, Stateful: true,
		Inputs:  []op.Port{{Name: "input", Optional: true}},
		Repeat:  maxFunctionInputs,
		Outputs: make([]op.Port, len(f.Outputs)),
		New:     func(*op.Config) (op.Kernel, error) { return &function{Function: f}, nil },
	}
	return b.add(s, struct {
		Name string `op:",name"`
	}{f.Name}, inputs)
}

func (f *Function) validate() error {
	bad := func(field, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: functionName, Subject: "Function." + field, Want: want, Got: got}
	}
	switch {
	case (f.Sample == nil) == (f.Batch == nil):
		return bad("Sample", "one of Sample and Batch", "both or none")
	case f.Deterministic == f.Stateful:
		return bad("Deterministic", "one of Deterministic and Stateful", "both or none")
	}
	for i, s := range f.Outputs {
		if !s.DType.Valid() {
			return bad("Outputs", fmt.Sprintf("a dtype of output %d", i), "none")
		}
	}
	return nil
}

// function is a Function as a kernel.
type function struct {
	Function
	mu sync.Mutex // of stateful ones
}

// arguments are what a worker reuses from call to call.
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

// fits reports whether a shape is as described, with -1 for any.
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
