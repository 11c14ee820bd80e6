package raster

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/codec/internal/exif"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Color is what the samples of the output mean.
type Color uint8

// The colours, with DALI's numbers.
const (
	RGB Color = iota
	BGR
	Gray
	YCbCr
	Any
)

// Channels returns the number of channels that an image of stored channels has in c.
func (c Color) Channels(stored int) int {
	switch c {
	case Gray:
		return 1
	case Any:
		return stored
	}
	return 3
}

// Output says what an image is converted to.
type Output struct {
	Color       Color
	DType       tensor.DType
	Orientation int // how the image is turned: 1 as it is stored
	X, Y, W, H  int // the window, in the image when it is turned
}

// Types are the types that an image can be converted to.
func Types() []tensor.DType {
	return []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Float32}
}

// Put writes the window of img that o describes to dst, whose length is that of the
// window in the type of o.
func (img *Image) Put(dst []byte, o Output) error {
	channels := o.Color.Channels(img.Channels)
	width, height := exif.Size(img.Width, img.Height, o.Orientation)
	if o.X < 0 || o.Y < 0 || o.W < 0 || o.H < 0 || o.X > width-o.W || o.Y > height-o.H || len(dst) != o.W*o.H*channels*o.DType.Size() {
		return &errs.Error{Kind: errs.Invalid, Op: "raster.Put", Want: fmt.Sprintf("a window of the image of %dx%d", width, height),
			Got: fmt.Sprintf("%dx%d at row %d, column %d in %d bytes", o.W, o.H, o.Y, o.X, len(dst))}
	}
	if o.Color == Any && img.Mixed {
		return Unsupported("raster", fmt.Sprintf("%d channels put out as they are stored", img.Channels))
	}
	start, dx, dy := exif.Steps(img.Width, img.Height, o.Orientation)
	img.levels = Grow(img.levels, o.W*channels)
	pitch := len(dst) / max(o.H, 1)
	for y := range o.H {
		from := start + o.X*dx + (o.Y+y)*dy
		if img.Depth == 16 {
			row(img.levels, img.Wide, from, dx, img.Channels, o.Color)
		} else {
			row(img.levels, img.Pix, from, dx, img.Channels, o.Color)
		}
		depth := img.Depth
		if o.Color == YCbCr {
			depth = 8
		}
		put(dst[y*pitch:(y+1)*pitch], img.levels, depth, o.DType)
	}
	return nil
}

// row writes pixels in the colour, of which the first is number from and the others
// follow dx apart.
func row[S uint8 | uint16](out []uint16, pix []S, from, dx, channels int, color Color) {
	scale := float32(1) / float32(^S(0))
	for at := 0; at < len(out); from += dx {
		p := pix[from*channels : from*channels+channels : from*channels+channels]
		if color == Any {
			for _, v := range p {
				out[at] = uint16(v)
				at++
			}
			continue
		}
		r, g, b := p[0], p[0], p[0]
		if channels > 2 {
			g, b = p[1], p[2]
		}
		switch color {
		case Gray:
			out[at] = uint16(r)
			if channels > 2 {
				out[at] = uint16((9797*uint32(r) + 19234*uint32(g) + 3737*uint32(b)) >> 15)
			}
			at++
			continue
		case YCbCr:
			out[at], out[at+1], out[at+2] = studio(float32(r)*scale, float32(g)*scale, float32(b)*scale)
		case BGR:
			out[at], out[at+1], out[at+2] = uint16(b), uint16(g), uint16(r)
		default:
			out[at], out[at+1], out[at+2] = uint16(r), uint16(g), uint16(b)
		}
		at += 3
	}
}

// studio is the conversion of ITU-R BT.601 to 8 bits.
func studio(r, g, b float32) (y, cb, cr uint16) {
	sum := func(first, wr, wg, wb float32) uint16 {
		return uint16(float32(wr*r) + float32(wg*g) + float32(wb*b) + first + 0.5)
	}
	return sum(16, 65.481, 128.553, 24.966), sum(128, -37.797, -74.203, 112), sum(128, 112, -93.786, -18.214)
}

// put writes levels of that depth as a type.
func put(dst []byte, levels []uint16, depth int, dtype tensor.DType) {
	le, most := binary.LittleEndian, uint64(1)<<depth-1
	scaled := func(v uint16, largest uint64) uint64 { return (uint64(v)*largest*2 + most) / (2 * most) }
	switch dtype {
	case tensor.Uint8:
		for i, v := range levels {
			if depth == 16 {
				v = uint16((uint32(v) + 128) / 257)
			}
			dst[i] = uint8(v)
		}
	case tensor.Int8:
		for i, v := range levels {
			dst[i] = uint8(scaled(v, math.MaxInt8))
		}
	case tensor.Uint16, tensor.Int16:
		largest := uint64(math.MaxUint16)
		if dtype == tensor.Int16 {
			largest = math.MaxInt16
		}
		for i, v := range levels {
			le.PutUint16(dst[2*i:], uint16(scaled(v, largest)))
		}
	case tensor.Uint32, tensor.Int32:
		largest := uint64(math.MaxUint32)
		if dtype == tensor.Int32 {
			largest = math.MaxInt32
		}
		for i, v := range levels {
			le.PutUint32(dst[4*i:], uint32(scaled(v, largest)))
		}
	case tensor.Float32:
		factor := float32(1) / float32(most)
		for i, v := range levels {
			le.PutUint32(dst[4*i:], math.Float32bits(float32(v)*factor))
		}
	}
}
