// Package window computes the part of an array that the arguments of cropping and slicing operators
// select. Several families of operators cut windows out of images while they decode, resize or
// convert them. Their arguments have the same meaning everywhere.
//
//	Crop   size (crop, crop_d, crop_h, crop_w) and place (crop_pos_x, _y, _z) in images
//	Slice  start, end and extent along named or numbered axes of any array
//	Bounds what becomes of a window that leaves the array
//
// Sizes and positions are computed as in DALI. A crop position is a fraction of the free room
// around the window: start = round(position * (extent - size)) in float32. The ends of a slice are
// rounded half away from zero. Relative arguments are multiplied by the extent in float32. Relative
// inputs, and the sum of rel_start and rel_shape, are multiplied in float64.
package window

import (
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// Span is a part of one axis. It may extend beyond the axis on both sides.
type Span struct{ Start, Size int }

// Clip returns the part of s inside an axis of the given extent.
func (s Span) Clip(extent int) Span {
	start := min(max(s.Start, 0), extent)
	return Span{start, min(max(s.Start+s.Size, start), extent) - start}
}

// Box is a window of a volume or, with Z 0 and D 1, of an image.
type Box struct{ Z, Y, X, D, H, W int }

// Clip returns the part of b inside a volume of d x h x w.
func (b Box) Clip(d, h, w int) Box {
	z, y, x := Span{b.Z, b.D}.Clip(d), Span{b.Y, b.H}.Clip(h), Span{b.X, b.W}.Clip(w)
	return Box{z.Start, y.Start, x.Start, z.Size, y.Size, x.Size}
}

// Policy says what happens to a window that extends outside the array.
type Policy uint8

// The policies.
const (
	Error Policy = iota // the sample fails
	Pad                 // the part outside is filled
	Trim                // the window becomes smaller
)

// BoundsParams returns the parameters that ReadBounds reads.
func BoundsParams() []op.Parameter {
	return []op.Parameter{
		{Name: "out_of_bounds_policy", Type: op.String, Default: "error",
			Doc: `What happens if the window extends outside the data: "error", "pad" with fill_values, or "trim_to_shape".`},
		{Name: "fill_values", Type: op.Floats, Default: []float64{0}, Doc: "Values of padded elements: one for all channels, or one for each."},
	}
}

// Bounds holds a policy and the values that Pad uses, at least one.
type Bounds struct {
	Policy Policy
	Fill   []float64
}

// ReadBounds reads the arguments of BoundsParams.
func ReadBounds(c *op.Config) (Bounds, error) {
	b := Bounds{Fill: op.Get[[]float64](c, "fill_values")}
	switch p := op.Get[string](c, "out_of_bounds_policy"); p {
	case "error":
	case "pad":
		b.Policy = Pad
	case "trim_to_shape":
		b.Policy = Trim
	default:
		return b, c.Invalid("out_of_bounds_policy", `"error", "pad" or "trim_to_shape"`, fmt.Sprintf("%q", p), "")
	}
	if len(b.Fill) == 0 {
		return b, c.Invalid("fill_values", "at least one value", "no value", "")
	}
	return b, nil
}

// Fit applies the policy in place to a window of an array of the given shape. With Trim, spans
// become smaller. With Error, a span outside its axis is an error.
func (p Policy) Fit(spans []Span, shape []int) error {
	for i, s := range spans {
		inside := s.Clip(shape[i])
		switch {
		case inside == s || p == Pad:
		case p == Trim:
			spans[i] = inside
		default:
			return &errs.Error{Kind: errs.Invalid, Subject: "window", Want: fmt.Sprintf("a part of data of shape %v", slices.Clone(shape)), // so that shape itself need not be on the heap
				Got: fmt.Sprintf("from %d to %d on axis %d", s.Start, s.Start+s.Size, i), Remedy: remedyBounds}
		}
	}
	return nil
}

const remedyBounds = `operators that have out_of_bounds_policy take "pad" or "trim_to_shape"`
