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
		Name: "shot", Module: noiseModule,
		Doc:     "Replaces values by numbers of a Poisson distribution with that mean, as light that comes in few photons does.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors as the input"}},
		Params: []op.Parameter{
			{Name: "factor", Type: op.Float, Default: 20.0, PerSample: true, Doc: "How much a photon makes: the larger, the more noise. With 0 or less everything becomes 0."},
			seedParam,
		},
		Random:    true,
		Precision: op.Tolerance,
		New: func(c *op.Config) (op.Kernel, error) {
			return &shot{config: c, factor: op.GetScalar[float64](c, "factor")}, nil
		},
	})
}

type shot struct {
	config *op.Config
	factor op.Scalar[float64]
	count  func(k *shot, b *op.Block, s int, w *worker) error // for the type, known from Infer on
}

func (k *shot) Grain() op.Grain { return op.PerSample }

func (k *shot) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.count = pick(in[0].DType, countPhotons[uint8], countPhotons[int8], countPhotons[uint16], countPhotons[int16],
		countPhotons[uint32], countPhotons[int32], countPhotons[uint64], countPhotons[int64], countPhotons[float32])
	return inferNoise(k.config, in[0])
}

func (k *shot) Run(b *op.Block) error {
	return perSample(b, func(b *op.Block, s int, w *worker) error { return k.count(k, b, s, w) })
}

func countPhotons[T value](k *shot, b *op.Block, s int, w *worker) error {
	v, err := k.factor.At(b, s)
	if err != nil {
		return err
	}
	in, out, err := pair[T](b, s)
	if err != nil {
		return err
	}
	factor, stream := float32(v), b.RNG(s)
	if !(factor > 0) {
		clear(out)
		return nil
	}
	inverse := 1 / factor
	for e := range out {
		mean := float64(max(0, float32(in[e])*inverse))
		if !(mean <= math.MaxUint32) { // of which no count fits, so that none would ever be drawn
			return &errs.Error{Kind: errs.Invalid, Op: "noise.shot", Subject: fmt.Sprintf("element %d", e), Want: "a number, at most 2^32 times the factor", Got: fmt.Sprint(in[e])}
		}
		w.philox = rng.Element(stream, e)
		w.poisson.Reset(mean)
		out[e] = convert[T](float64(float32(w.poisson.Next(w.source)) * factor))
	}
	return nil
}
