package image

import (
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	registerLinear("brightness_contrast", "Changes brightness and contrast: brightness_shift * range + brightness * "+
		"(contrast_center + contrast * (in - contrast_center)), where range is 1 for floats and the largest value of the "+
		"output type otherwise.", append(append(brightnessParams(), contrastParams()...), colorTypeParam))
	registerLinear("brightness", "Changes the brightness: brightness_shift * range + brightness * in, where range is 1 for "+
		"floats and the largest value of the output type otherwise.", append(brightnessParams(), colorTypeParam))
	registerLinear("contrast", "Changes the contrast: contrast_center + contrast * (in - contrast_center).",
		append(contrastParams(), colorTypeParam))
}

// registerLinear registers an operator whose kernel is brightnessContrast.
func registerLinear(name, doc string, params []op.Parameter) {
	op.Register(op.Schema{
		Name: name,
		Doc:  doc,
		Inputs: []op.Port{{Name: "images", Layouts: []string{"FHWC", "DHWC", "HWC"},
			Doc: "images, sequences or volumes"}},
		Outputs:   []op.Port{{Name: "adjusted", Doc: "images of the same shape"}},
		Params:    params,
		Precision: op.Exact,
		New:       newBrightnessContrast,
	})
}

func brightnessParams() []op.Parameter {
	return []op.Parameter{
		{Name: "brightness", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true, Doc: "Brightness factor."},
		{Name: "brightness_shift", Type: op.Float, Default: 0.0, PerSample: true, PerFrame: true,
			Doc: "Number to add, in units of the output range."},
	}
}

func contrastParams() []op.Parameter {
	return []op.Parameter{
		{Name: "contrast", Type: op.Float, Default: 1.0, PerSample: true, PerFrame: true,
			Doc: "Contrast factor; 0 gives contrast_center everywhere."},
		{Name: "contrast_center", Type: op.Float, Default: 0.5, PerSample: true, PerFrame: true,
			Doc: "The value that contrast does not change. By default it is the middle of the input type's range: 0.5 for floats, 128 for uint8."},
	}
}

var colorTypeParam = op.Parameter{Name: "dtype", Type: op.DType, Doc: "Output type; by default the input's type."}

// brightnessContrast is the kernel of brightness, contrast and brightness_contrast. A parameter
// that an operator does not have is 1, or 0 for the shift.
type brightnessContrast struct {
	config                              *op.Config
	brightness, shift, contrast, center op.Scalar[float64]
	hasBrightness, hasContrast          bool
	centered                            bool
	dtype                               tensor.DType
}

func newBrightnessContrast(c *op.Config) (op.Kernel, error) {
	k := &brightnessContrast{
		config:     c,
		brightness: op.GetScalar[float64](c, "brightness"), shift: op.GetScalar[float64](c, "brightness_shift"),
		contrast: op.GetScalar[float64](c, "contrast"), center: op.GetScalar[float64](c, "contrast_center"),
		hasBrightness: c.Has("brightness"), hasContrast: c.Has("contrast"),
		centered: c.Given("contrast_center"), dtype: op.Get[tensor.DType](c, "dtype"),
	}
	return op.Each(k), nil
}

func (k *brightnessContrast) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return inferColor(k.config, in[0], k.dtype, tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Float32)
}

// inferColor returns the output of an operator that keeps the shape of its input. Input and output
// must have one of the given types.
func inferColor(c *op.Config, in tensor.Spec, dtype tensor.DType, types ...tensor.DType) ([]tensor.Spec, error) {
	layout := layoutHWC
	if in.Shape != nil || in.Layout != "" {
		var err error
		if layout, err = layoutOf(c, in); err != nil {
			return nil, err
		}
	}
	if dtype == tensor.Invalid {
		dtype = in.DType
	}
	for name, d := range map[string]tensor.DType{"input 0": in.DType, "argument dtype": dtype} {
		if !slices.Contains(types, d) {
			return nil, &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", " + name, Want: join(types), Got: d.String()}
		}
	}
	return []tensor.Spec{{DType: dtype, Shape: in.Shape, Layout: layout}}, nil
}

