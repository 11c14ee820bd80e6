package geometry

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// # Warping
//
// A mapping gives the point of the input that each pixel of a warped image shows. Points are
// counted from the corner of the image: the centre of the first pixel is (0.5, 0.5). INTERP_NN
// takes the pixel that contains the point. INTERP_LINEAR takes the weighted mean of the pixels
// around it. Points and weights are float32, in DALI's order of operations, so that a point at the
// border of two pixels lies in the pixel that DALI takes. Pixels outside the image have the fill
// value, or the value at the border if there is no fill value.

// volume holds the extents of an image or volume with channels. d is 1 for images.
type volume struct{ d, h, w int }

// mapping says which points of the input the pixels of a warped image show.
type mapping interface {
	// row writes the points that the pixels of row y in plane z show. The slices are as long as the
	// row. zs must not be used if there is only one plane.
	row(z, y int, xs, ys, zs []float32)
}

// warpTypes returns the dtypes of images that can be warped.
func warpTypes() []tensor.DType {
	return []tensor.DType{tensor.Uint8, tensor.Int16, tensor.Int32, tensor.Float32}
}

// warping is the common part of the operators that warp.
type warping struct {
	config *op.Config
	dtype  tensor.DType // Invalid: the input's
	linear bool
	fill   float32
	clamp  bool // there is no fill value
	cut    bool // the fill value is truncated, not rounded
	size   vector
}

// warpParams are the parameters that newWarping reads.
func warpParams() []op.Parameter {
	return []op.Parameter{
		{Name: "dtype", Type: op.DType, Doc: "Type of the output: the input's type, which is the default, or float32. For a float32 input it is any input type."},
		{Name: "fill_value", Type: op.Float, Doc: "Value outside the input; by default the value at its border."},
		{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear, Doc: "INTERP_LINEAR or INTERP_NN."},
		{Name: "output_dtype", Type: op.DType, Deprecated: "use dtype", Doc: "The older name of dtype."},
		{Name: "size", Type: op.Floats, Default: []float64{}, PerSample: true, Doc: "Height and width of the output, or depth, height and width for volumes; by default the size of the input."},
	}
}

func newWarping(c *op.Config) (warping, error) {
	k := warping{
		config: c, dtype: op.Get[tensor.DType](c, "dtype"), fill: float32(op.Get[float64](c, "fill_value")),
		clamp: !c.Given("fill_value"), size: readVector(c, "size"),
	}
	if c.Given("output_dtype") {
		k.dtype = op.Get[tensor.DType](c, "output_dtype")
	}
	switch t := op.Get[op.InterpType](c, "interp_type"); t {
	case op.InterpLinear:
		k.linear = true
	case op.InterpNN:
	default:
		return k, c.Unsupported("interp_type", "INTERP_LINEAR or INTERP_NN", t.String())
	}
	return k, nil
}

// warpLayouts are the layouts that can be warped, by rank.
func warpLayouts(rank int) []string {
	switch rank {
	case 3:
		return []string{"HWC"}
	case 4:
		return []string{"FHWC", "DHWC"}
	case 5:
		return []string{"FDHWC"}
	}
	return nil
}

// layoutOf returns the layout of an input, or the layout for its rank if the input has no layout.
func layoutOf(rank int, layout string) (string, error) {
	known := warpLayouts(rank)
	switch {
	case len(known) > 0 && layout == "":
		return known[0], nil
	case slices.Contains(known, layout):
		return layout, nil
	}
	return "", &errs.Error{Kind: errs.Invalid, Want: "images, volumes or sequences of both: HWC, DHWC, FHWC or FDHWC", Got: fmt.Sprintf("%d axes of layout %q", rank, layout)}
}

// infer returns the spec of the output. If the size of the input is not kept, it is the known part
// of the spec.
func (k *warping) infer(in tensor.Spec, keep bool) ([]tensor.Spec, error) {
	if !slices.Contains(warpTypes(), in.DType) {
		return nil, k.config.InvalidInput(0, fmt.Sprint(warpTypes()), in.DType.String(), "cast it")
	}
	out := tensor.Spec{DType: in.DType, Layout: in.Layout}
	if k.dtype != tensor.Invalid {
		out.DType = k.dtype
	}
	if out.DType != in.DType && out.DType != tensor.Float32 && (in.DType != tensor.Float32 || !slices.Contains(warpTypes(), out.DType)) {
		return nil, k.config.Unsupported("dtype", "float32 or the type of the input, "+in.DType.String(), out.DType.String())
	}
	if in.Shape == nil {
		return []tensor.Spec{out}, nil
	}
	var err error
	if out.Layout, err = layoutOf(len(in.Shape), in.Layout); err != nil {
		return nil, k.config.InvalidInput(0, err.(*errs.Error).Want, err.(*errs.Error).Got, "")
	}
	out.Shape = slices.Clone(in.Shape)
	if !keep || k.size.given {
		for i, letter := range out.Layout {
			if letter != 'F' && letter != 'C' {
				out.Shape[i] = -1
			}
		}
	}
	return []tensor.Spec{out}, nil
}

// frames is a sample: a sequence of images or volumes with channels.
type frames struct {
	n        int
	volume   volume
	channels int
	spatial  bool // volumes, not pictures
}

