package random

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

var noiseModule = []string{"noise"}

// value is the constraint of types to which noise is added.
type value interface{ op.Integer | float32 }

func noiseInput() op.Port {
	return op.Port{Name: "data", Doc: "tensors of integers or float32", DTypes: numbers}
}

// inferNoise returns the spec of the input.
func inferNoise(c *op.Config, in tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(numbers, in.DType) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input data",
			Want: fmt.Sprint(numbers), Got: in.DType.String(), Remedy: "cast it"}
	}
	return []tensor.Spec{in}, nil
}

// pair returns the elements of a sample's input and of its output, which has the same shape.
func pair[T value](b *op.Block, s int) (in, out []T, err error) {
	t := b.In(0, s)
	if in, err = tensor.Of[T](t); err != nil {
		if in, err = tensor.Of[T](t.Clone()); err != nil { // not aligned in memory
			return nil, nil, err
		}
	}
	out, err = tensor.Of[T](b.Out(0, s, t.Shape...))
	return in, out, err
}

// convert rounds a number to an integer type, or keeps it as a float32.
func convert[T value](v float64) T {
	var zero T
	switch any(zero).(type) {
	case float32:
		return T(v)
	case uint8:
		return T(op.Round[uint8](v))
	case int8:
		return T(op.Round[int8](v))
	case uint16:
		return T(op.Round[uint16](v))
	case int16:
		return T(op.Round[int16](v))
	case uint32:
		return T(op.Round[uint32](v))
	case int32:
		return T(op.Round[int32](v))
	case uint64:
		return T(op.Round[uint64](v))
	}
	return T(op.Round[int64](v))
}

// extremes returns the numbers for black and white.
func extremes[T value]() (least, most T) {
	if one := T(1); one/2 != 0 {
		return T(-one), one
	}
	return convert[T](math.Inf(-1)), convert[T](math.Inf(1))
}

// pixels returns how many elements share a draw, and the distance between them in elements.
func pixels(t tensor.Tensor) (channels, stride int, err error) {
	last := len(t.Shape) - 1
	switch c := strings.IndexByte(t.Layout, 'C'); {
	case len(t.Shape) == 0:
		return 1, 1, nil
	case t.Layout == "", c == last:
		return t.Shape[last], 1, nil
	case c == 0:
		return t.Shape[0], t.Shape[1:].Len(), nil
	}
	return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "layout of the input", Want: "channels (C) first or last", Got: t.Layout,
		Remedy: "set per_channel"}
}

func init() {
	op.Register(op.Schema{
		Name: "gaussian", Module: noiseModule,
		Doc:     "Adds numbers from a normal distribution to tensors.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors like the input"}},
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
	add          func(k *gaussian, b *op.Block, s int, w *worker) error // for the type of the input; set by Infer
}

func (k *gaussian) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.add = element.Pick(in[0].DType, addGaussian[uint8], addGaussian[int8], addGaussian[uint16], addGaussian[int16],
		addGaussian[uint32], addGaussian[int32], addGaussian[uint64], addGaussian[int64], addGaussian[float32], nil)
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

func init() {
	op.Register(op.Schema{
		Name: "salt_and_pepper", Module: noiseModule,
		Doc:     "Sets random pixels to white or black, each with a given probability.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors like the input"}},
		Params: []op.Parameter{
			{Name: "prob", Type: op.Float, Default: 0.05, PerSample: true, Doc: "Probability that a pixel is set."},
			{Name: "salt_vs_pepper", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Probability that a pixel that is set becomes white."},
			{Name: "salt_val", Type: op.Float, PerSample: true, Doc: "The value of white; by default the largest integer, or 1 for floats."},
			{Name: "pepper_val", Type: op.Float, PerSample: true, Doc: "The value of black; by default the least integer, or -1 for floats."},
			{Name: "per_channel", Type: op.Bool, Default: false, Doc: "Whether to draw for every channel separately instead of for the whole pixel."},
			seedParam,
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			return op.Each(&saltAndPepper{
				config: c, prob: op.GetScalar[float64](c, "prob"), ratio: op.GetScalar[float64](c, "salt_vs_pepper"),
				salt: op.GetScalar[float64](c, "salt_val"), pepper: op.GetScalar[float64](c, "pepper_val"), perChannel: op.Get[bool](c, "per_channel"),
			}), nil
		},
	})
}

