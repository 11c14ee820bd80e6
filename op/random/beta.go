package random

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "beta", Module: []string{"random"},
		Doc:     "Draws numbers from 0 to 1 of a beta distribution.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "numbers", Doc: "numbers"}},
		Params: distributionParams(
			op.Parameter{Name: "alpha", Type: op.Float, Default: 1.0, PerSample: true, Doc: "First parameter of the distribution, above 0."},
			op.Parameter{Name: "beta", Type: op.Float, Default: 1.0, PerSample: true, Doc: "Second parameter of the distribution, above 0."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: float32, the default, or float64."},
		),
		Random:    true,
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &beta{alpha: op.GetScalar[float64](c, "alpha"), beta: op.GetScalar[float64](c, "beta")}
			for name, p := range map[string]*op.Scalar[float64]{"alpha": &k.alpha, "beta": &k.beta} {
				if v, constant := p.Const(); constant && !isPositive(v) {
					return nil, c.Invalid(name, "a positive float32 number", fmt.Sprint(v), "")
				}
			}
			var err error
			if k.dtype, err = dtypeOf(c, tensor.Float32, tensor.Float32, tensor.Float64); err != nil {
				return nil, err
			}
			k.extent, err = newExtent(c, 0)
			return k, err
		},
	})
}

func isPositive(v float64) bool { return float32(v) > 0 && v <= math.MaxFloat32 }

type beta struct {
	alpha, beta op.Scalar[float64]
	dtype       tensor.DType
	extent      extent
}

func (k *beta) Grain() op.Grain { return op.PerSample }

func (k *beta) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.extent.infer(in)}}, nil
}

func (k *beta) Run(b *op.Block) error { return perSample(b, k.sample) }

func (k *beta) sample(b *op.Block, s int, w *worker) error {
	shape, err := k.extent.at(b, s, &w.shape)
	if err != nil {
		return err
	}
	x, y, err := moments(b, s, &k.alpha, &k.beta)
	if err != nil {
		return err
	}
	if !isPositive(float64(x)) || !isPositive(float64(y)) {
		return invalid("alpha or beta", "a positive float32 number", fmt.Sprint(x, " ", y))
	}
	if k.dtype == tensor.Float64 {
		return fillBeta(b.Out(0, s, shape...), b.RNG(s), w, float64(x), float64(y))
	}
	return fillBeta(b.Out(0, s, shape...), b.RNG(s), w, x, y)
}

// fillBeta draws by two numbers of gamma distributions, whose state, a number of a
// normal one, lasts for the sample.
func fillBeta[T interface{ float32 | float64 }](out tensor.Tensor, stream rng.Philox, w *worker, alpha, beta T) error {
	small := alpha < 1 && beta < 1
	one := T(0)
	if small {
		one = 1
	}
	a, b := libstdcxx.Gamma[T]{Alpha: alpha + one, Beta: 1}, libstdcxx.Gamma[T]{Alpha: beta + one, Beta: 1}
	ratio := beta / alpha
	return fillWith(out, stream, w, func(int) T {
		x, y := a.Next(w.source), b.Next(w.source)
		if !small {
			return x / (x + y)
		}
		// Gammas of small parameters have most of their numbers next to 0: they are
		// products of larger ones with powers of uniform numbers, of which the larger
		// power becomes 1.
		lx, ly := T(-libstdcxx.Exponential(w.source, T(1))*ratio), -libstdcxx.Exponential(w.source, T(1))
		if lx < ly {
			x *= T(math.Exp(float64((lx - ly) / beta)))
		} else {
			y *= T(math.Exp(float64((ly - lx) / beta)))
		}
		return x / (x + y)
	})
}
