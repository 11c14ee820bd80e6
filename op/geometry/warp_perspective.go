package geometry

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/kernel"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
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

// depth is the constraint of elements of pixels.
type depth interface {
	uint8 | uint16 | int16 | float32
}

// warped warps planes of one type.
type warped[T depth] struct {
	k       *perspective
	src     []T
	h, w, c int
	fill    [4]T
	xs, ys  []float32
	cells   *kernel.Cells // nil unless pixels are bytes and are mixed
	patches *kernel.Patches
}

func warpPlanes[T depth](k *perspective, b *op.Block, out, in tensor.Tensor, v planes, h, w int,
	m *[3][3]float64) error {
	p := warped[T]{k: k, h: v.h, w: v.w, c: v.channels, xs: op.Scratch[float32](b, w), ys: op.Scratch[float32](b, w)}
	for i := range p.fill {
		fill := 0.0
		if len(k.fill) > 0 {
			fill = float64(float32(k.fill[min(i, len(k.fill)-1)]))
		}
		p.fill[i] = evenly[T](float32(fill))
	}
	if k.cubic {
		return warpCubic(&p, b, out, in, v, h, w, m)
	}
	if in.DType == tensor.Uint8 && !k.nearest {
		cells := kernel.NewCells(v.w, v.h, op.Scratch[int32](b, w), op.Scratch[float32](b, w), op.Scratch[float32](b, w))
		p.cells, p.patches = &cells, op.PerWorker[kernel.Patches](b)
	}
	all, to := element.View[T](in.Data), element.View[T](out.Data)
	size := v.h * v.w * v.channels
	// Pixels of two channels, and int16, have weights of five bits, as in the reference.
	coarse := !k.nearest && (v.channels == 2 || in.DType == tensor.Int16)
	for f := range v.frames {
		p.src = all[f*size : (f+1)*size]
		for y := range h {
			row := to[(f*h+y)*w*v.channels : (f*h+y+1)*w*v.channels]
			if coarse {
				p.coarse(row, y, m)
				continue
			}
			p.points(y, m)
			if k.nearest {
				p.nearest(row)
			} else {
				p.linear(row)
			}
		}
	}
	return nil
}

// points computes the points of row y. Blocks of 16 columns add in another order than the rest.
func (p *warped[T]) points(y int, m *[3][3]float64) {
	w, fy := len(p.xs), float32(y)
	blocks := w &^ 15
	var start, slope, by [3]float32
	for i := range m {
		slope[i] = float32(m[i][0])
		by[i] = float32(m[i][1]) * fy
		start[i] = by[i] + float32(m[i][2])
	}
	kernel.Project(p.xs[:blocks], p.ys[:blocks], &start, &slope)
	for x := blocks; x < w; x++ {
		at := func(i int) float32 { return kernel.Fuse(slope[i], float32(x), by[i]) + float32(m[i][2]) }
		p.xs[x], p.ys[x] = at(0)/at(2), at(1)/at(2)
	}
}

// place returns a float as an int of 32 bits; what has no place there is the least.
func place(v float32) int {
	if v >= math.MinInt32 && v < math.MaxInt32 {
		return int(v)
	}
	return math.MinInt32
}

// at returns the pixel at row y and column x.
func (p *warped[T]) at(y, x int) []T {
	if uint(y) >= uint(p.h) || uint(x) >= uint(p.w) {
		if y, x = p.k.border(y, p.h), p.k.border(x, p.w); y < 0 || x < 0 {
			return p.fill[:p.c]
		}
	}
	i := (y*p.w + x) * p.c
	return p.src[i : i+p.c]
}

func (p *warped[T]) nearest(row []T) {
	for i, x := range p.xs {
		copy(row[i*p.c:(i+1)*p.c], p.at(place(float32(math.RoundToEven(float64(p.ys[i])))),
			place(float32(math.RoundToEven(float64(x))))))
	}
}

