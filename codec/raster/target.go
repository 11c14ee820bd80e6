package raster

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/errs"
)

// target is the place to which the pixels of an image are written directly.
type target struct {
	dst    []byte
	o      Output
	stored Header
	pixel  int // bytes of a pixel in dst
}

// To makes img write the window that o describes to dst instead of keeping the image. dst must have
// the length of the window in the type of o. Call To before Reset.
func (img *Image) To(dst []byte, o Output) {
	img.target = target{dst: dst, o: o}
	img.to = &img.target
}

// Release drops the references that To got.
func (img *Image) Release() { img.to, img.target = nil, target{} }

// begin checks that the window lies in an image with header h.
func (t *target) begin(h Header) error {
	t.stored = h
	o := &t.o
	t.pixel = o.Color.Channels(h.Channels) * o.DType.Size()
	width, height := exif.Size(h.Width, h.Height, o.Orientation)
	if o.X < 0 || o.Y < 0 || o.W < 0 || o.H < 0 || o.X > width-o.W || o.Y > height-o.H || len(t.dst) != o.W*o.H*t.pixel {
		return &errs.Error{Kind: errs.Invalid, Op: "raster.To", Want: fmt.Sprintf("a window of the image of %dx%d", width, height),
			Got: fmt.Sprintf("%dx%d at row %d, column %d in %d bytes", o.W, o.H, o.Y, o.X, len(t.dst))}
	}
	if o.Color == Any && h.Mixed {
		return Unsupported("raster", fmt.Sprintf("%d channels without conversion", h.Channels))
	}
	return nil
}

// place returns the place of the stored pixel (x, y) in the turned image.
func (t *target) place(x, y int) (tx, ty int) {
	w, h := t.stored.Width-1, t.stored.Height-1
	switch t.o.Orientation {
	case 2:
		return w - x, y
	case 3:
		return w - x, h - y
	case 4:
		return x, h - y
	case 5:
		return y, x
	case 6:
		return h - y, x
	case 7:
		return h - y, w - x
	case 8:
		return y, w - x
	}
	return x, y
}

// Row returns memory for n pixels of 8 bits, for Put. Row16 and RowFloats do the same for other
// depths.
func (img *Image) Row(n int) []uint8 {
	img.line8 = Grow(img.line8, n*img.Channels)
	return img.line8
}

// Row16 returns memory for n pixels of 16 bits, for Put16.
func (img *Image) Row16(n int) []uint16 {
	img.line16 = Grow(img.line16, n*img.Channels)
	return img.line16
}

// RowFloats returns memory for n pixels of float32, for PutFloats.
func (img *Image) RowFloats(n int) []float32 {
	img.lineF = Grow(img.lineF, n*img.Channels)
	return img.lineF
}

// Put takes pixels of stored row y of an image with 8 bits: the pixel of column x and the pixels
// that follow it step apart. It returns the error of Limits.Check.
func (img *Image) Put(y, x, step int, pix []uint8) error {
	if img.to == nil {
		keep(img.Pix, img, y, x, step, pix)
	} else if n := len(pix) / img.Channels; img.to.wants(y, x, step, n) {
		img.write(y, x, step, n, pix, nil, nil)
	}
	return img.Limits.Interrupted()
}

// Put16 works like Put for images with 16 bits.
func (img *Image) Put16(y, x, step int, pix []uint16) error {
	if img.to == nil {
		keep(img.Wide, img, y, x, step, pix)
	} else if n := len(pix) / img.Channels; img.to.wants(y, x, step, n) {
		img.write(y, x, step, n, nil, pix, nil)
	}
	return img.Limits.Interrupted()
}

// PutFloats works like Put for images of float32.
func (img *Image) PutFloats(y, x, step int, pix []float32) error {
	if img.to == nil {
		keep(img.Floats, img, y, x, step, pix)
	} else if n := len(pix) / img.Channels; img.to.wants(y, x, step, n) {
		img.write(y, x, step, n, nil, nil, pix)
	}
	return img.Limits.Interrupted()
}

// keep copies pixels to their place in a kept image.
func keep[T any](all []T, img *Image, y, x, step int, pix []T) {
	c := img.Channels
	at := (y*img.Width + x) * c
	if step == 1 {
		copy(all[at:], pix)
		return
	}
	for ; len(pix) >= c; pix = pix[c:] {
		copy(all[at:at+c], pix[:c])
		at += step * c
	}
}

// wants reports whether any of n pixels lies in the window. It may return true for a row that is
// only near the window.
func (t *target) wants(y, x, step, n int) bool {
	if n == 0 {
		return false
	}
	x0, y0 := t.place(x, y)
	x1, y1 := t.place(x+(n-1)*step, y)
	o := &t.o
	return max(x0, x1) >= o.X && min(x0, x1) < o.X+o.W && max(y0, y1) >= o.Y && min(y0, y1) < o.Y+o.H
}

// write converts n pixels and writes the pixels in the window to their place.
func (img *Image) write(y, x, step, n int, pix8 []uint8, pix16 []uint16, floats []float32) {
	t := img.to
	o, size := &t.o, t.pixel
	if o.Orientation <= 1 && step == 1 {
		from, to := max(x, o.X), min(x+n, o.X+o.W)
		skip, at := (from-x)*img.Channels, ((y-o.Y)*o.W+from-o.X)*size
		img.convert(t.dst[at:at+(to-from)*size], after(pix8, skip), after(pix16, skip), after(floats, skip), to-from, o)
		return
	}
	img.bytes = Grow(img.bytes, n*size)
	img.convert(img.bytes, pix8, pix16, floats, n, o)
	tx, ty := t.place(x, y)
	nx, ny := t.place(x+step, y)
	dx, dy := nx-tx, ny-ty
	tx, ty = tx-o.X, ty-o.Y
	for from := img.bytes; len(from) > 0; from = from[size:] {
		if uint(tx) < uint(o.W) && uint(ty) < uint(o.H) {
			copy(t.dst[(ty*o.W+tx)*size:][:size], from)
		}
		tx, ty = tx+dx, ty+dy
	}
}

// after returns p from element n on; nil stays nil.
func after[T any](p []T, n int) []T {
	if p == nil {
		return nil
	}
	return p[n:]
}
