package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "full_like",
		Doc:  "Repeats data to the shape, layout and type of other data, as numpy broadcasts and cast converts.",
		Inputs: []op.Port{
			{Name: "data_like", Doc: "data whose shape, layout and type are taken; their contents are not read"},
			{Name: "fill_value", Doc: "what is repeated"},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the repeated data"}},
		New:     func(c *op.Config) (op.Kernel, error) { return &fullLike{config: c}, nil },
	})
}

type fullLike struct{ config *op.Config }

func (k *fullLike) Grain() op.Grain { return op.PerSample }

func (k *fullLike) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	for i := range in {
		if err := numbers(k.config, i, in[i]); err != nil {
			return nil, err
		}
	}
	return same(in)
}

func (k *fullLike) Run(b *op.Block) error {
	return b.Each(func(s int) error {
		like, in := b.In(0, s), b.In(1, s)
		if err := broadcasts(in.Shape, like.Shape); err != nil {
			return err
		}
		value := tensor.Tensor{DType: like.DType, Shape: in.Shape, Data: op.Scratch[uint8](b, in.Len()*like.DType.Size())}
		if err := element.Convert(value, in); err != nil {
			return err
		}
		broadcast(b.Out(0, s, like.Shape...), value)
		return nil
	})
}
