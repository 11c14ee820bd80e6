package audio

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/internal/sound"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const rangedDoc = "uint8, int8, uint16, int16, uint32, int32 or float32"

func init() {
	for _, module := range [][]string{nil, {"experimental"}} {
		s := op.Schema{
			Name: "audio_resample", Module: module,
			Doc: "Resamples signals with a windowed sinc. The scale is given, or follows from rates or from the length of the output. " +
				"The filter does not become wider for a smaller rate: frequencies above half of the new rate are folded back.",
			Inputs:  []op.Port{{Name: "signal", Doc: "a signal [time] or [time, channels]: " + rangedDoc}},
			Outputs: []op.Port{{Name: "resampled", Doc: "the signal at the new rate"}},
			Params: []op.Parameter{
				{Name: "dtype", Type: op.DType,
					Doc: "Type of the output, by default the type of the input. Integers stand for -1 to 1; 0 is the middle of an unsigned type."},
				{Name: "in_rate", Type: op.Float, PerSample: true, Doc: "Rate of the input, given together with out_rate."},
				{Name: "out_length", Type: op.Int, PerSample: true, Doc: "Number of elements of the output."},
				{Name: "out_rate", Type: op.Float, PerSample: true, Doc: "Rate of the output, given together with in_rate."},
				{Name: "quality", Type: op.Float, Default: 50.0,
					Doc: "Quality from 0, a filter of 3 lobes, to 100, a filter of 64 lobes."},
				{Name: "scale", Type: op.Float, PerSample: true, Doc: "Elements of the output per element of the input."},
			},
			Precision: op.Tolerance,
			New:       newResample,
		}
		if module != nil {
			s.Deprecated = "use audio_resample"
		}
		op.Register(s)
	}
}

func newResample(c *op.Config) (op.Kernel, error) {
	k := &resample{config: c, dtype: op.Get[tensor.DType](c, "dtype"), hasScale: c.Has("scale"),
		hasLength: c.Has("out_length"),
		scale:     op.GetScalar[float64](c, "scale"), length: op.GetScalar[int](c, "out_length"),
		inRate: op.GetScalar[float64](c, "in_rate"), outRate: op.GetScalar[float64](c, "out_rate")}
	rates := c.Has("in_rate") || c.Has("out_rate")
	given := 0
	for _, set := range []bool{rates, k.hasScale, k.hasLength} {
		if set {
			given++
		}
	}
	switch {
	case c.Has("in_rate") != c.Has("out_rate"):
		return nil, c.Invalid("in_rate", "in_rate and out_rate", "one of them", "")
	case given != 1:
		return nil, c.Invalid("scale", "scale, out_length, or both rates", fmt.Sprintf("%d of them", given),
			"give one of them")
	case c.Given("dtype") && !ranged(k.dtype):
		return nil, c.Unsupported("dtype", rangedDoc, k.dtype.String())
	}
	quality := op.Get[float64](c, "quality")
	var err error
	if k.filter, err = sound.NewFilter(quality); err != nil {
		return nil, c.Invalid("quality", "a number from 0 to 100", fmt.Sprint(quality), "")
	}
	return op.Each(k), nil
}

type resample struct {
	config                 *op.Config
	dtype                  tensor.DType
	hasScale, hasLength    bool
	scale, inRate, outRate op.Scalar[float64]
	length                 op.Scalar[int]
	filter                 *sound.Filter
}

func (k *resample) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if !ranged(in[0].DType) {
		return nil, badInput(k.config, rangedDoc, in[0].DType.String(), "cast the input")
	}
	if n := len(in[0].Shape); n > 2 {
		return nil, k.config.InvalidInput(0, "time, and maybe channels", fmt.Sprintf("%d axes", n), "")
	}
	out := like(in[0], 0, -1)
	if out[0].DType = k.dtype; k.dtype == tensor.Invalid {
		out[0].DType = in[0].DType
	}
	return out, nil
}

