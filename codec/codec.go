// Package codec decodes images, or windows of them: JPEG, PNG, BMP, PNM, TIFF, WebP and the first
// frame of GIF, and JPEG 2000, AVIF and HEIC with a package that registers their decoder. The first
// bytes show the format. The packages below it document each format; codec/raster documents the
// conversion to the requested colour space and type.
//
//	bytes ── by magic ── jpeg ───────────── RGB, BGR, gray of 8 bits ─┐
//	              └───── png, bmp, … ── rows ── raster.Image ────────┴── window
//
// If a JPEG image is requested as uint8, only its window is decoded, directly to the caller's
// memory. Other images are decoded whole, row by row, directly to the caller's memory. Besides the
// output, the decoder holds only a few rows. Exceptions are a JPEG of another type or a turned JPEG
// (the window as bytes), a progressive JPEG (its coefficients), GIF and WebP (the frame), and TIFF
// (a strip or tile, or the whole image if it is in planes).
//
// The headers of all formats are read here. The pixels of JPEG 2000, AVIF and HEIC are decoded by
// what [Register] was given: package codec/video registers ffmpeg. Without it they are errors of
// kind errs.Unsupported.
package codec

import (
	"bytes"
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/bmp"
	"github.com/bivouac-ml/bivouac/codec/gif"
	"github.com/bivouac-ml/bivouac/codec/internal/heif"
	"github.com/bivouac-ml/bivouac/codec/internal/jp2"
	"github.com/bivouac-ml/bivouac/codec/jpeg"
	"github.com/bivouac-ml/bivouac/codec/png"
	"github.com/bivouac-ml/bivouac/codec/pnm"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/codec/tiff"
	"github.com/bivouac-ml/bivouac/codec/webp"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Format is the format of a file.
type Format uint8

// The formats that Detect recognises.
const (
	Unknown Format = iota
	JPEG
	PNG
	BMP
	PNM
	TIFF
	WebP
	GIF
	// The formats below need a decoder that is registered.
	JP2
	AVIF
	HEIC
)

var names = []string{"unknown", "jpeg", "png", "bmp", "pnm", "tiff", "webp", "gif", "jp2", "avif", "heic"}

// Registered decodes the image in data, whose header is h, to img.
type Registered func(data []byte, h Header, img *raster.Image) error

// registered are the decoders of other packages.
var registered [HEIC + 1]Registered

// Register sets the decoder of JP2, AVIF or HEIC. Init functions call it.
func Register(f Format, d Registered) { registered[f] = d }

// String returns the name in lower case: "jpeg".
func (f Format) String() string { return enum.Name(f, names, names[Unknown]) }

// Detect returns the format of the file in data.
func Detect(data []byte) Format {
	begins := func(magic string) bool { return bytes.HasPrefix(data, []byte(magic)) }
	switch {
	case begins("\xff\xd8\xff"):
		return JPEG
	case begins(png.Magic):
		return PNG
	case tiff.Is(data):
		return TIFF
	case webp.Is(data):
		return WebP
	case gif.Is(data):
		return GIF
	case pnm.Is(data):
		return PNM
	case jp2.Is(data):
		return JP2
	case heif.IsAVIF(data):
		return AVIF
	case heif.IsHEIC(data):
		return HEIC
	case begins(bmp.Magic):
		return BMP
	}
	return Unknown
}

// Header describes an image before it is decoded.
type Header struct {
	Format Format
	raster.Header
}

// ReadHeader returns the header of the image in data.
func ReadHeader(data []byte) (h Header, err error) {
	switch h.Format = Detect(data); h.Format {
	case JPEG:
		j, err := jpeg.ReadHeader(data)
		h.Header = raster.Header{Width: j.Width, Height: j.Height, Channels: j.Components, Depth: 8, Orientation: j.Orientation, Mixed: j.Components == 4}
		return h, err
	case PNG:
		h.Header, err = png.ReadHeader(data)
	case BMP:
		h.Header, err = bmp.ReadHeader(data)
	case PNM:
		h.Header, err = pnm.ReadHeader(data)
	case TIFF:
		h.Header, err = tiff.ReadHeader(data)
	case WebP:
		h.Header, err = webp.ReadHeader(data)
	case GIF:
		h.Header, err = gif.ReadHeader(data)
	case JP2:
		h.Header, err = jp2.ReadHeader(data)
	case AVIF, HEIC:
		h.Header, err = heif.ReadHeader(data)
	default:
		err = raster.Corrupt("codec", "an image: JPEG, PNG, BMP, PNM, TIFF, WebP, GIF, JPEG 2000, AVIF or HEIC", fmt.Sprintf("%d other bytes", len(data)))
	}
	return h, err
}

// Output describes the result of decoding.
type Output struct {
	Color raster.Color
	// DType is one of raster.Types; the zero DType is uint8.
	DType tensor.DType
	// Orient turns the image as its orientation says.
	Orient bool
	// Region is the window, in coordinates of the output image; the zero Region is the whole image.
	Region jpeg.Region
	// FastIDCT is passed to jpeg.Options.
	FastIDCT bool
	// Limits bound the cost of decoding.
	Limits raster.Limits
}

// Size returns the size of the whole image in o.
func (o Output) Size(h Header) (width, height, channels int) {
	width, height = h.Width, h.Height
	if o.Orient {
		width, height = h.Oriented()
	}
	return width, height, o.Color.Channels(h.Channels)
}

// Decoder decodes one image after the other. The zero Decoder is ready. It must not
// be copied after use and is not safe for concurrent use.
type Decoder struct {
	jpeg   jpeg.Decoder
	tiff   tiff.Decoder
	image  raster.Image
	pixels []byte // of a JPEG image before they are converted
}

// Decode writes a window of the image in data, whose header is h, to dst, row by row without
// padding. o describes the window, its colours and its type.
func (d *Decoder) Decode(dst, data []byte, h Header, o Output) error {
	if o.DType == tensor.Invalid {
		o.DType = tensor.Uint8
	}
	if o.Color == raster.Any && h.Mixed {
		return raster.Unsupported("codec", fmt.Sprintf("%d channels of a %s file without conversion", h.Channels, h.Format))
	}
	width, height, _ := o.Size(h)
	r := o.Region
	if r == (jpeg.Region{}) {
		r = jpeg.Region{W: width, H: height}
	}
	if err := o.Limits.CheckPixels(h.Format.String(), h.Width, h.Height); err != nil {
		return err
	}
	put := raster.Output{Color: o.Color, DType: o.DType, Orientation: 1, X: r.X, Y: r.Y, W: r.W, H: r.H}
	if h.Format == JPEG {
		jo := jpeg.Options{Format: jpegFormat(o.Color, h.Channels), Orient: o.Orient, Region: r, FastIDCT: o.FastIDCT, Limits: o.Limits}
		head := jpeg.Header{Width: h.Width, Height: h.Height, Components: h.Channels, Orientation: h.Orientation}
		if o.DType == tensor.Uint8 && o.Color != raster.YCbCr {
			return d.jpeg.Decode(dst, data, head, jo)
		}
		if r.W < 1 || r.H < 1 || r.W > width || r.H > height {
			return &errs.Error{Kind: errs.Invalid, Op: "codec.Decode", Want: fmt.Sprintf("a window of the image of %dx%d", width, height), Got: fmt.Sprintf("%+v", r)}
		}
		// From here on the image is only the window, which is already turned.
		put.X, put.Y = 0, 0
		if put.Color == raster.BGR {
			put.Color = raster.RGB
		}
		return d.convert(dst, data, head, jo, put)
	}
	if o.Orient {
		put.Orientation = h.Orientation
	}
	d.image.Limits = o.Limits
	d.image.To(dst, put)
	defer d.image.Release()
	return d.decode(data, h)
}

// convert decodes a window of a JPEG image to bytes, and then converts them to the output.
func (d *Decoder) convert(dst, data []byte, h jpeg.Header, o jpeg.Options, put raster.Output) error {
	n := put.W * put.H * o.Format.Channels()
	if err := o.Limits.CheckBytes("jpeg", "the image before it is converted", int64(n)); err != nil {
		return err
	}
	d.pixels = raster.Grow(d.pixels, n)
	if err := d.jpeg.Decode(d.pixels, data, h, o); err != nil {
		return err
	}
	d.image.To(dst, put)
	defer d.image.Release()
	d.image.Limits = o.Limits
	if err := d.image.Reset(raster.Header{Width: put.W, Height: put.H, Channels: o.Format.Channels(), Depth: 8}); err != nil {
		return err
	}
	for y := range put.H {
		if err := d.image.Put(y, 0, 1, d.pixels[y*n/put.H:(y+1)*n/put.H]); err != nil {
			return err
		}
	}
	return nil
}

// jpegFormat returns the format to which a JPEG image with the given number of components is
// decoded before it is converted to c.
func jpegFormat(c raster.Color, components int) jpeg.Format {
	switch {
	case c == raster.Gray, c == raster.Any && components == 1:
		return jpeg.Gray
	case c == raster.BGR:
		return jpeg.BGR
	}
	return jpeg.RGB
}

// decode decodes images of all formats except JPEG to d.image.
func (d *Decoder) decode(data []byte, h Header) error {
	switch h.Format {
	case PNG:
		return png.Decode(data, &d.image)
	case BMP:
		return bmp.Decode(data, &d.image)
	case PNM:
		return pnm.Decode(data, &d.image)
	case TIFF:
		return d.tiff.Decode(data, &d.image)
	case WebP:
		return webp.Decode(data, &d.image)
	case GIF:
		return gif.Decode(data, &d.image)
	}
	if h.Format <= HEIC && registered[h.Format] != nil {
		return registered[h.Format](data, h, &d.image)
	}
	return &errs.Error{Kind: errs.Unsupported, Op: "codec", Want: "a decoder of " + h.Format.String() + " files",
		Got: "none", Remedy: "import codec/video, which decodes them by ffmpeg"}
}

// Pixels names everything besides the file that affects an output. Builds with equal names give the
// same pixels.
func Pixels(o Output) string { return jpeg.Pixels(jpeg.Options{FastIDCT: o.FastIDCT}) }
