package gofunc

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Late is a function as an operator whose outputs are known only when they are made: the dtype and
// the number of dimensions of an output may differ from batch to batch. It is never pruned or
// merged with another node. A graph with a Late cannot be serialized. Batches come to it in order,
// one after the other, and each batch once: if the batch fails behind it and is made again, its
// outputs are used again.
type Late struct {
	Name string // of the node; by default "func"
	// Batch makes the outputs of all n samples of a batch: [input][sample] to [output][sample].
	// Samples of an output have one dtype and one number of dimensions. The inputs are valid during
	// the call and must not be written to. The outputs are kept until the batch is delivered, and
	// must not be written to.
	Batch func(n int, in [][]tensor.Tensor) ([][]tensor.Tensor, error)
	// Layouts has the layout of each output. An empty layout says nothing. Its length is the number of
	// outputs.
	Layouts []string
}

// Schema returns the operator, which is not registered. It fails with errs.Invalid without a Batch.
func (l Late) Schema() (*op.Schema, error) {
	if l.Batch == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: functionName, Subject: "Late.Batch", Want: "a function", Got: "nil"}
	}
	return &op.Schema{
		Name: functionName, Doc: "Calls a function whose outputs are known when they are made.", Keep: true, Stateful: true,
		Inputs:  []op.Port{{Name: "input", Optional: true}},
		Repeat:  maxFunctionInputs,
		Outputs: make([]op.Port, len(l.Layouts)),
		New:     func(*op.Config) (op.Kernel, error) { return &lateKernel{l}, nil },
	}, nil
}

// lateKernel is a Late as a kernel. It implements op.Late.
type lateKernel struct{ Late }

// Infer implements op.Kernel.
func (k *lateKernel) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	specs := make([]tensor.Spec, len(k.Layouts))
	for i, layout := range k.Layouts {
		specs[i].Layout = layout
	}
	return specs, nil
}

// Batched implements op.Batched.
func (k *lateKernel) Batched() bool { return true }

// Run implements op.Kernel. Executors call Make.
func (k *lateKernel) Run(*op.Block) error {
	return &errs.Error{Kind: errs.Unsupported, Op: functionName, Want: "an executor that describes outputs late"}
}

// Make implements op.Late.
func (k *lateKernel) Make(b *op.Block) ([][]tensor.Tensor, error) {
	in := make([][]tensor.Tensor, b.Inputs())
	for i := range in {
		in[i] = make([]tensor.Tensor, b.Len())
		for s := range in[i] {
			in[i][s] = b.In(i, s)
		}
	}
	out, err := k.Batch(b.Len(), in)
	if err != nil {
		return nil, err
	}
	if err := count(len(out), len(k.Layouts), "outputs"); err != nil {
		return nil, err
	}
	for i, samples := range out {
		if err := count(len(samples), b.Len(), "samples"); err != nil {
			return nil, errs.Wrap("", fmt.Sprintf("output %d", i), err)
		}
		if err := k.check(i, samples); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// check returns an error unless the samples of an output are of one kind.
func (k *lateKernel) check(i int, samples []tensor.Tensor) error {
	for s, t := range samples {
		subject := fmt.Sprintf("output %d of the function, sample %d", i, s)
		if err := t.Check(); err != nil {
			return errs.Wrap("", subject, err)
		}
		first := samples[0]
		if t.DType != first.DType || len(t.Shape) != len(first.Shape) {
			return &errs.Error{Kind: errs.Mismatch, Subject: subject,
				Want: fmt.Sprintf("%v with %d dimensions, as in the first sample", first.DType, len(first.Shape)), Got: t.String()}
		}
		if layout := k.Layouts[i]; layout != "" && len(layout) != len(t.Shape) {
			return &errs.Error{Kind: errs.Mismatch, Subject: subject,
				Want: fmt.Sprintf("%d dimensions, as in the layout %s", len(layout), layout), Got: t.String()}
		}
	}
	return nil
}
