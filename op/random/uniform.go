package random

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "uniform", Module: []string{"random"},
		Doc:     "Draws numbers evenly from a range, whose end is excluded, or from a list of values.",
		Outputs: []op.Port{{Name: "numbers", Doc: "float32 numbers"}},
		Params: commonParams(
			op.Parameter{Name: "range", Type: op.Floats, Default: []float64{-1, 1}, PerSample: true, Doc: "First number and the one after the last."},
			op.Parameter{Name: "values", Type: op.Floats, PerSample: true, Doc: "The values to choose from, all as likely; range is not used then."},
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type: float32."},
		),
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			k := &uniform{config: c, limits: op.GetVector[float64](c, "range"), values: op.GetVector[float64](c, "values"), choose: c.Has("values")}
			if v, constant := k.limits.Const(); constant {
				if err := checkRange(v); err != nil {
					return nil, c.Invalid("range", "two finite numbers in rising order", fmt.Sprint(v), "")
				}
			}
			if v, constant := k.values.Const(); constant && k.choose && len(v) == 0 {
				return nil, c.Invalid("values", "at least one", "none", "")
			}
			if _, err := dtypeOf(c, tensor.Float32); err != nil {
				return nil, err
			}
			var err error
			k.shape, err = shapeOf(c)
			return k, err
		},
	})
}

func checkRange(v []float64) error {
	if len(v) == 2 && v[0] <= v[1] && !math.IsInf(v[0], 0) && !math.IsInf(v[1], 0) {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "argument range", Want: "two finite numbers in rising order", Got: fmt.Sprint(v)}
}

type uniform struct {
	config         *op.Config
	limits, values op.Vector[float64]
	choose         bool
	shape          tensor.Shape
}

func (k *uniform) Grain() op.Grain { return op.PerSample }

func (k *uniform) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Float32, Shape: k.shape}}, nil
}

func (k *uniform) Run(b *op.Block) error {
	buf := op.PerWorker[[]float64](b)
	for s := range b.Len() {
		if err := k.sample(b, s, buf); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *uniform) sample(b *op.Block, s int, buf *[]float64) error {
	out, err := tensor.Of[float32](b.Out(0, s, k.shape...))
	if err != nil {
		return err
	}
	from := &k.limits
	if k.choose {
		from = &k.values
	}
	v, err := from.At(b, s, *buf)
	if err != nil {
		return err
	}
	if _, constant := from.Const(); !constant {
		*buf = v
	}
	r := b.RNG(s)
	if k.choose {
		if len(v) == 0 {
			return &errs.Error{Kind: errs.Invalid, Subject: "argument values", Want: "at least one", Got: "none"}
		}
		for i := range out {
			out[i] = float32(v[uint64(r.Uint32())*uint64(len(v))>>32])
		}
		return nil
	}
	if err := checkRange(v); err != nil {
		return err
	}
	fillUniform(out, float32(v[0]), float32(v[1]), &r)
	return nil
}

// fillUniform maps 32 random bits onto [lo, hi) in float32, as DALI does.
func fillUniform(out []float32, lo, hi float32, r *rng.Philox) {
	last := math.Nextafter32(hi, lo)
	step := float64((last - lo) * 0x1p-32)
	for i := range out {
		// The product of two float32 is exact in float64: one rounding, as a fused multiply-add has.
		v := float32(float64(float32(r.Uint32()))*step + float64(lo))
		out[i] = min(v, last)
	}
}
