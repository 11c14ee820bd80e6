package image

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/resample"
	"github.com/bivouac-ml/bivouac/op/internal/window"
)

// wanted returns the part of an image that lies in the window of sample s. Where
// there is none, or a mistake that Run will tell, it is not known.
func wanted(w *window.Crop, b *op.Block, s, height, width int) (op.Region, bool) {
	box, err := w.At(b, s, 1, height, width)
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

// Region implements op.Regional: the window that will be drawn, and what the filter
// reaches around it.
func (k *randomResizedCrop) Region(b *op.Block, s, height, width int) (op.Region, bool) {
	minimum, err := k.min.at(b, s)
	if err != nil {
		return op.Region{}, false
	}
	magnify, err := k.mag.at(b, s)
	if err != nil {
		return op.Region{}, false
	}
	w := k.windows.Draw(b.RNG(s), height, width)
	reach := func(in, out, lo, hi int) (from, n int) {
		a := resample.Axis{In: in, Out: out, Lo: float32(lo), Hi: float32(hi),
			Min: resample.Filter{Kind: minimum, Antialias: k.antialias}, Mag: resample.Filter{Kind: magnify, Antialias: k.antialias}}
		from, to := a.Reach()
		return from, to - from
	}
	var r op.Region
	r.Y, r.H = reach(height, k.height, w.Y, w.Y+w.H)
	r.X, r.W = reach(width, k.width, w.X, w.X+w.W)
	return r, r.H > 0 && r.W > 0
}
