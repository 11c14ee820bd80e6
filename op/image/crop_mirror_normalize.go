package image

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/internal/region"
	"github.com/bivouac-ml/bivouac/op/internal/window"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "crop_mirror_normalize",
		Doc: "Cuts a window out of an image, can mirror it, and normalises it: scale * (in - mean) / std + shift, which is " +
			"computed as (in - (mean - shift * std / scale)) * (scale / std). The output is laid out for training: CHW float32 by default.",
		Inputs:  []op.Port{{Name: "images", Doc: "images, sequences or volumes", Layouts: imageLayouts()}},
		Outputs: []op.Port{{Name: "normalized", Doc: "normalised windows"}},
		Params: append(slices.Concat(window.CropParams(), window.BoundsParams(), deprecatedParams()),
			op.Parameter{Name: "dtype", Type: op.DType, Default: tensor.Float32, Doc: "Output type: float32, float16, uint8 or int8."},
			op.Parameter{Name: "mean", Type: op.Floats, Default: []float64{0}, PerSample: true, Doc: "Value to subtract: one for all channels, or one for each."},
			op.Parameter{Name: "mirror", Type: op.Int, Default: 0, PerSample: true, Doc: "Whether left and right are exchanged: 0 means no."},
			op.Parameter{Name: "output_layout", Type: op.String, Default: "CHW", Doc: "Order of the output's axes: a permutation of the input's layout."},
			op.Parameter{Name: "pad_output", Type: op.Bool, Default: false, Doc: "Adds channels of fill_values up to a power of two."},
			op.Parameter{Name: "scale", Type: op.Float, Default: 1.0, Doc: "Factor of the result."},
			op.Parameter{Name: "shift", Type: op.Float, Default: 0.0, Doc: "Number to add to the result."},
			op.Parameter{Name: "std", Type: op.Floats, Default: []float64{1}, PerSample: true, Doc: "Divisor: one for all channels, or one for each."},
		),
		Precision: op.Exact,
		New:       newCropMirrorNormalize,
	})
}

type cropMirrorNormalize struct {
	config    *op.Config
	window    *window.Crop
	bounds    window.Bounds
	mean, std op.Vector[float64]
	mirror    op.Scalar[int]
	scale     float32
	shift     float32
	dtype     tensor.DType
	layout    string // of the output
	padOutput bool
}

func newCropMirrorNormalize(c *op.Config) (op.Kernel, error) {
	bounds, err := window.ReadBounds(c)
	if err != nil {
		return nil, err
	}
	w, err := window.NewCrop(c, bounds.Policy)
	if err != nil {
		return nil, err
	}
	k := &cropMirrorNormalize{
		config: c, window: w, bounds: bounds,
		mean: op.GetVector[float64](c, "mean"), std: op.GetVector[float64](c, "std"), mirror: op.GetScalar[int](c, "mirror"),
		scale: float32(op.Get[float64](c, "scale")), shift: float32(op.Get[float64](c, "shift")),
		layout: op.Get[string](c, "output_layout"), padOutput: op.Get[bool](c, "pad_output"),
	}
	if k.dtype, err = outputType(c); err != nil {
		return nil, err
	}
	switch k.dtype {
	case tensor.Float32, tensor.Float16, tensor.Uint8, tensor.Int8:
	default:
		return nil, c.Unsupported("dtype", "float32, float16, uint8 or int8", k.dtype.String())
	}
	return k, nil
}

// channels returns the number of output channels.
func (k *cropMirrorNormalize) channels(in int) int {
	if k.padOutput && in > 0 {
		return 1 << bits.Len(uint(in-1))
	}
	return in
}

func (k *cropMirrorNormalize) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	layout, err := layoutOf(k.config, in[0])
	if err != nil {
		return nil, err
	}
	if !isPermutation(k.layout, layout) {
		return nil, k.config.Invalid("output_layout", "a permutation of the letters of "+layout, fmt.Sprintf("%q", k.layout), "")
	}
	if err := known(k.config, in[0].DType); err != nil {
		return nil, err
	}
	shape := cropShape(k.window, in[0].Shape, layout)
	if c := strings.IndexByte(layout, 'C'); shape[c] >= 0 {
		for name, v := range map[string]op.Vector[float64]{"mean": k.mean, "std": k.std} {
			if list, constant := v.Const(); constant {
				if err := perChannel(name, list, shape[c]); err != nil {
					return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
				}
			}
		}
		shape[c] = k.channels(shape[c])
	}
	out := unknown(len(shape))
	for i := range out {
		out[i] = shape[strings.IndexByte(layout, k.layout[i])]
	}
	return []tensor.Spec{{DType: k.dtype, Shape: out, Layout: k.layout}}, nil
}

// isPermutation reports whether a is a permutation of the letters of b.
func isPermutation(a, b string) bool {
	for i := range a {
		if strings.Count(a, a[i:i+1]) != 1 || strings.IndexByte(b, a[i]) < 0 {
			return false
		}
	}
	return len(a) == len(b)
}

