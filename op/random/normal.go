package random

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "normal", Module: []string{"random"},
		Doc:     "Draws numbers of a normal distribution.",
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
			var err error
			if k.dtype, err = dtypeOf(c, tensor.Float32, append(numbers, tensor.Float64)...); err != nil {
				return nil, err
			}
			k.extent, err = newExtent(c, 0)
			return k, err
		},
	})
}

type normal struct {
	mean, stddev op.Scalar[float64]
	dtype        tensor.DType
	extent       extent
}

func (k *normal) Grain() op.Grain { return op.PerSample }

func (k *normal) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: k.dtype, Shape: k.extent.infer(in)}}, nil
}

func (k *normal) Run(b *op.Block) error { return perSample(b, k.sample) }

func (k *normal) sample(b *op.Block, s int, w *worker) error {
	shape, err := k.extent.at(b, s, &w.shape)
	if err != nil {
		return err
	}
	mean, stddev, err := moments(b, s, &k.mean, &k.stddev)
	if err != nil {
		return err
	}
	return fill(b.Out(0, s, shape...), b.RNG(s), w,
		func(int) float32 { return rng.Normal32(&w.philox, mean, stddev) },
		func(int) float64 { return rng.Normal64(&w.philox, float64(mean), float64(stddev)) })
}

// moments returns mean and standard deviation for a sample, as float32.
func moments(b *op.Block, s int, mean, stddev *op.Scalar[float64]) (m, d float32, err error) {
	x, err := mean.At(b, s)
	if err != nil {
		return 0, 0, err
	}
	y, err := stddev.At(b, s)
	return float32(x), float32(y), err
}
