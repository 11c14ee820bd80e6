// Package reduce holds the operators that fold axes of their input: sums, means, extremes and
// deviations. It also holds normalize.
//
// # Numbers
//
// Integers are summed as integers of 64 bits, which is exact unless they overflow. Floats are
// summed in float64 in the order of memory. The result is rounded once. DALI sums floats in float32
// in another order, so its results differ by some units in the last place. If the output is an
// integer type in which DALI computes, sums wrap around as in DALI, and quotients and roots are
// truncated.
//
// The result of a sample does not depend on other samples or on the number of workers.
package reduce

import (
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/axis"
	"github.com/bivouac-ml/bivouac/tensor"
)

// params returns the parameters of all reductions, and more.
func params(more ...op.Parameter) []op.Parameter {
	return append(append(axis.Params(false, "Axes to fold, by default all"),
		op.Parameter{Name: "keep_dims", Type: op.Bool, Default: false, Doc: "Whether folded axes stay, with extent 1."}), more...)
}

func dtypeParam(doc string) op.Parameter {
	return op.Parameter{Name: "dtype", Type: op.DType, Doc: doc}
}

// frame is the common part of all reductions: the axes that they fold, and the remaining shape and
// layout.
type frame struct {
	config *op.Config
	axes   axis.Set
	keep   bool
}

func newFrame(c *op.Config) (frame, error) {
	axes, err := axis.Read(c)
	return frame{config: c, axes: axes, keep: op.Get[bool](c, "keep_dims")}, err
}

// infer returns the spec of the output for input in.
func (f *frame) infer(in tensor.Spec, dtype tensor.DType) ([]tensor.Spec, error) {
	out := tensor.Spec{DType: dtype}
	if in.Shape == nil {
		return []tensor.Spec{out}, nil
	}
	axes, err := f.axes.Of(nil, 0, len(in.Shape), in.Layout, nil)
	if err != nil {
		return nil, f.config.InvalidInput(0, "the axes to fold", err.Error(), "")
	}
	out.Shape, out.Layout = f.folded(tensor.Shape{}, in.Shape, axes), in.Layout
	if !f.keep && in.Layout != "" {
		names := make([]byte, 0, len(in.Layout))
		for i := range len(in.Layout) {
			if !slices.Contains(axes, i) {
				names = append(names, in.Layout[i])
			}
		}
		out.Layout = string(names)
	}
	return []tensor.Spec{out}, nil
}

// folded appends to out the shape that remains of shape.
func (f *frame) folded(out, shape tensor.Shape, axes []int) tensor.Shape {
	for i, d := range shape {
		switch {
		case !slices.Contains(axes, i):
			out = append(out, d)
		case f.keep:
			out = append(out, 1)
		}
	}
	return out
}

// sample determines the axes of a sample and makes its output. n is the number of elements that are
// folded into each output element.
func (f *frame) sample(b *op.Block, s int) (axes []int, n int, out tensor.Tensor, err error) {
	in := b.In(0, s)
	room := op.PerWorker[[8]int](b)
	if axes, err = f.axes.Of(b, s, len(in.Shape), in.Layout, room[:0]); err != nil {
		return nil, 0, out, err
	}
	n = 1
	for _, i := range axes {
		n *= in.Shape[i]
	}
	var extents [8]int
	shape := f.folded(extents[:0], in.Shape, axes)
	if _, err := shape.Bytes(tensor.Float64); err != nil {
		return nil, 0, out, err
	}
	return axes, n, b.Out(0, s, shape...), nil
}

// summable reports whether elements of type d can be folded.
func summable(d tensor.DType) bool {
	switch d {
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64, tensor.Float32:
		return true
	}
	return false
}

// unsupportedInput returns the error for an input whose elements cannot be folded.
func unsupportedInput(c *op.Config, d tensor.DType, want string) error {
	err := c.InvalidInput(0, want, d.String(), "cast it").(*errs.Error)
	err.Kind = errs.Unsupported
	return err
}

const foldable = "integers of 8 to 64 bits or float32"

// wide returns the 64-bit integer type for sums of elements of type d.
func wide(d tensor.DType) tensor.DType {
	switch {
	case !d.IsInteger():
		return d
	case d.IsSigned():
		return tensor.Int64
	}
	return tensor.Uint64
}
