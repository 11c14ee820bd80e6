package random

import (
	"fmt"
	"github.com/bivouac-ml/bivouac/internal/libm"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	registerTwice("uniform", op.Schema{
		Name: "uniform", Module: []string{"random"},
		Doc:     "Draws numbers evenly from a range without its end, or from a list of values.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "numbers", Doc: "numbers"}},
		Params: distributionParams(
			op.Parameter{Name: "range", Type: op.Floats, Default: []float64{-1, 1}, PerSample: true, Doc: "Start and end of the range. The end is excluded."},
			op.Parameter{Name: "values", Type: op.Floats, PerSample: true, Doc: "The values to choose from, all equally likely. If they are given, range is not used."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: float32, the default, float64 or an integer, to which numbers are rounded."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &uniform{limits: op.GetVector[float64](c, "range"), values: op.GetVector[float64](c, "values"), choose: c.Has("values")}
			if v, constant := k.limits.Const(); constant && !k.choose && !isRange(v) {
				return nil, c.Invalid("range", wantRange, fmt.Sprint(v), "")
			}
			if v, constant := k.values.Const(); constant && k.choose && len(v) == 0 {
				return nil, c.Invalid("values", "at least one value", "no value", "")
			}
			return newDistribution(c, k.draw, tensor.Float32, append(numbers, tensor.Float64)...)
		},
	})
}

const wantRange = "two finite float32 numbers in ascending order"

func isRange(v []float64) bool {
	return len(v) == 2 && float32(v[0]) < float32(v[1]) && math.Abs(v[0]) <= math.MaxFloat32 && math.Abs(v[1]) <= math.MaxFloat32
}

type uniform struct {
	limits, values op.Vector[float64]
	choose         bool
}

func (k *uniform) draw(b *op.Block, s int, shape tensor.Shape, w *worker) error {
	out := b.Out(0, s, shape...)
	from := &k.limits
	if k.choose {
		from = &k.values
	}
	v, err := from.At(b, s, w.floats)
	if err != nil {
		return err
	}
	if _, constant := from.Const(); !constant {
		w.floats = v
	}
	if k.choose {
		if len(v) == 0 {
			return invalid("values", "at least one value", "no value")
		}
		choose := func(int) float32 { return float32(v[rng.Index(&w.philox, uint32(len(v)))]) }
		return fill(out, b.RNG(s), w, choose, func(e int) float64 { return float64(choose(e)) })
	}
	if !isRange(v) {
		return invalid("range", wantRange, v)
	}
	lo, hi := limit(out.DType, float64(float32(v[0]))), limit(out.DType, float64(float32(v[1])))
	return fill(out, b.RNG(s), w,
		func(int) float32 { return rng.Uniform32(&w.philox, float32(lo), float32(hi)) },
		func(int) float64 { return rng.Uniform64(&w.philox, lo, hi) })
}

func init() {
	registerTwice("normal_distribution", op.Schema{
		Name: "normal", Module: []string{"random"},
		Doc:     "Draws numbers from a normal distribution.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "numbers", Doc: "numbers"}},
		Params: distributionParams(
			op.Parameter{Name: "mean", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Mean of the distribution."},
			op.Parameter{Name: "stddev", Type: op.Float, Default: 1.0, PerSample: true, Doc: "Standard deviation of the distribution."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: float32, the default, float64 or an integer, to which numbers are rounded."},
		),
		Random:    true,
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &normal{mean: op.GetScalar[float64](c, "mean"), stddev: op.GetScalar[float64](c, "stddev")}
			return newDistribution(c, k.draw, tensor.Float32, append(numbers, tensor.Float64)...)
		},
	})
}

type normal struct {
	mean, stddev op.Scalar[float64]
}

func (k *normal) draw(b *op.Block, s int, shape tensor.Shape, w *worker) error {
	mean, stddev, err := moments(b, s, &k.mean, &k.stddev)
	if err != nil {
		return err
	}
	return fill(b.Out(0, s, shape...), b.RNG(s), w,
		func(int) float32 { return rng.Normal32(&w.philox, mean, stddev) },
		func(int) float64 { return rng.Normal64(&w.philox, float64(mean), float64(stddev)) })
}

// moments returns mean and standard deviation of a sample as float32.
func moments(b *op.Block, s int, mean, stddev *op.Scalar[float64]) (m, d float32, err error) {
	x, err := mean.At(b, s)
	if err != nil {
		return 0, 0, err
	}
	y, err := stddev.At(b, s)
	return float32(x), float32(y), err
}

func init() {
	op.Register(op.Schema{
		Name: "beta", Module: []string{"random"},
		Doc:     "Draws numbers between 0 and 1 from a beta distribution.",
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
			return newDistribution(c, k.draw, tensor.Float32, tensor.Float32, tensor.Float64)
		},
	})
}

func isPositive(v float64) bool { return float32(v) > 0 && v <= math.MaxFloat32 }

type beta struct {
	alpha, beta op.Scalar[float64]
}

func (k *beta) draw(b *op.Block, s int, shape tensor.Shape, w *worker) error {
	x, y, err := moments(b, s, &k.alpha, &k.beta)
	if err != nil {
		return err
	}
	if !isPositive(float64(x)) || !isPositive(float64(y)) {
		return invalid("alpha or beta", "a positive float32 number", fmt.Sprint(x, " ", y))
	}
	out := b.Out(0, s, shape...)
	if out.DType == tensor.Float64 {
		return fillBeta(out, b.RNG(s), w, float64(x), float64(y))
	}
	return fillBeta(out, b.RNG(s), w, x, y)
}

// fillBeta draws each number from two numbers of gamma distributions. Their state, a number of a
// normal distribution, lasts for the whole sample.
// exp is the exponential of the C library.
func exp[T interface{ float32 | float64 }](x T) T {
	if single, ok := any(x).(float32); ok {
		return T(libm.Exp(single))
	}
	return T(math.Exp(float64(x)))
}

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
		// Gamma distributions with small parameters have most of their numbers near 0. Such numbers are
		// products of larger gamma numbers and powers of uniform numbers; both are scaled so that the
		// larger power is 1.
		lx, ly := T(-libstdcxx.Exponential(w.source, T(1))*ratio), -libstdcxx.Exponential(w.source, T(1))
		if lx < ly {
			x *= exp((lx - ly) / beta)
		} else {
			y *= exp((ly - lx) / beta)
		}
		return x / (x + y)
	})
}

