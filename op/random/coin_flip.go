package random

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "coin_flip", Module: []string{"random"},
		Doc:     "Draws 1 with a given probability, and 0 otherwise.",
		Outputs: []op.Port{{Name: "flips", Doc: "zeros and ones"}},
		Params: commonParams(
			op.Parameter{Name: "probability", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Probability of 1."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: int32, the default, bool or uint8."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &coinFlip{probability: op.GetScalar[float64](c, "probability")}
			if p, constant := k.probability.Const(); constant && !(p >= 0 && p <= 1) {
				return nil, c.Invalid("probability", "a number from 0 to 1", fmt.Sprint(p), "")
			}
			var err error
			if k.dtype, err = dtypeOf(c, tensor.Int32, tensor.Bool, tensor.Uint8); err != nil {
				return nil, err
			}
			k.shape, err = shapeOf(c)
			return k, err
		},
	})
}

type coinFlip struct {
	probability op.Scalar[float64]
	dtype       tensor.DType
	shape       tensor.Shape
}

func (k *coinFlip) Grain() op.Grain { return op.PerSample }

func (k *coinFlip) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.shape}}, nil
}

func (k *coinFlip) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.sample(b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *coinFlip) sample(b *op.Block, s int) error {
	p, err := k.probability.At(b, s)
	if err != nil {
		return err
	}
	if !(p >= 0 && p <= 1) {
		return &errs.Error{Kind: errs.Invalid, Subject: "argument probability", Want: "a number from 0 to 1", Got: fmt.Sprint(p)}
	}
	below := uint64(p * (1 << 32)) // of 2^32 draws, those that are 1
	out, size := b.Out(0, s, k.shape...), k.dtype.Size()
	r := b.RNG(s)
	clear(out.Data)
	for at := 0; at < len(out.Data); at += size {
		if uint64(r.Uint32()) < below {
			out.Data[at] = 1 // little-endian
		}
	}
	return nil
}
