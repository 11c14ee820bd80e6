// Package jpeg decodes JPEG images into memory that the caller gives.
//
// Entropy decoding and the inverse transform are those of the standard library;
// chroma upsampling and colour conversion are this package's own and follow
// libjpeg, which DALI, Pillow and OpenCV use: triangle-filtered ("fancy")
// upsampling of 4:2:2, 4:2:0 and 4:4:0, full-range BT.601 in 16-bit fixed
// point. Gray output of a colour image is its luma plane.
//
// Nothing here panics or allocates out of proportion, whatever the bytes:
// dimensions that the length of the file cannot fill are refused before memory
// is taken. Damaged and cut streams are errors of kind errs.Corrupt, features
// that the decoder lacks errs.Unsupported.
package jpeg

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"runtime"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Format is what the samples of the output mean.
type Format uint8

// The output formats.
const (
	RGB  Format = iota // 3 channels, interleaved
	Gray               // 1 channel
)

// Channels returns the number of channels.
func (f Format) Channels() int {
	if f == Gray {
		return 1
	}
	return 3
}

// MaxPixels is the largest image that is decoded.
const MaxPixels = 1 << 28

// Identity names the decoder whose pixels these are. Decoders with different
// identities may differ in the last bit.
func Identity() string {
	version := strings.SplitN(runtime.Version(), ".", 3)
	return "image/jpeg " + strings.Join(version[:min(2, len(version))], ".")
}

// Header describes an image before it is decoded.
type Header struct {
	Width, Height int // as stored
	Orientation   int // EXIF orientation 1..8; 1 when there is none
}

// Oriented returns the size of the image when it is turned as its orientation asks.
func (h Header) Oriented() (width, height int) {
	if h.Orientation > 4 {
		return h.Height, h.Width
	}
	return h.Width, h.Height
}

// Decoder decodes one image after the other. The zero Decoder is ready. It is
// not safe for concurrent use.
type Decoder struct {
	reader  bytes.Reader
	rows    [2][]uint16 // column sums of the two chroma planes while upsampling
	chroma  [2][]uint8  // one upsampled row of each
	rotated []uint8
}

// ReadHeader returns the header of the image in data.
func (d *Decoder) ReadHeader(data []byte) (Header, error) {
	d.reader.Reset(data)
	defer d.reader.Reset(nil)
	c, err := jpeg.DecodeConfig(&d.reader)
	if err != nil {
		return Header{}, decodeError(err)
	}
	h := Header{Width: c.Width, Height: c.Height, Orientation: orientation(data)}
	return h, h.plausible(len(data))
}

// plausible refuses sizes that the file cannot hold: a block of 64 samples costs
// at least a bit in some scan.
func (h Header) plausible(size int) error {
	const perByte = 8 * 64
	pixels := h.Width * h.Height
	switch {
	case pixels <= 0:
		return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Want: "an image with pixels", Got: h.size()}
	case pixels > MaxPixels:
		return &errs.Error{Kind: errs.Exhausted, Op: "jpeg", Want: fmt.Sprintf("at most %d pixels", MaxPixels), Got: h.size()}
	case pixels/perByte > size:
		return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Want: "data for an image of " + h.size(), Got: fmt.Sprintf("%d bytes", size)}
	}
	return nil
}

func (h Header) size() string { return fmt.Sprintf("%dx%d", h.Width, h.Height) }

// Decode writes the pixels of the image in data, whose header is h, to dst, row
// by row from the top without padding: width * height * format.Channels()
// bytes. The image is turned as its orientation asks when orient is set.
func (d *Decoder) Decode(dst, data []byte, h Header, format Format, orient bool) error {
	if want := h.Width * h.Height * format.Channels(); len(dst) != want {
		return &errs.Error{Kind: errs.Invalid, Op: "jpeg.Decode", Want: fmt.Sprintf("%d bytes of memory", want), Got: fmt.Sprint(len(dst))}
	}
	d.reader.Reset(data)
	defer d.reader.Reset(nil)
	img, err := jpeg.Decode(&d.reader)
	if err != nil {
		return decodeError(err)
	}
	if size := img.Bounds().Size(); size.X != h.Width || size.Y != h.Height {
		return &errs.Error{Kind: errs.Corrupt, Op: "jpeg", Want: "an image of " + h.size(), Got: fmt.Sprintf("%dx%d", size.X, size.Y)}
	}
	turn := orient && h.Orientation > 1
	out := dst
	if turn {
		d.rotated = grow(d.rotated, len(dst))
		out = d.rotated
	}
	switch img := img.(type) {
	case *image.YCbCr:
		if format == Gray {
			copyGray(out, img.Y, img.YStride, h)
		} else {
			d.convertYCbCr(out, img, h)
		}
	case *image.Gray:
		if format == Gray {
			copyGray(out, img.Pix, img.Stride, h)
		} else {
			spreadGray(out, img, h)
		}
	default:
		convertAny(out, img, h, format)
	}
	if turn {
		reorient(dst, out, h, format.Channels())
	}
	return nil
}

func copyGray(dst, plane []uint8, stride int, h Header) {
	for y := range h.Height {
		copy(dst[y*h.Width:(y+1)*h.Width], plane[y*stride:])
	}
}

func spreadGray(dst []uint8, img *image.Gray, h Header) {
	for y := range h.Height {
		row := img.Pix[y*img.Stride : y*img.Stride+h.Width]
		out := dst[3*y*h.Width : 3*(y+1)*h.Width]
		for x, v := range row {
			out[3*x], out[3*x+1], out[3*x+2] = v, v, v
		}
	}
}

// convertAny takes the rare colour models, RGB and CMYK, pixel by pixel.
func convertAny(dst []uint8, img image.Image, h Header, format Format) {
	pixel := func(x, y int) (r, g, b uint8) {
		c := color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
		return c.R, c.G, c.B
	}
	switch img := img.(type) {
	case *image.RGBA:
		pixel = func(x, y int) (r, g, b uint8) {
			p := img.Pix[img.PixOffset(x, y):]
			return p[0], p[1], p[2]
		}
	case *image.CMYK:
		pixel = func(x, y int) (r, g, b uint8) {
			p := img.Pix[img.PixOffset(x, y):]
			k := 255 - uint32(p[3])
			scale := func(c uint8) uint8 { return uint8((k*(255-uint32(c)) + 127) / 255) }
			return scale(p[0]), scale(p[1]), scale(p[2])
		}
	}
	for y := range h.Height {
		for x := range h.Width {
			r, g, b := pixel(x, y)
			at := y*h.Width + x
			if format == Gray {
				dst[at] = uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
			} else {
				dst[3*at], dst[3*at+1], dst[3*at+2] = r, g, b
			}
		}
	}
}

func decodeError(err error) error {
	kind := errs.Corrupt
	var unsupported jpeg.UnsupportedError
	if errors.As(err, &unsupported) {
		kind = errs.Unsupported
	}
	return &errs.Error{Kind: kind, Op: "jpeg", Err: err}
}

// grow returns b with length n, reallocated when its capacity is less.
func grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