// framesOf splits a sample into frames.
func framesOf(in tensor.Tensor) (frames, error) {
	layout, err := layoutOf(len(in.Shape), in.Layout)
	if err != nil {
		return frames{}, err
	}
	f := frames{n: 1, volume: volume{d: 1}, spatial: strings.Contains(layout, "D")}
	for i, letter := range []byte(layout) {
		switch d := in.Shape[i]; letter {
		case 'F':
			f.n = d
		case 'D':
			f.volume.d = d
		case 'H':
			f.volume.h = d
		case 'W':
			f.volume.w = d
		case 'C':
			f.channels = d
		}
	}
	return f, nil
}

// outputSize returns the requested size, or natural if no size was requested.
func (k *warping) outputSize(b *op.Block, s int, f frames, natural volume) (volume, error) {
	var values [mostDims * mostDims]float32
	n, err := k.size.at(b, s, &values)
	if err != nil || n == 0 {
		return natural, err
	}
	want := 2
	if f.spatial {
		want = 3
	}
	if n != want {
		return natural, k.size.wrong(fmt.Sprintf("%d extents", want), n)
	}
	for _, v := range values[:n] {
		if !(v > 0 && v < math.MaxInt32) {
			return natural, &errs.Error{Kind: errs.Invalid, Subject: "size", Want: "extents above 0", Got: fmt.Sprint(v)}
		}
	}
	out := volume{d: 1}
	if f.spatial {
		out.d = int(math.Round(float64(values[0])))
	}
	out.h, out.w = int(math.Round(float64(values[n-2]))), int(math.Round(float64(values[n-1])))
	return out, nil
}

// warp writes sample s. It warps every frame with the mapping.
func (k *warping) warp(b *op.Block, s int, f frames, size volume, m mapping) error {
	in := b.In(0, s)
	var buf [5]int
	shape := tensor.Shape(buf[:0])
	if len(in.Shape) == 5 || len(in.Shape) == 4 && !f.spatial {
		shape = append(shape, f.n)
	}
	if f.spatial {
		shape = append(shape, size.d)
	}
	shape = append(shape, size.h, size.w, f.channels)
	if _, err := shape.Bytes(tensor.Float64); err != nil {
		return err
	}
	out := b.Out(0, s, shape...)
	if out.Len() == 0 {
		return nil
	}
	switch in.DType {
	case tensor.Uint8:
		return warpAll[uint8](k, b, out, in, f, size, m)
	case tensor.Int16:
		return warpAll[int16](k, b, out, in, f, size, m)
	case tensor.Int32:
		return warpAll[int32](k, b, out, in, f, size, m)
	}
	return warpAll[float32](k, b, out, in, f, size, m)
}

func warpAll[T pixel](k *warping, b *op.Block, out, in tensor.Tensor, f frames, size volume, m mapping) error {
	xs, ys, zs := op.Scratch[float32](b, size.w), op.Scratch[float32](b, size.w), op.Scratch[float32](b, size.w)
	clear(zs)
	row := size.w * f.channels
	sampled := tensor.Tensor{DType: in.DType, Shape: tensor.Shape{row}}
	var floats []float32
	var pixels []T
	if k.linear {
		floats = op.Scratch[float32](b, row)
		sampled.DType, sampled.Data = tensor.Float32, element.Bytes(floats)
	} else {
		pixels = element.View[T](op.Scratch[uint8](b, row*in.DType.Size()))
		sampled.Data = element.Bytes(pixels)
	}
	src := source[T]{volume: f.volume, channels: f.channels, clamp: k.clamp}
	fill, err := k.fillOf(out.DType)
	if err != nil {
		return err
	}
	if err := element.Convert(tensor.Tensor{DType: in.DType, Data: element.Bytes(src.fillPixel[:])}, fill); err != nil {
		return err
	}
	src.fill = float32(src.fillPixel[0]) // limited to the range of the input, as in DALI
	all := element.View[T](in.Data)
	frame := len(all) / max(f.n, 1)
	to := tensor.Tensor{DType: out.DType, Shape: sampled.Shape}
	next := out.Data
	whole := !k.linear && !k.clamp && out.DType != in.DType
	for i := range f.n {
		src.data = all[i*frame : (i+1)*frame]
		for z := range size.d {
			for y := range size.h {
				m.row(z, y, xs, ys, zs)
				switch {
				case len(src.data) == 0:
					return &errs.Error{Kind: errs.Mismatch, Want: "an image with pixels", Got: in.String()}
				case k.linear && f.spatial:
					src.trilinear(floats, xs, ys, zs)
				case k.linear:
					src.bilinear(floats, xs, ys)
				default:
					src.nearest(pixels, xs, ys, zs)
				}
				to.Data, next = next[:row*out.DType.Size()], next[row*out.DType.Size():]
				if err := element.Convert(to, sampled); err != nil {
					return err
				}
				if whole {
					src.fillOutside(to.Data, fill.Data, xs, ys, zs)
				}
			}
		}
	}
	return nil
}

// fillOf returns the fill value in the type of the output. Water and sphere truncate it.
func (k *warping) fillOf(dtype tensor.DType) (tensor.Tensor, error) {
	fill := k.fill
	if k.cut && dtype == tensor.Uint8 {
		fill = float32(uint8(int32(fill)))
	}
	out := tensor.New(dtype)
	return out, element.Convert(out, tensor.ScalarOf(fill))
}
