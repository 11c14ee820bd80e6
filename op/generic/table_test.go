package generic

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// row is a call of an operator with what DALI 2.4.0 gave, or with an error.
type row struct {
	op     string
	args   op.Args
	inputs []tensor.Tensor // one sample each
	count  int             // of samples, for operators without inputs
	want   tensor.Tensor
	fails  bool
}

// of returns data of a shape and layout.
func of[T tensor.Element](layout string, shape []int, values ...T) tensor.Tensor {
	t := tensor.FromSlice(values, shape...)
	t.Layout, t.Shape = layout, append(tensor.Shape{}, shape...)
	return t
}

// count returns the numbers from 0 on.
func count(layout string, shape ...int) tensor.Tensor {
	values := make([]float32, tensor.Shape(shape).Len())
	for i := range values {
		values[i] = float32(i)
	}
	return of(layout, shape, values...)
}

func inputs(t ...tensor.Tensor) []tensor.Tensor { return t }

// check runs a row twice, with shapes that are known before and with such as are
// known only from the data: what is promised must be kept, and mistakes found in
// either way.
func (r row) check(t *testing.T) {
	t.Helper()
	for _, static := range []bool{true, false} {
		c := optest.Case{Op: r.op, Args: r.args, Count: max(r.count, 1), Static: static}
		for _, in := range r.inputs {
			c.Inputs = append(c.Inputs, []tensor.Tensor{in})
		}
		res, err := optest.Run(c)
		if err == nil {
			err = res.Errors[0]
		}
		if r.fails {
			if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) && !errors.Is(err, errs.Unsupported) {
				t.Errorf("%s %v of %v: %v, want a refusal", r.op, r.args, r.inputs, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %v of %v: %v", r.op, r.args, r.inputs, err)
			continue
		}
		got, spec := res.Outputs[0][0], res.Specs[0]
		if !got.Equal(r.want) {
			t.Errorf("%s %v of %v: %v %q %v, want %v %q %v", r.op, r.args, r.inputs, got, got.Layout, got.Data, r.want, r.want.Layout, r.want.Data)
		}
		if spec.DType != got.DType || spec.Shape != nil && (spec.Layout != got.Layout || len(spec.Shape) != len(got.Shape)) {
			t.Errorf("%s %v of %v: promised %v, gave %v %q", r.op, r.args, r.inputs, spec, got, got.Layout)
		}
		for i, d := range spec.Shape {
			if d >= 0 && i < len(got.Shape) && d != got.Shape[i] {
				t.Errorf("%s %v of %v: promised the shape %v, gave %v", r.op, r.args, r.inputs, spec.Shape, got.Shape)
			}
		}
	}
}

func checkAll(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		r.check(t)
	}
}

func ints(v ...int32) tensor.Tensor { return tensor.FromSlice(v) }

func samples(t tensor.Tensor) optest.Samples { return optest.Samples{t} }
