package image

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A filter whose border would exceed the limit of a sample is refused: small inputs can ask for it.
func TestHugeFilters(t *testing.T) {
	const side = 70_000
	for _, d := range []tensor.DType{tensor.Uint8, tensor.Float32} {
		in, weights := tensor.New(d, side, 1), tensor.New(tensor.Float32, 1, side)
		in.Layout = "HW"
		r, err := optest.Run(optest.Case{Op: "filter", Inputs: optest.Inputs(in, weights), Args: op.Args{}})
		if err == nil {
			err = r.Errors[0]
		}
		if !errors.Is(err, errs.Exhausted) {
			t.Errorf("%v: %v, want an error of kind exhausted", d, err)
		}
	}
}