// target returns the length of the output of sample s, and input elements per output element.
func (k *resample) target(b *op.Block, s, n int) (length int, rate float64, err error) {
	if k.hasLength {
		if length, err = k.length.At(b, s); err != nil {
			return 0, 0, err
		}
		if length < 0 {
			return 0, 0, k.config.Invalid("out_length", "at least 0", fmt.Sprint(length), "")
		}
		return length, float64(n) / float64(length), nil
	}
	in, out := 1.0, 1.0
	if k.hasScale {
		if out, err = k.scale.At(b, s); err != nil {
			return 0, 0, err
		}
		out = float64(float32(out))
		if !(out >= 0) || math.IsInf(out, 0) {
			return 0, 0, k.config.Invalid("scale", "at least 0", fmt.Sprint(out), "")
		}
	} else {
		if in, err = k.inRate.At(b, s); err == nil {
			out, err = k.outRate.At(b, s)
		}
		in, out = float64(float32(in)), float64(float32(out))
		switch {
		case err != nil:
			return 0, 0, err
		case !(in > 0) || math.IsInf(in, 0):
			return 0, 0, k.config.Invalid("in_rate", "more than 0", fmt.Sprint(in), "")
		case !(out >= 0) || math.IsInf(out, 0):
			return 0, 0, k.config.Invalid("out_rate", "at least 0", fmt.Sprint(out), "")
		}
	}
	elements := math.Ceil(float64(n) * (out / in))
	if elements > math.MaxInt32 {
		return 0, 0, k.config.Invalid("scale", fmt.Sprintf("an output of at most %d elements", math.MaxInt32),
			fmt.Sprint(elements), "")
	}
	return int(elements), in / out, nil
}

func (k *resample) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	n, channels := 1, 1
	switch len(in.Shape) {
	case 0:
	case 1:
		n = in.Shape[0]
	case 2:
		n, channels = in.Shape[0], in.Shape[1]
	default:
		return badSample("time, and maybe channels", in.String(), "")
	}
	length, rate, err := k.target(b, s, n)
	if err != nil {
		return err
	}
	if n == 0 && length > 0 {
		return badSample("at least one element", in.String(), "an empty signal becomes an empty signal only")
	}
	shape := [2]int{length, channels}
	out := b.Out(0, s, shape[:max(1, len(in.Shape))]...)
	if out.Len() == 0 {
		return nil
	}
	from := op.Scratch[float32](b, in.Len())
	if err := widen(from, in, out.DType); err != nil {
		return err
	}
	if out.DType == tensor.Float32 {
		to, err := tensor.Of[float32](out)
		k.filter.Resample(to, from, channels, rate)
		return err
	}
	to := op.Scratch[float32](b, out.Len())
	k.filter.Resample(to, from, channels, rate)
	return narrow(out, to)
}

// ranged reports whether samples of type d have a range that stands for -1 to 1.
func ranged(d tensor.DType) bool {
	switch d {
	case tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Float32:
		return true
	}
	return false
}

// widen writes samples as numbers in the range of a target type.
func widen(to []float32, from tensor.Tensor, target tensor.DType) error {
	unsigned := target == tensor.Uint8 || target == tensor.Uint16 || target == tensor.Uint32
	switch from.DType {
	case tensor.Uint8:
		return widenOf[uint8](to, from, unsigned)
	case tensor.Int8:
		return widenOf[int8](to, from, unsigned)
	case tensor.Uint16:
		return widenOf[uint16](to, from, unsigned)
	case tensor.Int16:
		return widenOf[int16](to, from, unsigned)
	case tensor.Uint32:
		return widenOf[uint32](to, from, unsigned)
	case tensor.Int32:
		return widenOf[int32](to, from, unsigned)
	}
	v, err := tensor.Of[float32](from)
	if !unsigned {
		copy(to, v)
		return err
	}
	for i, x := range v {
		to[i] = float32(x*0.5) + 0.5
	}
	return err
}

func widenOf[T sound.Integer](to []float32, from tensor.Tensor, unsigned bool) error {
	v, err := tensor.Of[T](from)
	sound.Widen(to, v, unsigned)
	return err
}

// narrow writes numbers in the range of the type of to.
func narrow(to tensor.Tensor, from []float32) error {
	switch to.DType {
	case tensor.Uint8:
		return narrowOf[uint8](to, from)
	case tensor.Int8:
		return narrowOf[int8](to, from)
	case tensor.Uint16:
		return narrowOf[uint16](to, from)
	case tensor.Int16:
		return narrowOf[int16](to, from)
	case tensor.Uint32:
		return narrowOf[uint32](to, from)
	}
	return narrowOf[int32](to, from)
}

func narrowOf[T sound.Integer](to tensor.Tensor, from []float32) error {
	v, err := tensor.Of[T](to)
	if err == nil {
		sound.Narrow(v, from)
	}
	return err
}
