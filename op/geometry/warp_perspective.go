package geometry

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:   "warp_perspective",
		Module: []string{"experimental"},
		Doc: "Warps images by a perspective transform: a matrix of three rows and columns. The transform maps each pixel of the output to the point " +
			"of the input that it shows.",
		Inputs: []op.Port{
			{Name: "input", Doc: "images, planes or sequences of them: uint8, uint16, int16 or float32, with at most four channels",
				Layouts: []string{"HW", "HWC", "FHWC", "CHW", "FCHW"}},
			{Name: "matrix_input", Doc: "the float32 matrix, in place of the argument", Optional: true, PerFrame: true},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the warped images"}},
		Params: []op.Parameter{
			{Name: "border_mode", Type: op.String, Default: "constant",
				Doc: `What lies outside the image: "constant", "replicate", "reflect" with the edge, "reflect_101" without the edge, or "wrap".`},
			{Name: "fill_value", Type: op.Floats, Default: []float64{}, Doc: "Value of the border \"constant\", one for all channels or one for each; by default 0."},
			{Name: "interp_type", Type: op.Interp, Default: op.InterpLinear, Doc: "INTERP_LINEAR, INTERP_NN or INTERP_CUBIC."},
			{Name: "inverse_map", Type: op.Bool, Default: true, Doc: "Whether the transform maps the output to the input; otherwise it maps the input to the output."},
			{Name: "matrix", Type: op.Floats, Default: []float64{}, PerSample: true, PerFrame: true,
				Doc: "The matrix, row by row."},
			{Name: "pixel_origin", Type: op.String, Default: "corner", Doc: `Which point of the first pixel is (0, 0): its "corner" or its "center".`},
			{Name: "size", Type: op.Floats, Default: []float64{}, PerSample: true, Doc: "Height and width of the output; by default the size of the input."},
		},
		Precision: op.Exact,
		New:       newPerspective,
	})
}

type perspective struct {
	config       *op.Config
	border       func(i, n int) int
	fill         []float64
	nearest      bool
	cubic        bool
	inverse      bool
	center       bool // pixels are at the centers of their squares
	matrix, size vector
}

// beyond returns the function that gives the pixel for a pixel outside, or -1 for the fill value.
func beyond(name string) func(i, n int) int {
	mod := func(i, n int) int { return (i%n + n) % n }
	switch name {
	case "constant":
		return func(i, n int) int {
			if i < 0 || i >= n {
				return -1
			}
			return i
		}
	case "replicate":
		return func(i, n int) int { return min(max(i, 0), n-1) }
	case "reflect":
		return func(i, n int) int { i = mod(i, 2*n); return min(i, 2*n-1-i) }
	case "reflect_101":
		return func(i, n int) int {
			if n == 1 {
				return 0
			}
			i = mod(i, 2*n-2)
			return min(i, 2*n-2-i)
		}
	case "wrap":
		return mod
	}
	return nil
}

func newPerspective(c *op.Config) (op.Kernel, error) {
	k := &perspective{config: c, fill: op.Get[[]float64](c, "fill_value"), inverse: op.Get[bool](c, "inverse_map"),
		matrix: readVector(c, "matrix"), size: readVector(c, "size")}
	name, origin := op.Get[string](c, "border_mode"), op.Get[string](c, "pixel_origin")
	if k.border = beyond(name); k.border == nil {
		return nil, c.Invalid("border_mode", `"constant", "replicate", "reflect", "reflect_101" or "wrap"`,
			fmt.Sprintf("%q", name), "")
	}
	if k.center = origin == "center"; !k.center && origin != "corner" {
		return nil, c.Invalid("pixel_origin", `"corner" or "center"`, fmt.Sprintf("%q", origin), "")
	}
	switch t := op.Get[op.InterpType](c, "interp_type"); t {
	case op.InterpLinear:
	case op.InterpNN:
		k.nearest = true
	case op.InterpCubic:
		k.cubic = true
	default:
		return nil, c.Invalid("interp_type", "INTERP_LINEAR, INTERP_NN or INTERP_CUBIC", t.String(), "")
	}
	if k.matrix.given == (c.Inputs > 1) {
		return nil, c.Invalid("matrix", "the argument or a second input", "both or neither", "")
	}
	return op.Each(k), nil
}

func (k *perspective) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	known := []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Int16, tensor.Float32}
	if !slices.Contains(known, in[0].DType) {
		return nil, k.config.InvalidInput(0, fmt.Sprint(known), in[0].DType.String(), "cast it")
	}
	if len(in) > 1 && in[1].DType != tensor.Float32 {
		return nil, k.config.InvalidInput(1, "float32", in[1].DType.String(), "cast it")
	}
	out := tensor.Spec{DType: in[0].DType, Layout: in[0].Layout}
	if in[0].Shape == nil {
		return []tensor.Spec{out}, nil
	}
	if n := len(in[0].Shape); out.Layout == "" && n >= 2 && n <= 4 {
		out.Layout = [3]string{"HW", "HWC", "FHWC"}[n-2]
	}
	v, err := k.view(in[0].Shape, in[0].Layout)
	if err != nil {
		return nil, errs.Wrap(k.config.Schema.FullName(), "node "+k.config.Node, err)
	}
	out.Shape = in[0].Shape.Clone()
	if k.size.given {
		out.Shape[v.first], out.Shape[v.first+1] = -1, -1
	}
	return []tensor.Spec{out}, nil
}