// linear makes a row.
func (p *warped[T]) linear(row []T) {
	if q, ok := any(p).(*warped[uint8]); ok {
		linearBytes(q, any(row).([]uint8))
		return
	}
	for i, x := range p.xs {
		y := p.ys[i]
		fx, fy := float32(math.Floor(float64(x))), float32(math.Floor(float64(y)))
		a, b := x-fx, y-fy
		ix, iy := place(fx), place(fy)
		p00, p01, p10, p11 := p.at(iy, ix), p.at(iy, ix+1), p.at(iy+1, ix), p.at(iy+1, ix+1)
		for c := range p.c {
			above := between(a, float32(p00[c]), float32(p01[c]))
			below := between(a, float32(p10[c]), float32(p11[c]))
			row[i*p.c+c] = evenly[T](between(b, above, below))
		}
	}
}

// linearBytes makes a row of bytes, many pixels at a time. Pixels that are not inside the image are
// copied first.
func linearBytes(p *warped[uint8], row []uint8) {
	p.cells.Find(p.xs, p.ys)
	for i := 0; i < len(p.xs); {
		n, inside := p.cells.Run(i)
		if inside {
			p.cells.Blend(row[i*p.c:(i+n)*p.c], p.src, i, n, p.c)
			i += n
			continue
		}
		n = min(n, kernel.MostPatches)
		for k := range n {
			upper, lower := p.patches.Around(k, p.c)
			y := place(float32(math.Floor(float64(p.ys[i+k]))))
			x := place(float32(math.Floor(float64(p.xs[i+k]))))
			copy(upper, p.at(y, x))
			copy(upper[p.c:], p.at(y, x+1))
			copy(lower, p.at(y+1, x))
			copy(lower[p.c:], p.at(y+1, x+1))
		}
		p.cells.BlendPatches(row[i*p.c:(i+n)*p.c], p.patches, i, n, p.c)
		i += n
	}
}

// between returns the value at a of the line from p to q.
func between(a, p, q float32) float32 { return kernel.Fuse(a, q-p, p) }

// coarse warps row y with points in units of 1/32.
func (p *warped[T]) coarse(row []T, y int, m *[3][3]float64) {
	for i := range len(row) / p.c {
		fx, fy := float64(i), float64(y)
		at := func(k int) float64 { return float64(m[k][0]*fx) + (float64(m[k][1]*fy) + m[k][2]) }
		w := at(2)
		if w != 0 {
			w = 32 / w
		}
		x32, y32 := place64(at(0)*w), place64(at(1)*w)
		ix, iy := x32>>5, y32>>5
		a, b := float32(x32&31)/32, float32(y32&31)/32
		p00, p01, p10, p11 := p.at(iy, ix), p.at(iy, ix+1), p.at(iy+1, ix), p.at(iy+1, ix+1)
		w00, w01, w10, w11 := (1-b)*(1-a), (1-b)*a, b*(1-a), b*a
		for c := range p.c {
			v := float32(float32(p00[c])*w00) + float32(float32(p01[c])*w01)
			v += float32(float32(p10[c]) * w10)
			v += float32(float32(p11[c]) * w11)
			if _, bytes := any(row).([]uint8); bytes {
				v = float32(math.Floor(float64(v) + 0.5))
			}
			row[i*p.c+c] = evenly[T](v)
		}
	}
}

func place64(v float64) int {
	if v = math.RoundToEven(v); v >= math.MinInt32 && v <= math.MaxInt32 {
		return int(v)
	}
	return math.MinInt32
}

// evenly converts a float to a type; integers are rounded half to even and saturated.
func evenly[T depth](v float32) (out T) {
	switch p := any(&out).(type) {
	case *float32:
		*p = v
	case *uint8:
		*p = uint8(min(max(place(float32(math.RoundToEven(float64(v)))), 0), math.MaxUint8))
	case *uint16:
		*p = uint16(min(max(place(float32(math.RoundToEven(float64(v)))), 0), math.MaxUint16))
	case *int16:
		*p = int16(min(max(place(float32(math.RoundToEven(float64(v)))), math.MinInt16), math.MaxInt16))
	}
	return out
}
