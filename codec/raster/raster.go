// Package raster holds decoded images as their files store them, and what all
// decoders of images but that of JPEG have in common: limits, and the conversion to
// the colour space, type, window and orientation that is asked for.
//
// # Conversion
//
// Samples have 8 or 16 bits, or are float32 with 1 as full intensity. They are first brought into
// the colour space, then to the type, always as fractions of the largest value:
//
//	RGB, BGR  gray is repeated, alpha dropped
//	Gray      the formula of the library that reads the format in DALI, see Luma
//	YCbCr     BT.601 in studio range, in one step with the type:
//	          Y = L/16 + 0.25678823529 R + 0.50412941176 G + 0.09790588235 B, …, where
//	          L is 2 to the number of bits of the type, 1 for float32
//	Any       the channels as they are stored
//
//	uint8     of 16 bits (v + 128) / 257
//	integers  v * largest / (255, 65535 or 1), rounded to the nearest
//	float32   v * (1/255, 1/65535 or 1)
//
// These are the numbers of DALI 2.4.
package raster

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/errs"
)

// Header describes an image before it is decoded.
type Header struct {
	Width, Height int // as stored
	Channels      int // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha or inks
	Depth         int // bits a sample once decoded: 8, 16 or Float
	Luma          Luma
	Orientation   int // 1..8 as in EXIF; 1 when there is none
	// Mixed marks channels that cannot be put out as they are stored: inks, and gray
	// with alpha in formats whose readers elsewhere refuse it.
	Mixed bool
}

// Float is the Depth of images whose samples are float32.
const Float = 32

// Luma is the formula by which colours of a format become gray.
type Luma uint8

// The formulas. They differ by one level in some pixels.
const (
	LumaPNG  Luma = iota // (9797 R + 19234 G + 3737 B) / 2^15, rounded down, of 16 bits to the nearest
	LumaCV               // (4899 R + 9617 G + 1868 B) / 2^14, rounded to the nearest: BMP, PNM, inks in TIFF
	LumaWebP             // (9798 R + 19235 G + 3735 B) / 2^15, rounded to the nearest
	LumaTIFF             // .299 R + .587 G + .114 B in float32, rounded to the nearest
)

// Oriented returns the size of the image when it is turned as its orientation asks.
func (h Header) Oriented() (width, height int) { return exif.Size(h.Width, h.Height, h.Orientation) }

// Limits of images. A file of n bytes may hold freePixels + n * pixelsPerByte
// pixels, which no image of use exceeds, and never more than MaxPixels.
const (
	MaxPixels     = 1 << 28
	freePixels    = 1 << 24
	pixelsPerByte = 1 << 13
)

// Check returns an error when an image of that header, from a file of size bytes,
// must not be decoded: before memory is taken for it.
func (h Header) Check(op string, size int) error {
	got := fmt.Sprintf("%dx%d", h.Width, h.Height)
	switch {
	case h.Width <= 0 || h.Height <= 0:
		return Corrupt(op, "an image with pixels", got)
	case h.Width > MaxPixels/h.Height:
		return &errs.Error{Kind: errs.Exhausted, Op: op, Want: fmt.Sprintf("at most %d pixels", MaxPixels), Got: got}
	case h.Width*h.Height > freePixels+size*pixelsPerByte:
		return Corrupt(op, "data for an image of "+got, fmt.Sprintf("%d bytes", size))
	}
	return nil
}

// Corrupt returns the error of a damaged image.
func Corrupt(op, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: want, Got: got}
}

// Unsupported returns the error of an image that is legal but not decoded.
func Unsupported(op, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: op, Got: got}
}

// Image is a decoded image: interleaved samples, row by row without padding, in Pix
// or, when Depth is 16, in Wide, or else in Floats.
type Image struct {
	Header
	Pix  []uint8
	Wide []uint16
	// Floats are the samples when Depth is Float.
	Floats []float32

	levels []uint16 // one row while converting
	floats []float32
}

// Reset makes img an image of that header with samples of undefined contents. It
// reuses memory.
func (img *Image) Reset(h Header) {
	img.Header = h
	n := h.Width * h.Height * h.Channels
	switch h.Depth {
	case 16:
		img.Wide = Grow(img.Wide, n)
		return
	case Float:
		img.Floats = Grow(img.Floats, n)
		return
	}
	img.Pix = Grow(img.Pix, n)
}

// Grow returns b with length n, reallocated when its capacity is less.
func Grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
