package random

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "uniform", Module: []string{"random"},
		Doc:     "Draws numbers evenly from a range, whose end is excluded, or from a list of values.",
		Inputs:  []op.Port{shapeLike()},
		Outputs: []op.Port{{Name: "numbers", Doc: "numbers"}},
		Params: distributionParams(
			op.Parameter{Name: "range", Type: op.Floats, Default: []float64{-1, 1}, PerSample: true, Doc: "First number and the one after the last."},
			op.Parameter{Name: "values", Type: op.Floats, PerSample: true, Doc: "The values to choose from, all as likely; range is not used then."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: float32, the default, float64 or an integer, to which numbers are rounded."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &uniform{limits: op.GetVector[float64](c, "range"), values: op.GetVector[float64](c, "values"), choose: c.Has("values")}
			if v, constant := k.limits.Const(); constant && !k.choose && !isRange(v) {
				return nil, c.Invalid("range", wantRange, fmt.Sprint(v), "")
			}
			if v, constant := k.values.Const(); constant && k.choose && len(v) == 0 {
				return nil, c.Invalid("values", "at least one", "none", "")
			}
			var err error
			if k.dtype, err = dtypeOf(c, tensor.Float32, append(numbers, tensor.Float64)...); err != nil {
				return nil, err
			}
			k.extent, err = newExtent(c, 0)
			return k, err
		},
	})
}

const wantRange = "two finite float32 numbers in rising order"

func isRange(v []float64) bool {
	return len(v) == 2 && float32(v[0]) < float32(v[1]) && math.Abs(v[0]) <= math.MaxFloat32 && math.Abs(v[1]) <= math.MaxFloat32
}

type uniform struct {
	limits, values op.Vector[float64]
	choose         bool
	dtype          tensor.DType
	extent         extent
}

func (k *uniform) Grain() op.Grain { return op.PerSample }

func (k *uniform) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.extent.infer(in)}}, nil
}

func (k *uniform) Run(b *op.Block) error { return perSample(b, k.sample) }

func (k *uniform) sample(b *op.Block, s int, w *worker) error {
	shape, err := k.extent.at(b, s, &w.shape)
	if err != nil {
		return err
	}
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
			return invalid("values", "at least one", "none")
		}
		choose := func(int) float32 { return float32(v[rng.Index(&w.philox, uint32(len(v)))]) }
		return fill(out, b.RNG(s), w, choose, func(e int) float64 { return float64(choose(e)) })
	}
	if !isRange(v) {
		return invalid("range", wantRange, v)
	}
	lo, hi := limit(k.dtype, float64(float32(v[0]))), limit(k.dtype, float64(float32(v[1])))
	return fill(out, b.RNG(s), w,
		func(int) float32 { return rng.Uniform32(&w.philox, float32(lo), float32(hi)) },
		func(int) float64 { return rng.Uniform64(&w.philox, lo, hi) })
}
