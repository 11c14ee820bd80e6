// Package jpeg decodes JPEG images, or windows of them, into memory of the caller.
//
// There are two decoders behind one interface. [Identity] says which decoder a build has.
//
//   - libjpeg-turbo by way of cgo, when the build has the tag libjpeg: the slow integer transform,
//     or the fast one where asked, and triangle-filtered ("fancy") upsampling, as DALI, Pillow and
//     torchvision do, bit for bit. One call an image; a Decoder keeps its decompressor, so that a
//     steady state allocates nothing in Go. The decoder in Go decodes files that libjpeg-turbo
//     refuses or decodes differently from DALI.
//   - A decoder in Go otherwise (internal/pure), with the same pixels, for whole images and
//     windows, and about as fast on AMD64. It has no fast transform, and some damaged files come
//     out differently. On AMD64 it decodes windows in all builds, because it skips blocks outside a
//     window without looking at each symbol.
//
// For a window, only the columns of blocks around it and the rows down to its end are decoded. Its
// pixels equal the pixels of the whole image.
//
// The gray output of a colour image is its luma plane. The colour output of a gray image repeats
// its gray. Images of four inks become RGB by (255-K)(255-C)/255.
//
// The decoder never panics and never allocates out of proportion, for any input. Dimensions that
// the length of the file cannot fill, or that exceed Options.Limits, are refused before memory is
// taken; so are more than MaxScans scans. A stream that ends before its end marker is an error of
// kind errs.Corrupt even if all pixels are present, unless the requested window lies above the end.
// Other damage is decoded like in libjpeg. Features that the decoder lacks are errors of kind
// errs.Unsupported.
package jpeg

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/codec/raster"
	"github.com/bivouac-ml/bivouac/errs"
)

// Format is the meaning of the output's samples.
type Format uint8

// The output formats.
const (
	RGB  Format = iota // 3 channels, interleaved
	Gray               // 1 channel
	BGR                // 3 channels, interleaved
)

// Channels returns the number of channels.
func (f Format) Channels() int {
	if f == Gray {
		return 1
	}
	return 3
}

// MaxScans is the most scans of a progressive image. Each scan costs a pass over the whole image.
const MaxScans = 256

// Pixels names the pixels that the options give. Builds with the same name give the same pixels.
func Pixels(o Options) string {
	if o.FastIDCT {
		return "fast transform, fancy upsampling"
	}
	return "slow integer transform, fancy upsampling"
}

// Identity names the decoder of this build.
func Identity() string { return identity() }

// Advice says how to get a build with the faster decoder. It is empty if this build has it.
func Advice() string { return advice }

// Region is a window of an image: corner and size in pixels. The zero Region is
// the whole image.
type Region struct{ X, Y, W, H int }

// Options say how an image is decoded. The zero Options mean the whole image, as stored, in RGB.
type Options struct {
	Format Format
	// Orient turns the image as its EXIF orientation says.
	Orient bool
	// Region is the window, in coordinates of the output image.
	Region Region
	// FastIDCT uses the fast inverse transform of libjpeg. Its error is up to five levels, and it is
	// not faster than the accurate transform on today's processors. As in DALI, it has no effect on
	// turned images.
	FastIDCT bool
	// Limits bound the cost of decoding.
	Limits raster.Limits
}

// Decoder decodes one image after the other. The zero Decoder is ready. It must
// not be copied after use and is not safe for concurrent use.
type Decoder struct {
	backend backend
	rotated []uint8
	job     job // the current job
}

// ReadHeader returns the header of the image in data.
func (d *Decoder) ReadHeader(data []byte) (Header, error) { return ReadHeader(data) }

// Decode writes the pixels of the image in data, whose header is h, to dst, row by
// row from the top without padding: width * height * channels bytes.
func (d *Decoder) Decode(dst, data []byte, h Header, o Options) error {
	width, height := h.Width, h.Height
	turn := o.Orient && h.Orientation > 1
	if turn {
		width, height = h.Oriented()
	}
	r := o.Region
	if r == (Region{}) {
		r = Region{W: width, H: height}
	}
	if r.X < 0 || r.Y < 0 || r.W < 1 || r.H < 1 || r.X > width-r.W || r.Y > height-r.H {
		return &errs.Error{Kind: errs.Invalid, Op: "jpeg.Decode", Want: fmt.Sprintf("a window of the image of %dx%d", width, height),
			Got: fmt.Sprintf("%dx%d at row %d, column %d", r.W, r.H, r.Y, r.X)}
	}
	if want := r.W * r.H * o.Format.Channels(); len(dst) != want {
		return &errs.Error{Kind: errs.Invalid, Op: "jpeg.Decode", Want: fmt.Sprintf("%d bytes of memory", want), Got: fmt.Sprint(len(dst))}
	}
	if err := o.Limits.CheckPixels("jpeg", h.Width, h.Height); err != nil {
		return err
	}
	if err := h.checkCoefficients(data, o.Limits); err != nil {
		return err
	}
	d.job = job{dst: dst, data: data, header: h, region: r, format: o.Format, fast: o.FastIDCT, limits: o.Limits}
	defer func() { d.job = job{} }()
	if !turn {
		return d.backend.decode(&d.job)
	}
	if err := o.Limits.CheckBytes("jpeg", "the image before it is turned", int64(len(dst))); err != nil {
		return err
	}
	var stored Region
	stored.X, stored.Y, stored.W, stored.H = exif.Stored(r.X, r.Y, r.W, r.H, h.Width, h.Height, h.Orientation)
	d.rotated = grow(d.rotated, len(dst))
	d.job.dst, d.job.region, d.job.fast = d.rotated, stored, false
	if err := d.backend.decode(&d.job); err != nil {
		return err
	}
	exif.Turn(dst, d.rotated, stored.W, stored.H, o.Format.Channels(), h.Orientation)
	return nil
}

// job is an image to decode.
type job struct {
	dst, data []byte
	header    Header
	region    Region // of the image as it is stored
	format    Format
	fast      bool
	limits    raster.Limits
}

// grow returns b with length n, reallocated if its capacity is less.
func grow[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}
