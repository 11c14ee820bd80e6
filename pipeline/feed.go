package pipeline

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Data is a batch for one output of an external source: a [tensor.Tensor] with
// the samples along its first axis, a []tensor.Tensor with one sample each, or a *[tensor.Batch].
type Data any

// feed is a batch of an external source: the samples of each of its outputs. Its memory is reused.
type feed struct {
	samples int
	outputs []fedOutput
	state   []byte // of the source after this batch, if the source has a state
	uses    int    // the number of windows and slots that hold it
	release func() // gives the memory back that was lent for it, or nil
	gone    bool   // that memory was given to somebody with a batch
}

// over gives memory back that was lent for the batch.
func (f *feed) over() {
	if f.release != nil && !f.gone {
		f.release()
	}
	f.release, f.gone = nil, false
	for i := range f.outputs {
		f.outputs[i].whole = nil
	}
}

// fedOutput is a batch of one output.
type fedOutput struct {
	dtype   tensor.DType
	ndim    int
	layout  string
	samples []tensor.Tensor
	shapes  []int  // memory of the samples' shapes
	memory  []byte // memory of the samples, if they were copied
	whole   []byte // memory of the data, if the samples lie back to back in it and it was not copied
}

// take makes data the batch. A layout that is not empty becomes the layout of the samples. The
// memory is copied unless keep is set.
func (o *fedOutput) take(data Data, layout string, keep bool) error {
	o.begin()
	var err error
	switch d := data.(type) {
	case *tensor.Batch:
		err = o.takeBatch(d, keep)
	case []tensor.Tensor:
		for i := 0; i < len(d) && err == nil; i++ {
			err = o.append(d[i], keep)
		}
	case tensor.Tensor:
		err = o.takeRows(d, keep)
	default:
		err = &errs.Error{Kind: errs.Invalid,
			Want: "a tensor.Tensor with the samples along its first axis, a []tensor.Tensor or a *tensor.Batch",
			Got:  fmt.Sprintf("%T", data)}
	}
	if err != nil {
		return err
	}
	return o.finish(layout, keep)
}

// begin empties the batch.
func (o *fedOutput) begin() {
	o.samples, o.shapes, o.memory, o.layout, o.whole = o.samples[:0], o.shapes[:0], o.memory[:0], "", nil
}

func (o *fedOutput) takeBatch(b *tensor.Batch, keep bool) error {
	if b == nil {
		return noSamples()
	}
	if err := b.Check(); err != nil {
		return err
	}
	for s := range b.NumSamples() {
		if err := o.append(b.Sample(s), keep); err != nil {
			return err
		}
	}
	if n := b.NumSamples(); keep {
		o.whole = b.Data[b.Offsets[0]:b.Offsets[n]]
	}
	return nil
}

// takeRows takes the elements of the first axis as samples.
func (o *fedOutput) takeRows(t tensor.Tensor, keep bool) error {
	if len(t.Shape) == 0 {
		return &errs.Error{Kind: errs.Invalid, Want: "an array with the samples along its first axis", Got: t.String()}
	}
	layout := t.Layout
	if len(layout) == len(t.Shape) { // the layout also names the axis of the batch
		layout = layout[1:]
	}
	t.Layout = ""
	if err := t.Check(); err != nil {
		return err
	}
	for i := range t.Shape[0] {
		row := t.Index(i)
		row.Layout = layout
		if err := o.append(row, keep); err != nil {
			return err
		}
	}
	if keep {
		o.whole = t.Data
	}
	return nil
}

