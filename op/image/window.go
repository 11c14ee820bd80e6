package image

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// windowParams are the parameters of all operators that crop, as DALI has them.
func windowParams() []op.Parameter {
	return []op.Parameter{
		{Name: "crop", Type: op.Floats, PerSample: true, Doc: "Height and width of the window; 0 is the whole axis. Excludes crop_h and crop_w."},
		{Name: "crop_h", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Height of the window; given together with crop_w."},
		{Name: "crop_w", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Width of the window; given together with crop_h."},
		{Name: "crop_pos_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Where the window lies horizontally: 0 at the left edge, 1 at the right."},
		{Name: "crop_pos_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Where the window lies vertically: 0 at the top, 1 at the bottom."},
		{Name: "rounding", Type: op.String, Default: "round", Doc: `How the position becomes a pixel: "round" (half away from zero) or "truncate".`},
		{Name: "out_of_bounds_policy", Type: op.String, Default: "error",
			Doc: `What happens when the window leaves the image: "error", "pad" with fill_values, or "trim_to_shape".`},
		{Name: "fill_values", Type: op.Floats, Default: []float64{0}, Doc: "Values of padded pixels, one for all channels or one each."},
	}
}

// rect is a window: y, x of its corner, height and width.
type rect struct{ y, x, h, w int }

// clip returns the part of r inside an image of h x w.
func (r rect) clip(h, w int) rect {
	y0, x0 := min(max(r.y, 0), h), min(max(r.x, 0), w)
	y1, x1 := min(max(r.y+r.h, y0), h), min(max(r.x+r.w, x0), w)
	return rect{y0, x0, y1 - y0, x1 - x0}
}

type boundsPolicy uint8

const (
	boundsError boundsPolicy = iota
	boundsPad
	boundsTrim
)

// window computes the crop window of a sample.
type window struct {
	crop       op.Vector[float64]
	h, w, x, y op.Scalar[float64]
	list       bool // crop is given
	pair       bool // crop_h and crop_w are given
	truncate   bool
	policy     boundsPolicy
	fill       []float64
}

func newWindow(c *op.Config) (*window, error) {
	w := &window{
		crop: op.GetVector[float64](c, "crop"), list: c.Has("crop"),
		h: op.GetScalar[float64](c, "crop_h"), w: op.GetScalar[float64](c, "crop_w"),
		x: op.GetScalar[float64](c, "crop_pos_x"), y: op.GetScalar[float64](c, "crop_pos_y"),
		fill: op.Get[[]float64](c, "fill_values"),
	}
	given := func(s op.Scalar[float64]) bool { v, constant := s.Const(); return !constant || v != 0 }
	if given(w.h) != given(w.w) {
		return nil, c.Invalid("crop_h", "crop_h and crop_w together", "one of them", "")
	}
	w.pair = given(w.h)
	if w.pair && w.list {
		return nil, c.Invalid("crop", "either crop or crop_h and crop_w", "both", "")
	}
	if v, constant := w.crop.Const(); w.list && constant && len(v) != 2 {
		return nil, c.Invalid("crop", "height and width", fmt.Sprintf("%d values", len(v)), "")
	}
	switch r := op.Get[string](c, "rounding"); r {
	case "round":
	case "truncate":
		w.truncate = true
	default:
		return nil, c.Invalid("rounding", `"round" or "truncate"`, fmt.Sprintf("%q", r), "")
	}
	switch p := op.Get[string](c, "out_of_bounds_policy"); p {
	case "error":
	case "pad":
		w.policy = boundsPad
	case "trim_to_shape":
		w.policy = boundsTrim
	default:
		return nil, c.Invalid("out_of_bounds_policy", `"error", "pad" or "trim_to_shape"`, fmt.Sprintf("%q", p), "")
	}
	if len(w.fill) == 0 {
		return nil, c.Invalid("fill_values", "at least one value", "none", "")
	}
	return w, nil
}

// infer returns height and width of the window for such an input, -1 where the
// data decides.
func (w *window) infer(in tensor.Spec) (height, width int) {
	height, width = -1, -1
	if in.Shape != nil {
		height, width = in.Shape[0], in.Shape[1]
	}
	set := func(dim *int, size float64, constant bool) {
		switch {
		case !constant, w.policy == boundsTrim:
			*dim = -1
		case size != 0:
			*dim = extent(size)
		}
	}
	switch {
	case w.list:
		v, constant := w.crop.Const()
		if !constant {
			return -1, -1
		}
		set(&height, v[0], true)
		set(&width, v[1], true)
	case w.pair:
		h, constant := w.h.Const()
		set(&height, h, constant)
		v, constant := w.w.Const()
		set(&width, v, constant)
	}
	return height, width
}

// extent rounds a size, which is at most MaxInt32 where it matters.
func extent(size float64) int { return int(op.Round[int32](size)) }

// at returns the window of sample s in an image of h x w. It may lie outside
// the image only with boundsPad.
func (w *window) at(b *op.Block, s, h, width int) (rect, error) {
	size := [2]float64{}
	switch {
	case w.list:
		var buf [2]float64
		v, err := w.crop.At(b, s, buf[:])
		if err != nil {
			return rect{}, err
		}
		if len(v) != 2 {
			return rect{}, &errs.Error{Kind: errs.Mismatch, Subject: "argument crop", Want: "height and width", Got: fmt.Sprintf("%d values", len(v))}
		}
		size = [2]float64{v[0], v[1]}
	case w.pair:
		var err error
		if size[0], err = w.h.At(b, s); err != nil {
			return rect{}, err
		}
		if size[1], err = w.w.At(b, s); err != nil {
			return rect{}, err
		}
	}
	in, anchor, out := [2]int{h, width}, [2]int{}, [2]int{}
	for axis, pos := range [2]*op.Scalar[float64]{&w.y, &w.x} {
		p, err := pos.At(b, s)
		if err != nil {
			return rect{}, err
		}
		if !(size[axis] >= 0 && size[axis] <= math.MaxInt32) || !(math.Abs(p) <= math.MaxInt32) {
			return rect{}, &errs.Error{Kind: errs.Invalid, Subject: "crop window", Got: fmt.Sprintf("size %g at position %g", size[axis], p)}
		}
		if out[axis] = in[axis]; size[axis] != 0 {
			out[axis] = extent(size[axis])
		}
		start := p * float64(in[axis]-out[axis])
		if w.truncate {
			anchor[axis] = int(start)
		} else {
			anchor[axis] = int(math.Round(start))
		}
	}
	r := rect{anchor[0], anchor[1], out[0], out[1]}
	clipped := r.clip(h, width)
	switch {
	case clipped == r || w.policy == boundsPad:
		return r, nil
	case w.policy == boundsTrim:
		return clipped, nil
	}
	return rect{}, &errs.Error{Kind: errs.Invalid, Subject: "crop window",
		Want: fmt.Sprintf("a part of the image of %dx%d", h, width), Got: fmt.Sprintf("%dx%d at row %d, column %d", r.h, r.w, r.y, r.x),
		Remedy: `set out_of_bounds_policy to "pad" or "trim_to_shape"`}
}