// positiveRange returns the largest value of a type, or 1 for floats.
func positiveRange(d tensor.DType) float64 {
	switch {
	case !d.IsInteger():
		return 1
	case d.IsSigned():
		return math.Exp2(float64(d.Bits()-1)) - 1
	}
	return math.Exp2(float64(d.Bits())) - 1
}

// middle returns half of the positive range of a type.
func middle(d tensor.DType) float64 {
	if !d.IsInteger() {
		return 0.5
	}
	return (positiveRange(d) + 1) / 2
}

// line is the operator for one sample: in * factor + offset.
type line struct{ factor, offset float32 }

func (k *brightnessContrast) line(b *op.Block, s int, in, out tensor.DType) (line, error) {
	bright, shift, contrast, center := 1.0, 0.0, 1.0, middle(in)
	for _, p := range [...]struct {
		to   *float64
		from *op.Scalar[float64]
		take bool
	}{
		{&bright, &k.brightness, k.hasBrightness}, {&shift, &k.shift, k.hasBrightness},
		{&contrast, &k.contrast, k.hasContrast}, {&center, &k.center, k.hasContrast && k.centered},
	} {
		if p.take {
			var err error
			if *p.to, err = p.from.At(b, s); err != nil {
				return line{}, err
			}
		}
	}
	mid, factor := float32(center), float32(contrast)
	keep := mid - float32(factor*mid)
	offset := float32(float32(bright)*keep) + float32(float32(shift)*float32(positiveRange(out)))
	return line{factor: float32(bright) * factor, offset: offset}, nil
}

func (l line) at(v float32) float32 { return float32(v*l.factor) + l.offset }

// colorState is a worker's state: the table of bytes and its parameters.
type colorState struct {
	line  line
	dtype tensor.DType
	table [256 * 4]byte
	row   [256]float32
}

func (k *brightnessContrast) Sample(b *op.Block, s int) error {
	in, spec := b.In(0, s), b.Binding().Specs[0]
	if err := checkRank(in, spec.Layout); err != nil {
		return err
	}
	l, err := k.line(b, s, in.DType, spec.DType)
	if err != nil {
		return err
	}
	if l == (line{factor: 1}) && spec.DType == in.DType {
		in.Layout = spec.Layout
		b.Alias(0, s, in)
		return nil
	}
	st := op.PerWorker[colorState](b)
	out := b.Out(0, s, in.Shape...)
	if in.DType == tensor.Uint8 {
		if err := st.build(l, spec.DType); err != nil {
			return err
		}
		st.look(out, in.Data)
		return nil
	}
	for at := 0; at < in.Shape.Len(); at += len(st.row) {
		part := st.row[:min(len(st.row), in.Shape.Len()-at)]
		if err := loadRow(part, in, at); err != nil {
			return err
		}
		for i, v := range part {
			part[i] = l.at(v)
		}
		if err := storeRow(out, at, part); err != nil {
			return err
		}
	}
	return nil
}

// build makes the table of the results for all bytes.
func (st *colorState) build(l line, dtype tensor.DType) error {
	if st.line == l && st.dtype == dtype {
		return nil
	}
	for i := range st.row {
		st.row[i] = l.at(float32(i))
	}
	st.line, st.dtype = l, dtype
	return element.Into(dtype, st.table[:256*dtype.Size()], tensor.Float32, element.Bytes(st.row[:]))
}

func (st *colorState) look(out tensor.Tensor, in []byte) {
	switch out.DType.Size() {
	case 1:
		kernel.Look(out.Data, in, (*[256]byte)(st.table[:]))
	case 2:
		look(element.View[uint16](out.Data), in, (*[256]uint16)(element.View[uint16](st.table[:])))
	default:
		look(element.View[uint32](out.Data), in, (*[256]uint32)(element.View[uint32](st.table[:])))
	}
}

func look[W any](dst []W, src []byte, table *[256]W) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = table[v]
	}
}
