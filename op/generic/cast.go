package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "cast",
		Doc: "Converts elements to another type. Floats become integers by rounding half away from zero and saturating. " +
			"Integers are saturated if the other type is narrower.",
		Inputs:  []op.Port{{Name: "input", Doc: "numbers of any shape"}},
		Outputs: []op.Port{{Name: "output", Doc: "the same shape in the other type"}},
		Params: []op.Parameter{
			{Name: "dtype", Type: op.DType, Required: true, Doc: "Type of the output."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			dtype, err := elementType(c, "dtype")
			return op.Each(&cast{config: c, dtype: dtype}), err
		},
	})
}

// elementType returns the constant of a parameter: the type to which elements are converted.
func elementType(c *op.Config, param string) (tensor.DType, error) {
	d := op.Get[tensor.DType](c, param)
	if c.Has(param) && !element.Known(d) {
		return d, c.Unsupported(param, "an integer type of 8 bits or more, float16, float32, float64 or bool", d.String())
	}
	return d, nil
}

// cast converts to dtype, or to the type of the second input if dtype is Invalid.
type cast struct {
	config *op.Config
	dtype  tensor.DType
}

func (k *cast) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i := range in {
		if err := numbers(k.config, i, in[i]); err != nil {
			return nil, err
		}
	}
	out := in[0]
	if out.DType = k.dtype; len(in) > 1 {
		out.DType = in[1].DType
	}
	return []tensor.Spec{out}, nil
}

func (k *cast) Sample(b *op.Block, s int) error {
	in, dtype := b.In(0, s), k.dtype
	if b.Inputs() > 1 {
		dtype = b.In(1, s).DType
	}
	if in.DType == dtype {
		b.Alias(0, s, in)
		return nil
	}
	return element.Convert(b.Out(0, s, in.Shape...), in)
}

func init() {
	op.Register(op.Schema{
		Name: "cast_like",
		Doc:  "Converts elements to the type of other data, like cast.",
		Inputs: []op.Port{
			{Name: "input", Doc: "numbers of any shape"},
			{Name: "like", Doc: "data with the new type; its contents are not read"},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the shape of the input in the other type"}},
		New:     func(c *op.Config) (op.Kernel, error) { return op.Each(&cast{config: c}), nil },
	})
}
