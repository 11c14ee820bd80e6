package image

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "brightness_contrast",
		Doc: "Changes brightness and contrast: brightness_shift * range + brightness * (contrast_center + contrast * (in - contrast_center)), " +
			"where range is 1 for floats and the largest value of the output type otherwise.",
		Inputs:  []op.Port{{Name: "images", Doc: "images, uint8 or float32, of any layout", DTypes: []tensor.DType{tensor.Uint8, tensor.Float32}}},
		Outputs: []op.Port{{Name: "adjusted", Doc: "images of the same shape"}},
		Params: []op.Parameter{
			{Name: "brightness", Type: op.Float, Default: 1.0, PerSample: true, Doc: "Brightness factor."},
			{Name: "brightness_shift", Type: op.Float, Default: 0.0, PerSample: true, Doc: "What is added, in units of the output range."},
			{Name: "contrast", Type: op.Float, Default: 1.0, PerSample: true, Doc: "Contrast factor; 0 gives contrast_center everywhere."},
			{Name: "contrast_center", Type: op.Float, PerSample: true, Doc: "The value that contrast leaves alone; by default 128 for uint8, 0.5 for floats."},
			{Name: "dtype", Type: op.DType, Doc: "Output type, uint8 or float32; by default that of the input."},
		},
		Precision: op.Exact,
		New:       newBrightnessContrast,
	})
}

type brightnessContrast struct {
	config                              *op.Config
	brightness, shift, contrast, center op.Scalar[float64]
	centered                            bool
	dtype                               tensor.DType
}

func newBrightnessContrast(c *op.Config) (op.Kernel, error) {
	k := &brightnessContrast{
		config:     c,
		brightness: op.GetScalar[float64](c, "brightness"), shift: op.GetScalar[float64](c, "brightness_shift"),
		contrast: op.GetScalar[float64](c, "contrast"), center: op.GetScalar[float64](c, "contrast_center"),
		centered: c.Has("contrast_center"), dtype: op.Get[tensor.DType](c, "dtype"),
	}
	if k.dtype != tensor.Invalid && k.dtype != tensor.Uint8 && k.dtype != tensor.Float32 {
		return nil, c.Unsupported("dtype", "uint8 or float32", k.dtype.String())
	}
	return k, nil
}

func (k *brightnessContrast) Grain() op.Grain { return op.PerSample }

func (k *brightnessContrast) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out := in[0]
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	return []tensor.Spec{out}, nil
}

// line is the operator for one sample: in * factor + offset.
type line struct{ factor, offset float32 }

func (k *brightnessContrast) line(b *op.Block, s int, in, out tensor.DType) (line, error) {
	center, span := 0.5, 1.0
	if in == tensor.Uint8 {
		center = 128
	}
	if out == tensor.Uint8 {
		span = 255
	}
	var v [4]float64
	for i, p := range [...]*op.Scalar[float64]{&k.brightness, &k.shift, &k.contrast, &k.center} {
		var err error
		if v[i], err = p.At(b, s); err != nil {
			return line{}, err
		}
	}
	if k.centered {
		center = v[3]
	}
	bright, shift, contrast, mid := float32(v[0]), float32(v[1]), float32(v[2]), float32(center)
	keep := mid - float32(contrast*mid)
	return line{factor: bright * contrast, offset: float32(bright*keep) + float32(shift*float32(span))}, nil
}

func (l line) at(v float32) float32 { return float32(v*l.factor) + l.offset }

func (k *brightnessContrast) Run(b *op.Block) error {
	for s := range b.Len() {
		if err := k.sample(b, s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

func (k *brightnessContrast) sample(b *op.Block, s int) error {
	in := b.In(0, s)
	dtype := in.DType
	if k.dtype != tensor.Invalid {
		dtype = k.dtype
	}
	l, err := k.line(b, s, in.DType, dtype)
	if err != nil {
		return err
	}
	if l == (line{factor: 1}) && dtype == in.DType {
		b.Alias(0, s, in)
		return nil
	}
	out := b.Out(0, s, in.Shape...)
	if in.DType == tensor.Uint8 {
		return l.fromBytes(out, in.Data)
	}
	src, err := floats(in)
	if err != nil {
		return err
	}
	if dtype == tensor.Uint8 {
		for i, v := range src {
			out.Data[i] = op.Round[uint8](float64(l.at(v)))
		}
		return nil
	}
	dst, err := floats(out)
	if err != nil {
		return err
	}
	for i, v := range src {
		dst[i] = l.at(v)
	}
	return nil
}

// fromBytes goes through a table of the 256 values.
func (l line) fromBytes(out tensor.Tensor, in []byte) error {
	switch out.DType {
	case tensor.Uint8:
		var table [256]uint8
		for i := range table {
			table[i] = op.Round[uint8](float64(l.at(float32(i))))
		}
		dst := out.Data[:len(in)]
		for i, v := range in {
			dst[i] = table[v]
		}
		return nil
	case tensor.Float32:
		dst, err := floats(out)
		if err != nil {
			return err
		}
		var table [256]float32
		for i := range table {
			table[i] = l.at(float32(i))
		}
		dst = dst[:len(in)]
		for i, v := range in {
			dst[i] = table[v]
		}
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Want: "uint8 or float32", Got: out.DType.String()}
}
