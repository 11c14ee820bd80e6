// Package detection holds the operators on boxes around objects: they follow an image that is
// mirrored, pasted, turned or cropped, and match the default boxes of a detector.
//
// A box is a row of four float32 numbers: left, top, right and bottom ("ltrb"), or left, top, width
// and height ("xywh"). The arithmetic is float32 in DALI's order, so the results are DALI's, bit by
// bit (docs/numerics.md).
package detection

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// boxPort is an input of boxes.
func boxPort(doc string) op.Port {
	return op.Port{Name: "boxes", Doc: doc, DTypes: []tensor.DType{tensor.Float32}}
}

// ltrbParam says what the numbers of a box are.
var ltrbParam = op.Parameter{Name: "ltrb", Type: op.Bool, Default: false,
	Doc: "Whether boxes are left, top, right and bottom. By default they are left, top, width and height."}

// wantBoxes checks what is known of an input of boxes before the data.
func wantBoxes(c *op.Config, input int, s tensor.Spec) error {
	if s.DType == tensor.Float32 && (s.Shape == nil || len(s.Shape) > 0) {
		return nil
	}
	return c.InvalidInput(input, "float32 boxes, 4 numbers each", s.DType.String()+s.Shape.String(), "cast them")
}

// coordinates returns the numbers of all boxes of a sample.
func coordinates(t tensor.Tensor) ([]float32, error) {
	v, err := tensor.Of[float32](t)
	if err == nil && len(v)%4 != 0 {
		err = &errs.Error{Kind: errs.Mismatch, Subject: "input boxes", Want: "4 numbers for each box", Got: t.String()}
	}
	return v, err
}

// rows returns the numbers of boxes that are the rows of a matrix.
func rows(t tensor.Tensor) ([]float32, error) {
	if len(t.Shape) != 2 || t.Shape[1] != 4 {
		return nil, &errs.Error{Kind: errs.Mismatch, Subject: "input boxes",
			Want: "a row of 4 numbers for each box", Got: t.String()}
	}
	return tensor.Of[float32](t)
}

// integers returns the labels of n boxes: n numbers, or n rows of one number.
func integers(t tensor.Tensor, n int) ([]int32, error) {
	if t.DType != tensor.Int32 || len(t.Shape) < 1 || len(t.Shape) > 2 || t.Shape[0] != n ||
		len(t.Shape) == 2 && t.Shape[1] != 1 {
		return nil, &errs.Error{Kind: errs.Mismatch, Subject: "input labels",
			Want: fmt.Sprintf("one int32 label for each of %d boxes", n), Got: t.String()}
	}
	return tensor.Of[int32](t)
}
