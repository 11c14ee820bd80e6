package random

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "salt_and_pepper", Module: noiseModule,
		Doc:     "Sets pixels, drawn with a given probability, to white or black.",
		Inputs:  []op.Port{noiseInput()},
		Outputs: []op.Port{{Name: "noisy", Doc: "tensors as the input"}},
		Params: []op.Parameter{
			{Name: "prob", Type: op.Float, Default: 0.05, PerSample: true, Doc: "Probability that a pixel is set."},
			{Name: "salt_vs_pepper", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Probability that what is set becomes white."},
			{Name: "salt_val", Type: op.Float, PerSample: true, Doc: "White: by default the largest integer, or 1."},
			{Name: "pepper_val", Type: op.Float, PerSample: true, Doc: "Black: by default the least integer, or -1."},
			{Name: "per_channel", Type: op.Bool, Default: false, Doc: "Draws for every channel by itself, not for the pixel as a whole."},
			seedParam,
		},
		Random: true,
		New: func(c *op.Config) (op.Kernel, error) {
			return &saltAndPepper{
				config: c, prob: op.GetScalar[float64](c, "prob"), ratio: op.GetScalar[float64](c, "salt_vs_pepper"),
				salt: op.GetScalar[float64](c, "salt_val"), pepper: op.GetScalar[float64](c, "pepper_val"), perChannel: op.Get[bool](c, "per_channel"),
			}, nil
		},
	})
}

type saltAndPepper struct {
	config                    *op.Config
	prob, ratio, salt, pepper op.Scalar[float64]
	perChannel                bool
	set                       func(k *saltAndPepper, b *op.Block, s int) error // for the type, known from Infer on
}

func (k *saltAndPepper) Grain() op.Grain { return op.PerSample }

func (k *saltAndPepper) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	k.set = pick(in[0].DType, season[uint8], season[int8], season[uint16], season[int16],
		season[uint32], season[int32], season[uint64], season[int64], season[float32])
	return inferNoise(k.config, in[0])
}

func (k *saltAndPepper) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.set(k, b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

// probability returns a number from 0 to 1, as float32.
func probability(p *op.Scalar[float64], name string, b *op.Block, s int) (float32, error) {
	v, err := p.At(b, s)
	if err == nil && !(v >= 0 && v <= 1) {
		err = invalid(name, "a number from 0 to 1", v)
	}
	return float32(v), err
}

// shade returns the value of what is set, def where none was given.
func shade[T value](c *op.Config, name string, p *op.Scalar[float64], b *op.Block, s int, def T) (T, error) {
	if !c.Has(name) {
		return def, nil
	}
	v, err := p.At(b, s)
	if _, float := any(def).(float32); float {
		return T(v), err
	}
	return T(int64(v)), err // cut off, modulo 2^bits: as C does
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
