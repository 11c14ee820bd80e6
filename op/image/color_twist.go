package image

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/tone"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	registerTwist("color_twist", "Turns the hue and changes saturation, contrast and brightness of RGB images, as one "+
		"linear map of the channels. Contrast does not change the value 0.5 of floats and 128 of integers.",
		append(twistParams(),
			op.Parameter{Name: "brightness", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true,
				Doc: "Brightness factor."},
			op.Parameter{Name: "contrast", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true,
				Doc: "Contrast factor."},
			hueParam, saturationParam))
	registerTwist("hsv",
		"Turns the hue and changes the saturation and the value of RGB images, as one linear map of the channels.",
		[]op.Parameter{
			{Name: "dtype", Type: op.DType, Default: tensor.Uint8, Doc: "Output type."},
			hueParam, saturationParam, valueParam,
		})
	registerTwist("hue", "Turns the hue of RGB images, as a linear map of the channels.",
		append(twistParams(), hueParam))
	registerTwist("saturation", "Changes the saturation of RGB images, as a linear map of the channels.",
		append(twistParams(), saturationParam))
}

// registerTwist registers an operator whose kernel is colorTwist.
func registerTwist(name, doc string, params []op.Parameter) {
	op.Register(op.Schema{
		Name: name,
		Doc:  doc,
		Inputs: []op.Port{{Name: "images", Layouts: []string{"HWC", "FHWC", "DHWC"},
			Doc: "images of three channels, sequences or volumes: uint8, int16, int32, float16 or float32"}},
		Outputs:   []op.Port{{Name: "twisted", Doc: "images of the same shape"}},
		Params:    params,
		Precision: op.Tolerance,
		New:       newColorTwist,
	})
}

// twistParams are the parameters of color_twist, hue and saturation.
func twistParams() []op.Parameter {
	return []op.Parameter{
		colorTypeParam,
		{Name: "image_type", Type: op.Image, Default: op.RGB, Doc: "Colour space of the images: RGB."},
	}
}

var (
	hueParam = op.Parameter{Name: "hue", Type: op.Float, Default: 0.0, PerSample: true, PerFrame: true,
		Doc: "The angle in degrees by which hues are turned."}
	saturationParam = op.Parameter{Name: "saturation", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true,
		Doc: "Saturation factor; 0 gives gray."}
	valueParam = op.Parameter{Name: "value", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true,
		Doc: "Factor of all channels."}
)

// colorTwist is the kernel of color_twist, hsv, hue and saturation. A parameter that an operator
// does not have is 1, or 0 for the hue.
type colorTwist struct {
	config                                       *op.Config
	hue, saturation, value, brightness, contrast twistArg
	dtype                                        tensor.DType
}

// twistArg is an argument that some of the operators do not have.
type twistArg struct {
	value   op.Scalar[float64]
	taken   bool
	neutral float64
}

func (a *twistArg) at(b *op.Block, s int) (float64, error) {
	if !a.taken {
		return a.neutral, nil
	}
	v, err := a.value.At(b, s)
	return float64(float32(v)), err
}

func newColorTwist(c *op.Config) (op.Kernel, error) {
	arg := func(name string, neutral float64) twistArg {
		return twistArg{op.GetScalar[float64](c, name), c.Has(name), neutral}
	}
	if t := op.Get[op.ImageType](c, "image_type"); t != op.RGB {
		return nil, c.Unsupported("image_type", op.RGB.String(), t.String())
	}
	return op.Each(&colorTwist{config: c, hue: arg("hue", 0), saturation: arg("saturation", 1), value: arg("value", 1),
		brightness: arg("brightness", 1), contrast: arg("contrast", 1), dtype: op.Get[tensor.DType](c, "dtype")}), nil
}

func (k *colorTwist) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	out, err := inferColor(k.config, in[0], k.dtype, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Float16, tensor.Float32)
	if err == nil && in[0].Shape != nil {
		if c := in[0].Shape[len(in[0].Shape)-1]; c >= 0 && c != 3 {
			return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, notRGB(in[0].Shape))
		}
	}
	return out, err
}

func notRGB(shape tensor.Shape) error {
	return &errs.Error{Kind: errs.Invalid, Want: "three channels", Got: shape.String()}
}

// twist is the map of one sample: output channel i is the product of factors[i] and the channels,
// plus offset.
type twist struct {
	factors tone.Matrix
	offset  float32
}

func (k *colorTwist) twist(b *op.Block, s int, in tensor.DType) (twist, error) {
	var v [5]float64
	for i, a := range [...]*twistArg{&k.hue, &k.saturation, &k.value, &k.brightness, &k.contrast} {
		var err error
		if v[i], err = a.at(b, s); err != nil {
			return twist{}, err
		}
	}
	brightness, contrast := float32(v[3]), float32(v[4])
	t := twist{factors: tone.Twist(v[0], float32(v[1]), float32(v[2]), brightness*contrast)}
	middle := float32(0.5)
	if in.IsInteger() {
		middle = 128 // of all integer types, as in DALI
	}
	t.offset = (middle - float32(middle*contrast)) * brightness
	return t, nil
}

// twistState is a worker's state.
type twistState struct {
	row [3 * 128]float32
}

func (k *colorTwist) Sample(b *op.Block, s int) error {
	in, spec := b.In(0, s), b.Binding().Specs[0]
	if err := checkRank(in, spec.Layout); err != nil {
		return err
	}
	if in.Shape[len(in.Shape)-1] != 3 {
		return notRGB(in.Shape)
	}
	t, err := k.twist(b, s, in.DType)
	if err != nil {
		return err
	}
	out, st := b.Out(0, s, in.Shape...), op.PerWorker[twistState](b)
	for at := 0; at < in.Shape.Len(); at += len(st.row) {
		part := st.row[:min(len(st.row), in.Shape.Len()-at)]
		if err := loadRow(part, in, at); err != nil {
			return err
		}
		t.apply(part)
		if err := storeRow(out, at, part); err != nil {
			return err
		}
	}
	return nil
}

// loadRow reads elements of t from element at on as float32.
func loadRow(row []float32, t tensor.Tensor, at int) error {
	size := t.DType.Size()
	data := t.Data[at*size : (at+len(row))*size]
	if t.DType == tensor.Uint8 {
		kernel.Widen(row, data)
		return nil
	}
	return element.Into(tensor.Float32, element.Bytes(row), t.DType, data)
}

// storeRow writes elements of t from element at on.
func storeRow(t tensor.Tensor, at int, row []float32) error {
	size := t.DType.Size()
	data := t.Data[at*size : (at+len(row))*size]
	if t.DType == tensor.Uint8 {
		kernel.RoundBytesAway(data, row)
		return nil
	}
	return element.Into(t.DType, data, tensor.Float32, element.Bytes(row))
}

// apply maps pixels in place.
func (t *twist) apply(pixels []float32) {
	f := &t.factors
	for len(pixels) >= 3 {
		p := pixels[:3:3]
		r, g, b := p[0], p[1], p[2]
		p[0] = float32(f[0][0]*r) + float32(f[0][1]*g) + float32(f[0][2]*b) + t.offset
		p[1] = float32(f[1][0]*r) + float32(f[1][1]*g) + float32(f[1][2]*b) + t.offset
		p[2] = float32(f[2][0]*r) + float32(f[2][1]*g) + float32(f[2][2]*b) + t.offset
		pixels = pixels[3:]
	}
}
