// Package image holds the operators on images, sequences of images and volumes.
//
// # Layouts
//
// Letters name the axes: F frames, D depth, H height, W width, C channels. Data without a layout
// gets the operator's first layout of its rank. An operator treats H, W and D of every frame and
// channel alike.
//
// # Numbers
//
// Unless an operator says otherwise, results are computed in float32. If they become integers, they
// are rounded half away from zero and saturated. No operator fuses multiplications with additions.
package image

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const layoutHWC = "HWC"

// imageLayouts returns the layouts of operators that cut: images, volumes and sequences of both.
func imageLayouts() []string {
	return []string{"HWC", "CHW", "DHWC", "CDHW", "FHWC", "FCHW", "CFHW", "FDHWC", "FCDHW", "CFDHW"}
}

// layoutOf returns the layout of input 0. The rank must match the layout.
func layoutOf(c *op.Config, in tensor.Spec) (string, error) {
	accepted := c.Schema.Inputs[0].Layouts
	for _, l := range accepted {
		if in.Layout == l || in.Layout == "" && (in.Shape == nil || len(in.Shape) == len(l)) {
			if in.Shape != nil && len(in.Shape) != len(l) {
				break
			}
			return l, nil
		}
	}
	return "", &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0",
		Want: "an image of layout " + strings.Join(accepted, " or "), Got: describe(in)}
}

// inputDType returns an error unless the dtype of the input is one of want.
func inputDType(c *op.Config, in tensor.Spec, want ...tensor.DType) error {
	for _, d := range want {
		if in.DType == d {
			return nil
		}
	}
	return &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0",
		Want: "elements of " + join(want), Got: in.DType.String()}
}

func join(types []tensor.DType) string {
	names := make([]string, len(types))
	for i, d := range types {
		names[i] = d.String()
	}
	return strings.Join(names, " or ")
}

func describe(s tensor.Spec) string {
	if s.Shape == nil {
		return fmt.Sprintf("%s of unknown rank, layout %q", s.DType, s.Layout)
	}
	return fmt.Sprintf("%s%s, layout %q", s.DType, s.Shape, s.Layout)
}

// checkRank returns an error unless a sample has as many axes as its layout says.
func checkRank(t tensor.Tensor, layout string) error {
	if len(t.Shape) != len(layout) {
		return &errs.Error{Kind: errs.Mismatch, Want: "an image of layout " + layout, Got: t.String()}
	}
	return nil
}

// checkSize returns an error if no sample can have the given shape. Block.Out checks the limits.
func checkSize(shape []int, dtype tensor.DType) error {
	_, err := tensor.Shape(shape).Bytes(dtype)
	return err
}

// dims returns the extents of the axes that letters name. It returns missing for an axis that the
// layout does not have.
func dims(shape tensor.Shape, layout, letters string, missing int) [3]int {
	var v [3]int
	for i := range letters {
		v[i] = missing
		if a := strings.IndexByte(layout, letters[i]); a >= 0 && shape != nil {
			v[i] = shape[a]
		} else if a >= 0 {
			v[i] = -1
		}
	}
	return v
}

// unknown returns a shape of n extents that are known only from the data.
func unknown(n int) tensor.Shape {
	s := make(tensor.Shape, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// floats returns the elements of a float32 tensor.
func floats(t tensor.Tensor) ([]float32, error) { return tensor.Of[float32](t) }

// deprecatedParams returns the parameters that operators keep for old programs.
func deprecatedParams() []op.Parameter {
	return []op.Parameter{
		{Name: "image_type", Type: op.Image, Tuning: true, Deprecated: "it has no effect", Doc: "Ignored."},
		{Name: "output_dtype", Type: op.DType, Deprecated: "use dtype", Doc: "The old name of dtype."},
	}
}

// outputType returns the argument dtype, or output_dtype (its old name), or Invalid.
func outputType(c *op.Config) (tensor.DType, error) {
	d, old := op.Get[tensor.DType](c, "dtype"), op.Get[tensor.DType](c, "output_dtype")
	switch {
	case !c.Given("output_dtype"):
		return d, nil
	case c.Given("dtype"):
		return 0, c.Invalid("output_dtype", "dtype or output_dtype", "both", "")
	}
	return old, nil
}