// planes says how a sample is made of images: axes before first are frames, or channels that are
// frames of their own.
type planes struct{ first, frames, h, w, channels int }

func (k *perspective) view(shape tensor.Shape, layout string) (planes, error) {
	first := 0
	switch n := len(shape); {
	case layout == "" && (n == 2 || n == 3), (layout == "HW" || layout == "HWC") && n == len(layout):
	case layout == "" && n == 4, (layout == "CHW" || layout == "FHWC") && n == len(layout):
		first = 1
	case layout == "FCHW" && n == 4:
		first = 2
	default:
		return planes{}, &errs.Error{Kind: errs.Invalid, Subject: "input 0",
			Want: "an image of layout HW, HWC, FHWC, CHW or FCHW", Got: fmt.Sprintf("%v, layout %q", shape, layout)}
	}
	p := planes{first: first, frames: 1, h: shape[first], w: shape[first+1], channels: 1}
	for _, d := range shape[:first] {
		p.frames *= d
	}
	if len(shape) > first+2 {
		p.channels = shape[first+2]
	}
	if p.channels > 4 {
		return p, &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "at most four channels",
			Got: shape.String()}
	}
	if n := len(k.fill); n > 1 && (len(shape) == first+2 || p.channels >= 0 && n != p.channels) {
		return p, &errs.Error{Kind: errs.Invalid, Subject: "argument fill_value",
			Want: "one value, or one for each channel", Got: fmt.Sprint(k.fill)}
	}
	return p, nil
}

func (k *perspective) Sample(b *op.Block, s int) error {
	in := b.In(0, s)
	v, err := k.view(in.Shape, in.Layout)
	if err != nil {
		return err
	}
	h, w := v.h, v.w
	if k.size.given {
		var values [mostDims * mostDims]float32
		n, err := k.size.at(b, s, &values)
		if err != nil {
			return err
		}
		if n == 1 {
			values[1] = values[0]
		}
		if n != 1 && n != 2 || !(math.Abs(float64(values[0])) < math.MaxInt32 &&
			math.Abs(float64(values[1])) < math.MaxInt32) {
			return k.size.wrong("a height and a width", n)
		}
		h, w = max(int(math.Round(float64(values[0]))), 1), max(int(math.Round(float64(values[1]))), 1)
	}
	m, err := k.transform(b, s)
	if err != nil {
		return err
	}
	var buf [4]int
	shape := append(buf[:0], in.Shape...)
	shape[v.first], shape[v.first+1] = h, w
	out := b.Out(0, s, shape...)
	if out.Len() == 0 {
		return nil
	}
	if v.h == 0 || v.w == 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "input 0", Want: "an image with pixels", Got: in.Shape.String()}
	}
	switch in.DType {
	case tensor.Uint8:
		return warpPlanes[uint8](k, b, out, in, v, h, w, &m)
	case tensor.Uint16:
		return warpPlanes[uint16](k, b, out, in, v, h, w, &m)
	case tensor.Int16:
		return warpPlanes[int16](k, b, out, in, v, h, w, &m)
	}
	return warpPlanes[float32](k, b, out, in, v, h, w, &m)
}

// transform returns the matrix that maps centres of pixels of the output to the input.
func (k *perspective) transform(b *op.Block, s int) (m [3][3]float64, err error) {
	var values [mostDims * mostDims]float32
	var n int
	if b.Inputs() > 1 {
		var list []float32
		list, err = tensor.Of[float32](b.In(1, s))
		if n = len(list); len(b.In(1, s).Shape) != 2 {
			n = 0
		}
		copy(values[:], list)
	} else {
		n, err = k.matrix.at(b, s, &values)
	}
	if err != nil {
		return m, err
	}
	if n != 9 {
		return m, &errs.Error{Kind: errs.Invalid, Subject: "matrix", Want: "three rows and columns",
			Got: fmt.Sprintf("%d values", n)}
	}
	var f [3][3]float32
	for i := range 9 {
		f[i/3][i%3] = values[i]
	}
	if !k.center {
		for i := range f { // points count from the corner: half a pixel is added before and taken off after
			f[i][2] += float32(f[i][0]*0.5) + float32(f[i][1]*0.5)
		}
		for j := range 3 {
			f[0][j] -= float32(f[2][j] * 0.5)
			f[1][j] -= float32(f[2][j] * 0.5)
		}
	}
	for i := range f {
		for j := range f {
			m[i][j] = float64(f[i][j])
		}
	}
	if !k.inverse {
		return inverse3(m)
	}
	return m, nil
}

// inverse3 inverts a matrix by its cofactors.
func inverse3(m [3][3]float64) (out [3][3]float64, err error) {
	minor := func(a, b, c, d int) float64 { return float64(m[a][c]*m[b][d]) - float64(m[a][d]*m[b][c]) }
	det := float64(m[0][0]*minor(1, 2, 1, 2)) - float64(m[0][1]*minor(1, 2, 0, 2)) + float64(m[0][2]*minor(1, 2, 0, 1))
	if det == 0 || det != det {
		return out, &errs.Error{Kind: errs.Invalid, Subject: "matrix", Want: "a transform that has an inverse",
			Got: fmt.Sprint(m)}
	}
	for i := range 3 {
		for j := range 3 {
			a, b, c, d := (i+1)%3, (i+2)%3, (j+1)%3, (j+2)%3
			out[j][i] = minor(a, b, c, d) * (1 / det)
		}
	}
	return out, nil
}