func perChannel(name string, v []float64, channels int) error {
	if len(v) == 1 || len(v) == channels {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Subject: "argument " + name,
		Want: fmt.Sprintf("1 value, or %d values, one per channel", channels), Got: fmt.Sprint(len(v))}
}

func (k *cropMirrorNormalize) Run(b *op.Block) error {
	return b.Each(func(s int) error { return k.sample(b, s) })
}

// affine is the map of a channel's values.
type affine struct{ mean, factor float32 }

func (a affine) at(v float32) float32 { return (v - a.mean) * a.factor }

// cmnState is a worker's state for the operator.
type cmnState struct {
	mean, std []float64
	channels  []affine
	spans     []window.Span
	shape     []int
	fill      []byte
	table     byteTable
	normalizer
}

func (k *cropMirrorNormalize) sample(b *op.Block, s int) (err error) {
	in := b.In(0, s)
	layout := in.Layout
	if layout == "" {
		if layout, err = layoutOf(k.config, in.Spec()); err != nil {
			return err
		}
	}
	if err := checkRank(in, layout); err != nil {
		return err
	}
	st := op.PerWorker[cmnState](b)
	channels := in.Shape[strings.IndexByte(layout, 'C')]
	if err := k.affines(b, s, st, channels); err != nil {
		return err
	}
	if st.spans, err = cropSpans(k.window, b, s, in.Shape, layout, st.spans[:0]); err != nil {
		return err
	}
	mirror, err := k.mirror.At(b, s)
	if err != nil {
		return err
	}
	outChannels := k.channels(channels)
	st.shape = st.shape[:0]
	for i := range k.layout {
		n := st.spans[strings.IndexByte(layout, k.layout[i])].Size
		if k.layout[i] == 'C' {
			n = outChannels
		}
		st.shape = append(st.shape, n)
	}
	if err := checkSize(st.shape, tensor.Float32); err != nil {
		return err
	}
	out := b.Out(0, s, st.shape...)
	inside := st.plan(in.Shape, layout, st.spans, st.shape, k.layout, mirror != 0)
	if !inside || outChannels != channels {
		if err := k.fill(st, out, outChannels); err != nil {
			return err
		}
	}
	return k.normalize(b, st, out, in)
}

// fill writes the fill values everywhere, and 0 in channels without a fill value.
func (k *cropMirrorNormalize) fill(st *cmnState, out tensor.Tensor, channels int) (err error) {
	list := []float64{0}
	if k.bounds.Policy == window.Pad {
		list = k.bounds.Fill[:min(len(k.bounds.Fill), max(channels, 1))]
	}
	if len(list) > 1 {
		list = slices.Clone(list)
		for len(list) < channels {
			list = append(list, 0)
		}
	}
	if st.fill, err = region.Values(k.dtype, list); err != nil {
		return err
	}
	inner := 1
	for _, n := range out.Shape[strings.IndexByte(k.layout, 'C')+1:] {
		inner *= n
	}
	region.Fill(out.Data, st.fill, k.dtype.Size(), inner)
	return nil
}

func (k *cropMirrorNormalize) affines(b *op.Block, s int, st *cmnState, channels int) error {
	mean, err := k.mean.At(b, s, st.mean)
	if err != nil {
		return err
	}
	std, err := k.std.At(b, s, st.std)
	if err != nil {
		return err
	}
	if err := perChannel("mean", mean, channels); err != nil {
		return err
	}
	if err := perChannel("std", std, channels); err != nil {
		return err
	}
	if _, constant := k.mean.Const(); !constant {
		st.mean = mean
	}
	if _, constant := k.std.Const(); !constant {
		st.std = std
	}
	st.channels = st.channels[:0]
	for c := range channels {
		m, d := float32(mean[c%len(mean)]), float32(std[c%len(std)])
		a := affine{mean: m, factor: k.scale / d}
		if k.shift != 0 {
			a.mean = m - float32(k.shift*d)/k.scale
		}
		st.channels = append(st.channels, a)
	}
	return nil
}

// normalize writes the part that lies inside the image.
func (k *cropMirrorNormalize) normalize(b *op.Block, st *cmnState, out, in tensor.Tensor) error {
	if in.DType == tensor.Uint8 && k.dtype == tensor.Float32 && st.splits() {
		dst, err := floats(out)
		if err == nil {
			st.split(dst, in.Data, st.channels)
		}
		return err
	}
	if in.DType == tensor.Uint8 {
		tables, err := st.table.build(st.channels, k.dtype)
		if err != nil {
			return err
		}
		st.look(out, in.Data, tables)
		return nil
	}
	src, err := element.Floats(b, in)
	if err != nil {
		return err
	}
	if k.dtype == tensor.Float32 {
		dst, err := floats(out)
		if err == nil {
			st.compute(dst, src, st.channels)
		}
		return err
	}
	// The result is computed in float32; the filled part is kept.
	wide := op.Scratch[float32](b, out.Shape.Len())
	if st.partial {
		if err := element.Into(tensor.Float32, element.Bytes(wide), k.dtype, out.Data); err != nil {
			return err
		}
	}
	st.compute(wide, src, st.channels)
	return element.Into(k.dtype, out.Data, tensor.Float32, element.Bytes(wide))
}
