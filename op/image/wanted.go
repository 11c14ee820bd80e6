package image

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/resample"
	"github.com/bivouac-ml/bivouac/op/internal/window"
)

// wanted returns the part of an image that lies in the window of sample s. ok is false if there is
// no such part, or if Run will report a mistake.
func wanted(w *window.Crop, b *op.Block, s, height, width int) (op.Region, bool) {
	box, err := w.At(b, s, window.NoDepth, height, width)
	if err != nil {
		return op.Region{}, false
	}
	box = box.Clip(1, height, width)
	return op.Region{Y: box.Y, X: box.X, H: box.H, W: box.W}, box.H > 0 && box.W > 0
}

// Region implements op.Regional.
func (k *crop) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	return wanted(k.window, b, s, height, width)
}

// Region implements op.Regional.
func (k *cropMirrorNormalize) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	return wanted(k.window, b, s, height, width)
}

// Region implements op.Regional: the window that will be drawn, and the margin that the filter
// needs.
func (k *randomResizedCrop) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	w := k.windows.Draw(b.RNG(s), height, width)
	return k.reach(b, s, height, width, [2]target{
		{size: k.height, lo: float64(w.Y), hi: float64(w.Y + w.H)},
		{size: k.width, lo: float64(w.X), hi: float64(w.X + w.W)},
	})
}

// Region implements op.Regional: the part that is resized, and the margin that the filter needs.
func (k *resize) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	var buf [2]target
	if !k.size.roi.given {
		return op.Region{}, false
	}
	t, err := k.size.at(b, s, []int{height, width}, buf[:0])
	if err != nil {
		return op.Region{}, false
	}
	return k.reach(b, s, height, width, [2]target(t))
}

// Region implements op.Regional: the window, and the margin that the filter needs.
func (k *resizeCropMirror) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	var buf [2]target
	t, err := k.size.at(b, s, []int{height, width}, buf[:0])
	if err != nil {
		return op.Region{}, false
	}
	box, err := k.window.At(b, s, 1, t[0].size, t[1].size)
	if err != nil {
		return op.Region{}, false
	}
	t[0].cut(window.Span{Start: box.Y, Size: box.H}, false)
	t[1].cut(window.Span{Start: box.X, Size: box.W}, false)
	return k.reach(b, s, height, width, [2]target(t))
}

// reach returns the part of an image that is read to compute the targets t.
func (k *resizer) reach(b *op.Block, s, height, width int, t [2]target) (op.Region, bool) {
	minimum, magnify, err := k.filters(b, s)
	if err != nil {
		return op.Region{}, false
	}
	reach := func(in int, t target) (from, n int) {
		a := resample.Axis{In: in, Out: t.size, Lo: float32(t.lo), Hi: float32(t.hi),
			Min: minimum, Mag: magnify}
		from, to := a.Reach()
		return from, to - from
	}
	if height == 0 || width == 0 || t[0].size == 0 || t[1].size == 0 {
		return op.Region{}, false
	}
	var r op.Region
	r.Y, r.H = reach(height, t[0])
	r.X, r.W = reach(width, t[1])
	return r, r.H > 0 && r.W > 0
}
