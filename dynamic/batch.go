package dynamic

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Batch is a list of arrays with the same dtype, number of axes and layout. Their shapes may
// differ. A Batch may not be computed yet. It is immutable and safe for concurrent use, except
// Release.
type Batch struct{ result }

// Len returns the number of samples. It does not wait.
func (b *Batch) Len() int {
	if b.symbol != nil {
		b.symbol.recording.noteSize()
	}
	return b.n
}

// Samples waits until the arrays are computed and returns them. The slice and the memory of the
// arrays belong to b and must not be written to.
func (b *Batch) Samples(ctx context.Context) ([]tensor.Tensor, error) {
	if err := b.Evaluate(ctx); err != nil {
		return nil, err
	}
	b.lend()
	return b.samples, nil
}

// Batch returns the samples in one block of memory. It copies them, unless they already lie in one
// block.
func (b *Batch) Batch(ctx context.Context) (*tensor.Batch, error) {
	samples, err := b.Samples(ctx)
	if err != nil {
		return nil, err
	}
	d, ndim, layout := b.kind()
	out := &tensor.Batch{}
	out.Reset(d, ndim, layout)
	if b.slab == nil {
		total := 0
		for _, t := range samples {
			total += len(t.Data)
		}
		out.Data = words(total)[:0]
		for _, t := range samples {
			if err := out.Append(t); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	out.Data = *b.slab
	at := 0
	for _, t := range samples {
		at += len(t.Data)
		out.Offsets, out.Dims = append(out.Offsets, at), append(out.Dims, t.Shape...)
	}
	return out, nil
}

// Stack returns the samples as one array with a new first axis, "N" in the layout. It fails with
// errs.Mismatch if the shapes of the samples differ.
func (b *Batch) Stack(ctx context.Context) (tensor.Tensor, error) {
	whole, err := b.Batch(ctx)
	if err != nil {
		return tensor.Tensor{}, err
	}
	return whole.Tensor()
}

// DType returns the dtype of the elements.
func (b *Batch) DType() tensor.DType {
	d, _, _ := b.known()
	return d
}

// NDim returns the number of axes of a sample.
func (b *Batch) NDim() int {
	_, ndim, _ := b.known()
	return ndim
}

// Layout returns the letters of the axes of a sample, or "".
func (b *Batch) Layout() string {
	_, _, layout := b.known()
	return layout
}

// Shapes returns a copy of each sample's shape.
func (b *Batch) Shapes() []tensor.Shape {
	if !b.ready() {
		return nil
	}
	shapes := make([]tensor.Shape, len(b.samples))
	for i, t := range b.samples {
		shapes[i] = append(tensor.Shape{}, t.Shape...)
	}
	return shapes
}

// NBytes returns the number of bytes of all samples.
func (b *Batch) NBytes() int {
	if !b.ready() {
		return 0
	}
	n := 0
	for _, t := range b.samples {
		n += len(t.Data)
	}
	return n
}

// Device returns where the elements are: "cpu".
func (b *Batch) Device() string { return "cpu" }

// String describes the Batch without waiting for it.
func (b *Batch) String() string { return b.text("Batch") }

// At returns sample i as a view; it does not wait for the batch. If i is out of range, the Tensor
// has an error of kind errs.Invalid.
func (b *Batch) At(i int) *Tensor {
	t := &Tensor{result: result{n: 1}}
	if err := b.checkIndex(i); err != nil {
		t.err = err
		t.seen.Store(true)
		return t
	}
	t.choose(&b.result, []int{i})
	return t
}

// Select returns a Batch of the samples with the given numbers, in the given order. The Batch is a
// view; Select does not wait. If a number is out of range, the returned Batch has an error.
func (b *Batch) Select(indices ...int) *Batch {
	out := &Batch{result{batch: true, n: len(indices)}}
	for _, i := range indices {
		if err := b.checkIndex(i); err != nil {
			out.err = err
			out.seen.Store(true)
			return out
		}
	}
	out.choose(&b.result, slices.Clone(indices))
	return out
}

// choose makes r a view of samples of base.
func (r *result) choose(base *result, pick []int) {
	if err := base.hold(); err != nil {
		r.err = err
		r.seen.Store(true)
		return
	}
	r.view = &view{base: base, pick: pick}
	if base.symbol != nil {
		r.symbol = &symbol{recording: base.symbol.recording}
	}
}

func (b *Batch) checkIndex(i int) error {
	if i >= 0 && i < b.n {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "dynamic.Batch", Subject: "index", Want: fmt.Sprintf("0 to %d", b.n-1),
		Got: fmt.Sprint(i)}
}

// Tensors yields each sample with its number. It does not wait.
func (b *Batch) Tensors() iter.Seq2[int, *Tensor] {
	return func(yield func(int, *Tensor) bool) {
		for i := range b.n {
			if !yield(i, b.At(i)) {
				return
			}
		}
	}
}
