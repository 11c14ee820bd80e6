package arith

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "_subscript_dim_check",
		Doc:     "Checks that tensors have at least one axis per subscript, and returns them. All subscripts take whole axes.",
		Inputs:  []op.Port{{Name: "data", Doc: "any tensor"}},
		Outputs: []op.Port{{Name: "same", Doc: "the input"}},
		Params: []op.Parameter{
			{Name: "num_subscripts", Type: op.Int, Required: true, Doc: "The least number of axes."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			count := op.Get[int](c, "num_subscripts")
			if count < 0 {
				return nil, c.Invalid("num_subscripts", "0 or more", fmt.Sprint(count), "")
			}
			return &subscriptCheck{config: c, count: count}, nil
		},
	})
}

type subscriptCheck struct {
	config *op.Config
	count  int
}

func (k *subscriptCheck) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if in[0].Shape != nil {
		if err := checkSubscripts(k.config, k.count, len(in[0].Shape)); err != nil {
			return nil, err
		}
	}
	return in[:1:1], nil
}

func (k *subscriptCheck) Run(b *op.Block) error {
	for s := range b.Len() {
		in := b.In(0, s)
		if err := checkSubscripts(k.config, k.count, len(in.Shape)); err != nil {
			b.Fail(s, err)
			continue
		}
		b.Alias(0, s, in)
	}
	return nil
}