func init() {
	registerTwice("coin_flip", op.Schema{
		Name: "coin_flip", Module: []string{"random"},
		Doc:     "Draws 1 with a given probability, and 0 otherwise.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "flips", Doc: "zeros and ones"}},
		Params: distributionParams(
			op.Parameter{Name: "probability", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Probability of 1. As in DALI, a number below 0 means 0, and a number above 1 means 1."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: int32, the default, bool or uint8."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &coinFlip{probability: op.GetScalar[float64](c, "probability")}
			if p, constant := k.probability.Const(); constant && p != p {
				return nil, c.Invalid("probability", "a number", "NaN", "")
			}
			return newDistribution(c, k.draw, tensor.Int32, tensor.Int32, tensor.Bool, tensor.Uint8)
		},
	})
}

type coinFlip struct {
	probability op.Scalar[float64]
}

func (k *coinFlip) draw(b *op.Block, s int, shape tensor.Shape, w *worker) error {
	p, err := k.probability.At(b, s)
	if err != nil {
		return err
	}
	if p != p {
		return invalid("probability", "a number", p)
	}
	out, stream := b.Out(0, s, shape...), b.RNG(s)
	size := out.DType.Size()
	clear(out.Data)
	for e := range out.Shape.Len() {
		element := rng.Element(stream, e)
		if rng.Flip(&element, float32(p)) {
			out.Data[e*size] = 1 // little-endian
		}
	}
	return nil
}
