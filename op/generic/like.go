package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// like is the kernel of zeros_like and ones_like.
type like struct {
	config *op.Config
	dtype  tensor.DType // Invalid: that of the input
	value  tensor.Tensor
}

// registerLike registers zeros_like or ones_like.
func registerLike(name, what string, value float32) {
	op.Register(op.Schema{
		Name:    name,
		Doc:     "Gives " + what + " in the shape of other data.",
		Inputs:  []op.Port{{Name: "data_like", Doc: "data whose shape, layout and type are taken; their contents are not read"}},
		Outputs: []op.Port{{Name: "output", Doc: what}},
		Params:  []op.Parameter{{Name: "dtype", Type: op.DType, Doc: "Type of the output; by default that of the input."}},
		New: func(c *op.Config) (op.Kernel, error) {
			dtype, err := elementType(c, "dtype")
			return &like{config: c, dtype: dtype, value: tensor.ScalarOf(value)}, err
		},
	})
}

func (k *like) Grain() op.Grain { return op.PerSample }

func (k *like) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	return []tensor.Spec{out}, numbers(k.config, 0, out)
}

func (k *like) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		in := b.In(0, s).Spec()
		if k.dtype != tensor.Invalid {
			in.DType = k.dtype
		}
		if err := size(in.Shape, in.DType); err != nil {
			return err
		}
		out := b.Out(0, s, in.Shape...)
		var one [8]byte
		value := tensor.Tensor{DType: out.DType, Data: one[:out.DType.Size()]}
		if err := element.Convert(value, k.value); err != nil {
			return err
		}
		repeat(out.Data, value.Data)
		return nil
	})
}
