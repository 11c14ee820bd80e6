package random

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "coin_flip", Module: []string{"random"},
		Doc:     "Draws 1 with a given probability, and 0 otherwise.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "flips", Doc: "zeros and ones"}},
		Params: distributionParams(
			op.Parameter{Name: "probability", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Probability of 1; below 0 is 0, above 1 is 1, as in DALI."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: int32, the default, bool or uint8."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &coinFlip{probability: op.GetScalar[float64](c, "probability")}
			if p, constant := k.probability.Const(); constant && p != p {
				return nil, c.Invalid("probability", "a number", "NaN", "")
			}
			var err error
			if k.dtype, err = dtypeOf(c, tensor.Int32, tensor.Int32, tensor.Bool, tensor.Uint8); err != nil {
				return nil, err
			}
			k.extent, err = newExtent(c, 0)
			return k, err
		},
	})
}

type coinFlip struct {
	probability op.Scalar[float64]
	dtype       tensor.DType
	extent      extent
}

func (k *coinFlip) Grain() op.Grain { return op.PerSample }

func (k *coinFlip) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.extent.infer(in)}}, nil
}

func (k *coinFlip) Run(b *op.Block) error { return perSample(b, k.sample) }

func (k *coinFlip) sample(b *op.Block, s int, w *worker) error {
	shape, err := k.extent.at(b, s, &w.shape)
	if err != nil {
		return err
	}
	p, err := k.probability.At(b, s)
	if err != nil {
		return err
	}
	if p != p {
		return invalid("probability", "a number", p)
	}
	out, size := b.Out(0, s, shape...), k.dtype.Size()
	stream := b.RNG(s)
	clear(out.Data)
	for e := range out.Shape.Len() {
		element := rng.Element(stream, e)
		if rng.Flip(&element, float32(p)) {
			out.Data[e*size] = 1 // little-endian
		}
	}
	return nil
}
