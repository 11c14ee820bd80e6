// Package audio holds the operators on sound: spectra, mel filters, decibels, cepstra, filters,
// resampling and silence, and augmentations of spectrograms and signals.
//
// A signal is a float32 tensor of one axis, unless an operator says more. A spectrogram has the
// layout "ft" (frequency, then time) or "tf". All sums are made in float32 in a fixed order, as in
// DALI. So results do not depend on the number of threads or on the processor.
package audio

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	layoutFT = "ft"
	layoutTF = "tf"
)

// floatsOnly is the doc and the dtype of inputs of float32.
func floatsOnly(name, doc string) []op.Port {
	return []op.Port{{Name: name, Doc: doc, DTypes: []tensor.DType{tensor.Float32}}}
}

// wantFloat returns an error unless the input has dtype float32.
func wantFloat(c *op.Config, in tensor.Spec) error {
	if in.DType == tensor.Float32 {
		return nil
	}
	return badInput(c, "float32", in.DType.String(), "cast the input")
}

// badInput returns the error for an input of an unsupported type.
func badInput(c *op.Config, want, got, remedy string) error {
	err := c.InvalidInput(0, want, got, remedy).(*errs.Error)
	err.Kind = errs.Unsupported
	return err
}

// badSample returns the error for a sample that the operator cannot compute.
func badSample(want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: "input", Want: want, Got: got, Remedy: remedy}
}

// positive returns an error unless the constant of a parameter is at least 1.
func positive(c *op.Config, name string) error {
	if n := op.Get[int](c, name); n < 1 {
		return c.Invalid(name, "at least 1", fmt.Sprint(n), "")
	}
	return nil
}

// power reads the parameter power: 1 for magnitudes, 2 for their squares.
func power(c *op.Config) (magnitude bool, err error) {
	p := op.Get[int](c, "power")
	if p != 1 && p != 2 {
		return false, c.Invalid("power", "1 for magnitudes, or 2 for their squares", fmt.Sprint(p), "")
	}
	return p == 1, nil
}

// powerParam is the parameter power.
func powerParam() op.Parameter {
	return op.Parameter{Name: "power", Type: op.Int, Default: 2, Doc: "Exponent of the magnitudes: 1 or 2. 2 is faster."}
}

// like returns the spec of an output that has the input's shape except for one axis. An axis of -1
// is not known.
func like(in tensor.Spec, axis, size int) []tensor.Spec {
	out := tensor.Spec{DType: tensor.Float32, Layout: in.Layout, Shape: slices.Clone(in.Shape)}
	switch {
	case in.Shape == nil:
	case axis < 0 || axis >= len(in.Shape):
		for i := range out.Shape {
			out.Shape[i] = -1
		}
	default:
		out.Shape[axis] = size
	}
	return []tensor.Spec{out}
}

// around returns how many elements lie before an axis, on it, and after it.
func around(shape tensor.Shape, axis int) (outer, n, inner int) {
	return shape[:axis].Len(), shape[axis], shape[axis+1:].Len()
}

// frequency returns the axis of frequencies of a spectrogram: the letter f of the layout. Without a
// layout it is the first of two axes, and the second to last of more.
func frequency(in tensor.Spec) (axis int, ok bool) {
	if in.Layout != "" {
		axis = strings.IndexByte(in.Layout, 'f')
		return axis, axis >= 0 && axis < len(in.Shape)
	}
	return max(0, len(in.Shape)-2), true
}

// reshaped returns the shape of a tensor with another extent of one axis. It uses buf.
func reshaped(buf []int, shape tensor.Shape, axis, n int) []int {
	buf = append(buf[:0], shape...)
	buf[axis] = n
	return buf
}

// maxRank is the largest rank that operators take without allocating.
const maxRank = 8