// append adds a sample. It must have the dtype, number of axes and layout of the earlier samples.
// Its memory is copied unless keep is set.
func (o *fedOutput) append(t tensor.Tensor, keep bool) error {
	s := len(o.samples)
	if err := t.Check(); err != nil {
		return errs.Wrap("", "sample "+strconv.Itoa(s), err)
	}
	if s == 0 {
		o.dtype, o.ndim, o.layout = t.DType, len(t.Shape), t.Layout
	}
	differs := func(what, want, got string) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: "sample " + strconv.Itoa(s),
			Want: what + " like the first sample, " + want, Got: got}
	}
	switch {
	case t.DType != o.dtype:
		return differs("a dtype", o.dtype.String(), t.DType.String())
	case len(t.Shape) != o.ndim:
		return differs("a number of axes", strconv.Itoa(o.ndim), t.String())
	case t.Layout != "" && o.layout == "":
		o.layout = t.Layout
	case t.Layout != "" && t.Layout != o.layout:
		return differs("a layout", o.layout, t.Layout)
	}
	if !keep {
		at := len(o.memory)
		o.memory = roomFor(o.memory, at+roundUp(len(t.Data)))
		copy(o.memory[at:], t.Data)
	}
	o.shapes = append(o.shapes, t.Shape...)
	o.samples = append(o.samples, t)
	return nil
}

// finish gives all samples their layout, and shapes and memory that do not move any more.
func (o *fedOutput) finish(layout string, keep bool) error {
	if len(o.samples) == 0 {
		return noSamples()
	}
	if layout != "" {
		o.layout = layout
	}
	if o.layout != "" && len(o.layout) != o.ndim {
		return &errs.Error{Kind: errs.Mismatch, Subject: "layout", Want: fmt.Sprintf("%d axes", o.ndim),
			Got: strconv.Quote(o.layout)}
	}
	at := 0
	for s := range o.samples {
		t := &o.samples[s]
		t.Layout, t.Shape = o.layout, o.shapes[s*o.ndim:(s+1)*o.ndim:(s+1)*o.ndim]
		if n := len(t.Data); !keep {
			t.Data = o.memory[at : at+n : at+n]
			at += roundUp(n)
		}
	}
	return nil
}

// spec describes the batch. It fills what was not declared from the data.
func (o *fedOutput) spec(declared tensor.Spec) tensor.Spec {
	s := declared
	if !s.DType.Valid() {
		s.DType = o.dtype
	}
	if s.Layout == "" {
		s.Layout = o.layout
	}
	if s.Shape == nil {
		s.Shape = make(tensor.Shape, o.ndim)
		for d := range s.Shape {
			s.Shape[d] = -1
		}
	}
	return s
}

// describe gives samples without a layout the declared layout.
func (o *fedOutput) describe(layout string) {
	if o.layout == "" && layout != "" && len(layout) == o.ndim {
		o.layout = layout
		for s := range o.samples {
			o.samples[s].Layout = layout
		}
	}
}

// fits returns an error unless the batch agrees with spec.
func (o *fedOutput) fits(spec tensor.Spec) error {
	differs := func(what string, want, got any) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: what,
			Want: fmt.Sprintf("%v, as declared or as in earlier batches", want),
			Got:  fmt.Sprint(got)}
	}
	switch {
	case o.dtype != spec.DType:
		return differs("dtype", spec.DType, o.dtype)
	case o.ndim != len(spec.Shape):
		return differs("number of dimensions", len(spec.Shape), o.ndim)
	case o.layout != spec.Layout:
		return differs("layout", strconv.Quote(spec.Layout), strconv.Quote(o.layout))
	}
	for s := range o.samples {
		for d, size := range spec.Shape {
			if got := o.samples[s].Shape; size >= 0 && got[d] != size {
				return differs("shape of sample "+strconv.Itoa(s), spec.Shape, got)
			}
		}
	}
	return nil
}

func noSamples() error {
	return &errs.Error{Kind: errs.Invalid, Want: "at least one sample", Got: "no sample"}
}

// roundUp returns the next multiple of the alignment of samples.
func roundUp(n int) int { return (n + 63) &^ 63 }

// roomFor returns memory of length n at an address aligned to 8: b if it is large enough, else new
// memory.
func roomFor(b []byte, n int) []byte {
	if cap(b) >= n {
		return b[:n]
	}
	words := make([]uint64, max(n, 2*cap(b))/8+1)
	longer := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
	copy(longer, b)
	return longer[:n]
}
