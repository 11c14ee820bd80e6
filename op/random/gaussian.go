package random

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "gaussian", Module: noiseModule,
		Doc:     "Adds numbers of a normal distribution to tensors.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors as the input"}},
		Params: []op.Parameter{
			{Name: "mean", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Mean of the numbers."},
			{Name: "stddev", Type: op.Float, Default: 1.0, PerSample: true, Doc: "Standard deviation of the numbers."},
			seedParam,
		},
		Random:    true,
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			return &gaussian{config: c, mean: op.GetScalar[float64](c, "mean"), stddev: op.GetScalar[float64](c, "stddev")}, nil
		},
	})
}

type gaussian struct {
	config       *op.Config
	mean, stddev op.Scalar[float64]
	add          func(k *gaussian, b *op.Block, s int, w *worker) error // for the type, known from Infer on
}

func (k *gaussian) Grain() op.Grain { return op.PerSample }

func (k *gaussian) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.add = pick(in[0].DType, addGaussian[uint8], addGaussian[int8], addGaussian[uint16], addGaussian[int16],
		addGaussian[uint32], addGaussian[int32], addGaussian[uint64], addGaussian[int64], addGaussian[float32])
	return inferNoise(k.config, in[0])
}

func (k *gaussian) Run(b *op.Block) error {
	return perSample(b, func(b *op.Block, s int, w *worker) error { return k.add(k, b, s, w) })
}

func addGaussian[T value](k *gaussian, b *op.Block, s int, w *worker) error {
	mean, stddev, err := moments(b, s, &k.mean, &k.stddev)
	if err != nil {
		return err
	}
	in, out, err := pair[T](b, s)
	stream, double := b.RNG(s), wide(b.In(0, s).DType)
	for e := range out {
		p := rng.Element(stream, e)
		if double {
			out[e] = convert[T](float64(in[e]) + rng.Normal64(&p, float64(mean), float64(stddev)))
		} else {
			out[e] = convert[T](float64(float32(in[e]) + rng.Normal32(&p, mean, stddev)))
		}
	}
	return err
}
