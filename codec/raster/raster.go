// Package raster holds decoded images as their files store them, and the common part of all image
// decoders except JPEG: limits, and the conversion to the requested colour space, type, window and
// orientation.
//
// # Conversion
//
// Samples have 8 or 16 bits, or are float32 with 1 as full intensity. They are first converted to
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
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/errs"
)

// Header describes an image before it is decoded.
type Header struct {
	Width, Height int // as stored
	Channels      int // 1 gray, 2 gray and alpha, 3 RGB, 4 RGB and alpha or inks
	Depth         int // bits per decoded sample: 8, 16 or Float
	Luma          Luma
	Orientation   int // 1..8 as in EXIF; 1 if the file has no orientation
	// Mixed marks channels that cannot be output without conversion: inks, and gray with alpha in
	// formats whose readers in other libraries refuse it.
	Mixed bool
}

// Float is the Depth of images whose samples are float32.
const Float = 32

// Luma is the formula that converts colours of a format to gray.
type Luma uint8

// The formulas. They differ by one level in some pixels.
const (
	LumaPNG  Luma = iota // (9797 R + 19234 G + 3737 B) / 2^15, rounded down, of 16 bits to the nearest
	LumaCV               // (4899 R + 9617 G + 1868 B) / 2^14, rounded to the nearest: BMP, PNM, inks in TIFF
	LumaWebP             // (9798 R + 19235 G + 3735 B) / 2^15, rounded to the nearest
	LumaTIFF             // .299 R + .587 G + .114 B in float32, rounded to the nearest
)

// Oriented returns the size of the image after turning it as its orientation says.
func (h Header) Oriented() (width, height int) { return exif.Size(h.Width, h.Height, h.Orientation) }

// Limits bound what decoding an image may cost. The zero Limits are the defaults.
type Limits struct {
	Pixels int64 // width times height; 0: MaxPixels
	Bytes  int64 // of one block of memory that a decoder needs besides the output; 0: MaxBytes
	// Check is called from time to time while an image is decoded, unless it is nil. Its error ends
	// the decoding. Deadline is the time from which Check returns an error, for decoders that cannot
	// call it; zero means never.
	Check    func() error
	Deadline time.Time
}

// Defaults of Limits.
const (
	MaxPixels = 1 << 28
	MaxBytes  = 1 << 32
)

// CheckPixels returns an error if an image has more pixels than the limit. Decoders call it before
// they take memory.
func (l Limits) CheckPixels(op string, width, height int) error {
	most := l.Pixels
	if most == 0 {
		most = MaxPixels
	}
	if width <= 0 || height <= 0 || int64(width) > most/int64(height) {
		return &errs.Error{Kind: errs.Exhausted, Op: op, Want: fmt.Sprintf("at most %d pixels", most), Got: fmt.Sprintf("%dx%d, which is %d", width, height, int64(width)*int64(height)),
			Remedy: "raise Options.Limits.MaxPixels if the file is sound"}
	}
	return nil
}

// CheckBytes returns an error if a block of memory that a decoder needs besides the output exceeds
// the limit.
func (l Limits) CheckBytes(op, what string, n int64) error {
	most := l.Bytes
	if most == 0 {
		most = MaxBytes
	}
	if n < 0 || n > most {
		return &errs.Error{Kind: errs.Exhausted, Op: op, Want: fmt.Sprintf("at most %d bytes", most), Got: fmt.Sprintf("%d bytes for %s", n, what),
			Remedy: "raise Options.Limits.MaxBytes if the file is sound"}
	}
	return nil
}

// Interrupted returns the error of l.Check.
func (l Limits) Interrupted() error {
	if l.Check == nil {
		return nil
	}
	return l.Check()
}

// Reader reads data and fails with the error of l.Check.
func (l Limits) Reader(data []byte) io.Reader {
	if l.Check == nil {
		return bytes.NewReader(data)
	}
	return &checkedReader{*bytes.NewReader(data), l}
}

type checkedReader struct {
	data   bytes.Reader
	limits Limits
}

// Read implements io.Reader. It returns little data at a time, so that the limits are checked
// often.
func (r *checkedReader) Read(p []byte) (int, error) {
	const piece = 4096
	if err := r.limits.Check(); err != nil {
		return 0, err
	}
	return r.data.Read(p[:min(len(p), piece)])
}

// The most pixels of a file. A file of n bytes may hold freePixels + n * pixelsPerByte pixels,
// which no useful image exceeds. It never holds more than mostPixels, so that sizes fit an int.
const (
	freePixels    = 1 << 24
	pixelsPerByte = 1 << 13
	mostPixels    = 1 << 44
)

// Check returns an error if a file of size bytes cannot hold an image with header h. The error is
// of kind errs.Exhausted if the header claims more pixels than MaxPixels, otherwise of kind
// errs.Corrupt.
func (h Header) Check(op string, size int) error {
	got := fmt.Sprintf("%dx%d", h.Width, h.Height)
	switch {
	case h.Width <= 0 || h.Height <= 0:
		return Corrupt(op, "an image with pixels", got)
	case h.Width > mostPixels/h.Height:
		return Limits{Pixels: mostPixels}.CheckPixels(op, h.Width, h.Height)
	case h.Width*h.Height > max(MaxPixels, freePixels+size*pixelsPerByte):
		return &errs.Error{Kind: errs.Exhausted, Op: op, Want: "data for an image of " + got, Got: fmt.Sprintf("%d bytes", size)}
	case h.Width*h.Height > freePixels+size*pixelsPerByte:
		return Corrupt(op, "data for an image of "+got, fmt.Sprintf("%d bytes", size))
	}
	return nil
}

// Corrupt returns the error for a damaged image.
func Corrupt(op, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: want, Got: got}
}

// Unsupported returns the error for an image that is legal but not supported.
func Unsupported(op, got string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: op, Got: got}
}

// Image takes the pixels of a decoder. It keeps the image or, after To, writes each pixel directly
// to its place and keeps nothing. A kept image has interleaved samples, row by row without padding,
// in Pix for 8 bits, in Wide for 16 bits, and in Floats for float32.
type Image struct {
	Header
	Limits Limits
	Pix    []uint8
	Wide   []uint16
	// Floats holds the samples if Depth is Float.
	Floats []float32

	levels []uint16 // some pixels while converting
	floats []float32
	bytes  []byte
	line8  []uint8 // the result of Row
	line16 []uint16
	lineF  []float32
	to     *target // nil: the image is kept
	target target
}

// Reset begins an image with header h, whose samples are undefined. A decoder calls it after it has
// checked the header and before it puts pixels. It reuses memory.
func (img *Image) Reset(h Header) error {
	if err := img.Limits.CheckPixels("raster", h.Width, h.Height); err != nil {
		return err
	}
	img.Header = h
	if img.to != nil {
		return img.to.begin(h)
	}
	size := int64(1)
	switch h.Depth {
	case 16:
		size = 2
	case Float:
		size = 4
	}
	n := h.Width * h.Height * h.Channels
	if err := img.Limits.CheckBytes("raster", "the image as it is stored", int64(n)*size); err != nil {
		return err
	}
	switch h.Depth {
	case 16:
		img.Wide = Grow(img.Wide, n)
	case Float:
		img.Floats = Grow(img.Floats, n)
	default:
		img.Pix = Grow(img.Pix, n)
	}
	return nil
}

// Grow returns b with length n, reallocated if its capacity is less.
func Grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
