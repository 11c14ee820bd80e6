// Package image holds the operators on images. Unless an operator says
// otherwise its input is a sample of layout HWC and its results are computed in
// float32 and rounded half away from zero.
package image

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const layoutHWC = "HWC"

// inputHWC checks that the input of an operator is an image.
func inputHWC(c *op.Config, in tensor.Spec) error {
	if in.Shape != nil && len(in.Shape) != 3 || in.Layout != "" && in.Layout != layoutHWC {
		return &errs.Error{Kind: errs.Invalid, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input 0",
			Want: "an image of layout " + layoutHWC, Got: describe(in)}
	}
	return nil
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
	s := ""
	for i, d := range types {
		if i > 0 {
			s += " or "
		}
		s += d.String()
	}
	return s
}

func describe(s tensor.Spec) string {
	if s.Shape == nil {
		return fmt.Sprintf("%s of unknown rank, layout %q", s.DType, s.Layout)
	}
	return fmt.Sprintf("%s%s, layout %q", s.DType, s.Shape, s.Layout)
}

// checkImage is inputHWC for a sample, whose rank may not have been known before.
func checkImage(t tensor.Tensor) error {
	if len(t.Shape) != 3 {
		return &errs.Error{Kind: errs.Mismatch, Want: "an image of layout " + layoutHWC, Got: t.String()}
	}
	return nil
}

// floats returns the elements of a float32 tensor.
func floats(t tensor.Tensor) ([]float32, error) { return tensor.Of[float32](t) }
