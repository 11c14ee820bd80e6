package audio

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

const numbersDoc = "integers of 8 to 64 bits, float32 or float64"

func numeric(d tensor.DType) bool {
	return element.Known(d) && d != tensor.Float16 && d != tensor.Bool
}

func init() {
	op.Register(op.Schema{
		Name:    "preemphasis_filter",
		Doc:     "Subtracts from every element the element before it, times a coefficient. Elements follow each other as they lie in memory, whatever the shape.",
		Inputs:  []op.Port{{Name: "signal", Doc: numbersDoc}},
		Outputs: []op.Port{{Name: "filtered", Doc: "data of the same shape"}},
		Params: []op.Parameter{
			{Name: "border", Type: op.String, Default: "clamp", Doc: `The element before the first: "zero"; "clamp", the first; or "reflect", the second, or 0 for a signal of one element.`},
			{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Type of the output. Numbers are rounded half away from zero and limited to the range of the type."},
			{Name: "preemph_coeff", Type: op.Float, Default: 0.97, PerSample: true, Doc: "The coefficient."},
		},
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &preemphasis{config: c, border: op.Get[string](c, "border"), dtype: op.Get[tensor.DType](c, "dtype"),
				coefficient: op.GetScalar[float64](c, "preemph_coeff")}
			if err := checkBorder(c, k.border); err != nil {
				return nil, err
			}
			if !numeric(k.dtype) {
				return nil, c.Unsupported("dtype", numbersDoc, k.dtype.String())
			}
			return op.Each(k), nil
		},
	})
}

func checkBorder(c *op.Config, border string) error {
	if slices.Contains([]string{"zero", "clamp", "reflect"}, border) {
		return nil
	}
	return c.Invalid("border", `"zero", "clamp" or "reflect"`, fmt.Sprintf("%q", border), "")
}

type preemphasis struct {
	config      *op.Config
	border      string
	dtype       tensor.DType
	coefficient op.Scalar[float64]
}

func (k *preemphasis) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !numeric(in[0].DType) {
		return nil, badInput(k.config, numbersDoc, in[0].DType.String(), "cast the input")
	}
	out := in[0]
	out.DType = k.dtype
	return []tensor.Spec{out}, nil
}

func (k *preemphasis) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	c, err := k.coefficient.At(b, s)
	if err != nil {
		return err
	}
	out := b.Out(0, s, in.Shape...)
	if in.DType == tensor.Float64 {
		from := element.View[float64](op.Scratch[uint8](b, 8*in.Len()))
		if err := element.Into(tensor.Float64, element.Bytes(from), in.DType, in.Data); err != nil {
			return err
		}
		emphasize(from, from, float64(float32(c)), k.border)
		return element.Into(out.DType, out.Data, tensor.Float64, element.Bytes(from))
	}
	from, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	if k.dtype == tensor.Float32 {
		emphasize(element.View[float32](out.Data), from, float32(c), k.border)
		return nil
	}
	to := op.Scratch[float32](b, len(from))
	emphasize(to, from, float32(c), k.border)
	return element.Into(out.DType, out.Data, tensor.Float32, element.Bytes(to))
}

// emphasize filters a signal. to may be from.
func emphasize[T float32 | float64](to, from []T, c T, border string) {
	if len(from) == 0 {
		return
	}
	before := T(0)
	switch {
	case border == "clamp":
		before = from[0]
	case border == "reflect" && len(from) > 1:
		before = from[1]
	}
	for i, v := range from {
		to[i] = v - T(c*before)
		before = v
	}
}
