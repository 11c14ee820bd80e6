package window

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// CropParams returns the parameters that NewCrop reads.
func CropParams() []op.Parameter {
	return []op.Parameter{
		{Name: "crop", Type: op.Floats, PerSample: true, Doc: "Height and width of the window, or depth, height and width; 0 means the whole axis. Not together with crop_d, crop_h and crop_w."},
		{Name: "crop_d", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Depth of the window of a volume, or number of frames of the window of a sequence; given together with crop_h and crop_w."},
		{Name: "crop_h", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Height of the window; given together with crop_w."},
		{Name: "crop_w", Type: op.Float, Default: 0.0, PerSample: true, Doc: "Width of the window; given together with crop_h."},
		{Name: "crop_pos_x", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Horizontal place of the window: 0 at the left edge, 1 at the right edge."},
		{Name: "crop_pos_y", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Vertical place of the window: 0 at the top, 1 at the bottom."},
		{Name: "crop_pos_z", Type: op.Float, Default: 0.5, PerSample: true, Doc: "Place of the window along the depth of a volume or the time of a sequence: 0 at the front, 1 at the back."},
		{Name: "rounding", Type: op.String, Default: "round", Doc: `How the position becomes a pixel: "round" (half away from zero) or "truncate".`},
	}
}

// NoDepth stands for the depth of an image, which has no depth axis.
const NoDepth = -1

// Crop computes the windows of cropping operators. It is immutable and safe for
// concurrent use.
type Crop struct {
	crop      op.Vector[float64]
	size, pos [3]op.Scalar[float64] // depth, height, width
	list      bool                  // crop is given
	pair      bool                  // crop_h and crop_w are given
	truncate  bool
	policy    Policy
}

// NewCrop reads the arguments of CropParams. policy says what happens to windows that extend
// outside the image.
func NewCrop(c *op.Config, policy Policy) (*Crop, error) {
	scalars := func(names ...string) (s [3]op.Scalar[float64]) {
		for i, name := range names {
			s[i] = op.GetScalar[float64](c, name)
		}
		return s
	}
	w := &Crop{
		crop: op.GetVector[float64](c, "crop"), list: c.Has("crop"),
		size:   scalars("crop_d", "crop_h", "crop_w"),
		pos:    scalars("crop_pos_z", "crop_pos_y", "crop_pos_x"),
		policy: policy,
	}
	given := func(s op.Scalar[float64]) bool { v, constant := s.Const(); return !constant || v != 0 }
	if given(w.size[1]) != given(w.size[2]) {
		return nil, c.Invalid("crop_h", "crop_h and crop_w together", "only one of them", "")
	}
	w.pair = given(w.size[1])
	if given(w.size[0]) && !w.pair {
		return nil, c.Invalid("crop_d", "crop_d together with crop_h and crop_w", "only crop_d", "")
	}
	if w.pair && w.list {
		return nil, c.Invalid("crop", "either crop, or crop_h and crop_w", "both", "")
	}
	if v, constant := w.crop.Const(); w.list && constant && len(v) != 2 && len(v) != 3 {
		return nil, c.Invalid("crop", "height and width, or depth, height and width", fmt.Sprintf("%d values", len(v)), "")
	}
	switch r := op.Get[string](c, "rounding"); r {
	case "round":
	case "truncate":
		w.truncate = true
	default:
		return nil, c.Invalid("rounding", `"round" or "truncate"`, fmt.Sprintf("%q", r), "")
	}
	return w, nil
}

// Infer returns the size of the windows of images or volumes of the given size. -1 means that a
// size is known only from the data.
func (w *Crop) Infer(depth, height, width int) (d, h, l int) {
	size := [3]int{depth, height, width}
	set := func(axis int, v float64, constant bool) {
		switch {
		case !constant || w.policy == Trim:
			size[axis] = -1
		case extent(v) != 0:
			size[axis] = extent(v)
		}
	}
	switch {
	case w.list:
		v, constant := w.crop.Const()
		if !constant {
			return -1, -1, -1
		}
		for i := range v {
			set(3-len(v)+i, v[i], true)
		}
	case w.pair:
		for axis := range size {
			v, constant := w.size[axis].Const()
			set(axis, v, constant)
		}
	}
	return size[0], size[1], size[2]
}

// extent returns a size as a number of elements. Like DALI, it converts the size to float32 and
// truncates it. The result is limited to MaxInt32.
func extent(size float64) int { return int(op.Round[int32](math.Trunc(float64(float32(size))))) }

// At returns the window of sample s in a volume, a sequence, or an image (whose depth is NoDepth).
// The depth of the window has no effect on images. The window may lie outside only with Pad.
func (w *Crop) At(b *op.Block, s, depth, height, width int) (Box, error) {
	size, err := w.sizes(b, s)
	if err != nil {
		return Box{}, err
	}
	if depth == NoDepth {
		depth, size[0] = 1, 0
	}
	in, start, out := [3]int{depth, height, width}, [3]int{}, [3]int{}
	for axis := range in {
		p, err := w.pos[axis].At(b, s)
		if err != nil {
			return Box{}, err
		}
		if !(size[axis] >= 0 && size[axis] <= math.MaxInt32) || !(p >= 0 && p <= 1) {
			return Box{}, &errs.Error{Kind: errs.Invalid, Subject: "crop window", Want: "a size of at least 0 at a position from 0 to 1",
				Got: fmt.Sprintf("size %g at position %g", size[axis], p)}
		}
		if out[axis] = in[axis]; extent(size[axis]) != 0 {
			out[axis] = extent(size[axis])
		}
		at := float64(float32(p)) * float64(in[axis]-out[axis])
		if !w.truncate {
			at = math.Round(at)
		}
		start[axis] = int(at)
	}
	box := Box{start[0], start[1], start[2], out[0], out[1], out[2]}
	clipped := box.Clip(depth, height, width)
	switch {
	case clipped == box || w.policy == Pad:
		return box, nil
	case w.policy == Trim:
		return clipped, nil
	}
	return Box{}, &errs.Error{Kind: errs.Invalid, Subject: "crop window",
		Want: fmt.Sprintf("a part of the image of %dx%d", height, width), Got: fmt.Sprintf("%dx%d at row %d, column %d", box.H, box.W, box.Y, box.X),
		Remedy: remedyBounds}
}

// sizes returns the requested depth, height and width; 0 means the whole axis.
func (w *Crop) sizes(b *op.Block, s int) (size [3]float64, err error) {
	switch {
	case w.list:
		var buf [3]float64
		v, err := w.crop.At(b, s, buf[:])
		if err != nil {
			return size, err
		}
		if len(v) != 2 && len(v) != 3 {
			return size, &errs.Error{Kind: errs.Mismatch, Subject: "argument crop", Want: "height and width", Got: fmt.Sprintf("%d values", len(v))}
		}
		copy(size[3-len(v):], v)
	case w.pair:
		for axis := range size {
			if size[axis], err = w.size[axis].At(b, s); err != nil {
				return size, err
			}
		}
	}
	return size, nil
}