type saltAndPepper struct {
	config                    *op.Config
	prob, ratio, salt, pepper op.Scalar[float64]
	perChannel                bool
	set                       func(k *saltAndPepper, b *op.Block, s int) error // for the type of the input; set by Infer
}

func (k *saltAndPepper) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.set = element.Pick(in[0].DType, season[uint8], season[int8], season[uint16], season[int16],
		season[uint32], season[int32], season[uint64], season[int64], season[float32], nil)
	return inferNoise(k.config, in[0])
}

func (k *saltAndPepper) Sample(b *op.Block, s int) error { return k.set(k, b, s) }

// probability returns a number from 0 to 1, as float32.
func probability(p *op.Scalar[float64], name string, b *op.Block, s int) (float32, error) {
	v, err := p.At(b, s)
	if err == nil && !(v >= 0 && v <= 1) {
		err = invalid(name, "a number from 0 to 1", v)
	}
	return float32(v), err
}

// shade returns the value of pixels that are set, or def if none was given.
func shade[T value](c *op.Config, name string, p *op.Scalar[float64], b *op.Block, s int, def T) (T, error) {
	if !c.Has(name) {
		return def, nil
	}
	v, err := p.At(b, s)
	if _, float := any(def).(float32); float {
		return T(v), err
	}
	return T(int64(v)), err // truncated, modulo 2^bits, like C
}

func season[T value](k *saltAndPepper, b *op.Block, s int) error {
	prob, err := probability(&k.prob, "prob", b, s)
	if err != nil {
		return err
	}
	ratio, err := probability(&k.ratio, "salt_vs_pepper", b, s)
	if err != nil {
		return err
	}
	black, white := extremes[T]()
	if white, err = shade(k.config, "salt_val", &k.salt, b, s, white); err != nil {
		return err
	}
	if black, err = shade(k.config, "pepper_val", &k.pepper, b, s, black); err != nil {
		return err
	}
	channels, stride := 1, 1
	if !k.perChannel {
		if channels, stride, err = pixels(b.In(0, s)); err != nil {
			return err
		}
	}
	in, out, err := pair[T](b, s)
	if err != nil || len(out) == 0 {
		return err
	}
	copy(out, in)
	stream, salt := b.RNG(s), prob*ratio
	step := channels
	if stride > 1 {
		step = 1
	}
	for pixel := range len(out) / channels {
		p := rng.Element(stream, pixel)
		u := rng.Uniform32(&p, 0, 1)
		if u >= prob {
			continue
		}
		v := black
		if u < salt {
			v = white
		}
		for c := range channels {
			out[pixel*step+c*stride] = v
		}
	}
	return nil
}

func init() {
	op.Register(op.Schema{
		Name: "shot", Module: noiseModule,
		Doc:     "Replaces each value by a number from a Poisson distribution whose mean is the value, like the noise of few photons.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors like the input"}},
		Params: []op.Parameter{
			{Name: "factor", Type: op.Float, Default: 20.0, PerSample: true, Doc: "Value of one photon: larger values give more noise. With 0 or less all results are 0."},
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
	count  func(k *shot, b *op.Block, s int, w *worker) error // for the type of the input; set by Infer
}

func (k *shot) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.count = element.Pick(in[0].DType, countPhotons[uint8], countPhotons[int8], countPhotons[uint16], countPhotons[int16],
		countPhotons[uint32], countPhotons[int32], countPhotons[uint64], countPhotons[int64], countPhotons[float32], nil)
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
		if !(mean <= math.MaxUint32) { // no count of such a mean fits, so the draw would never end
			return &errs.Error{Kind: errs.Invalid, Op: "noise.shot", Subject: fmt.Sprintf("element %d", e), Want: "a number, at most 2^32 times the factor", Got: fmt.Sprint(in[e])}
		}
		w.philox = rng.Element(stream, e)
		w.poisson.Reset(mean)
		out[e] = convert[T](float64(float32(w.poisson.Next(w.source)) * factor))
	}
	return nil
}
