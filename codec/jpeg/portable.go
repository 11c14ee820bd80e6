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

// portable decodes with the standard library.
type portable struct {
	reader bytes.Reader
	sums   [2][]uint16 // column sums of the two chroma planes while upsampling
	chroma [2][]uint8  // one upsampled row of each
	row    []uint8     // one row of pixels
}

func portableIdentity() string {
	version := strings.SplitN(runtime.Version(), ".", 3)
	return "image/jpeg " + strings.Join(version[:min(2, len(version))], ".")
}

func (d *portable) decode(dst, data []byte, h Header, r Region, format Format, _ bool) error {
	d.reader.Reset(data)
	defer d.reader.Reset(nil)
	img, err := jpeg.Decode(&d.reader)
	if err != nil {
		return decodeError(err)
	}
	if size := img.Bounds().Size(); size.X != h.Width || size.Y != h.Height {
		return corrupt("an image of "+h.size(), fmt.Sprintf("%dx%d", size.X, size.Y))
	}
	row := d.rows(img, h, format)
	channels := format.Channels()
	d.row = grow(d.row, h.Width*channels)
	pitch := r.W * channels
	for y := range r.H {
		out := dst[y*pitch : (y+1)*pitch]
		if r.W == h.Width {
			row(out, r.Y+y)
			continue
		}
		row(d.row, r.Y+y)
		copy(out, d.row[r.X*channels:])
	}
	return nil
}

// rows returns what writes one row of img.
func (d *portable) rows(img image.Image, h Header, format Format) func(out []uint8, y int) {
	switch img := img.(type) {
	case *image.YCbCr:
		if format == Gray {
			return func(out []uint8, y int) { copy(out, img.Y[y*img.YStride:]) }
		}
		return d.rowsYCbCr(img, h, format == BGR)
	case *image.Gray:
		if format == Gray {
			return func(out []uint8, y int) { copy(out, img.Pix[y*img.Stride:]) }
		}
		return func(out []uint8, y int) {
			for x, v := range img.Pix[y*img.Stride : y*img.Stride+h.Width] {
				out[3*x], out[3*x+1], out[3*x+2] = v, v, v
			}
		}
	}
	return rowsAny(img, h, format)
}

// rowsAny takes the rare colour models, RGB and CMYK, pixel by pixel.
func rowsAny(img image.Image, h Header, format Format) func(out []uint8, y int) {
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
			scale := func(c uint8) uint8 { return uint8(k * (255 - uint32(c)) / 255) }
			return scale(p[0]), scale(p[1]), scale(p[2])
		}
	}
	return func(out []uint8, y int) {
		for x := range h.Width {
			r, g, b := pixel(x, y)
			switch format {
			case Gray:
				out[x] = uint8((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b)) >> 16)
			case BGR:
				out[3*x], out[3*x+1], out[3*x+2] = b, g, r
			default:
				out[3*x], out[3*x+1], out[3*x+2] = r, g, b
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
	return &errs.Error{Kind: kind, Op: "jpeg", Got: "Failed to decode", Err: err}
}
