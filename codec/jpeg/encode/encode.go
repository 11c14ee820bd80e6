// Package encode writes baseline JPEG files, byte for byte as libjpeg-turbo does by default: with
// the standard tables of a quality and of codes.
package encode

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/jpeg/internal/pure"
	"github.com/bivouac-ml/bivouac/errs"
)

// Options say how an image is written.
type Options struct {
	Quality    int  // 1 to 100; others are limited to that
	FullColour bool // keeps all colour samples ("4:4:4"); otherwise half both ways ("4:2:0")
}

// Encoder writes files. It reuses its memory; only one goroutine may use it. The zero value is
// ready.
type Encoder struct{ pure pure.Encoder }

// mostPixels is the most pixels along an axis that the format can say.
const mostPixels = 1<<16 - 1

// Append appends the file of an image to dst. pixels holds rows from top to bottom, with 3 bytes
// for each pixel (red, green, blue), or with 1 channel one byte. Append fails with errs.Invalid for
// other numbers of channels, for pixels of another size, and for images without pixels or with more
// than 65,535 along an axis.
func (e *Encoder) Append(dst, pixels []byte, width, height, channels int, o Options) ([]byte, error) {
	switch {
	case width < 1 || height < 1 || width > mostPixels || height > mostPixels:
		return dst, invalid(fmt.Sprintf("1 to %d rows and columns", mostPixels), fmt.Sprintf("%d and %d", height, width))
	case channels != 1 && channels != 3:
		return dst, invalid("1 or 3 channels", fmt.Sprint(channels))
	case len(pixels) != width*height*channels:
		return dst, invalid(fmt.Sprintf("%d bytes of pixels", width*height*channels), fmt.Sprint(len(pixels)))
	}
	sampling := pure.HalfColour
	switch {
	case channels == 1:
		sampling = pure.NoColour
	case o.FullColour:
		sampling = pure.FullColour
	}
	return e.pure.Append(dst, pixels, width, height, o.Quality, sampling), nil
}

func invalid(want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "jpeg.encode", Subject: "image", Want: want, Got: got}
}
