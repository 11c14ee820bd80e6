package raster

import (
	"encoding/binary"
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Color is the meaning of the output's samples.
type Color uint8

// The colours, with DALI's numbers.
const (
	RGB Color = iota
	BGR
	Gray
	YCbCr
	Any
)

// Channels returns the number of channels in c of an image with the given number of stored
// channels.
func (c Color) Channels(stored int) int {
	switch c {
	case Gray:
		return 1
	case Any:
		return stored
	}
	return 3
}

// Output describes the result of a conversion.
type Output struct {
	Color       Color
	DType       tensor.DType
	Orientation int // how the image is turned: 1 as it is stored
	X, Y, W, H  int // the window, in the turned image
}

// Types returns the types to which an image can be converted.
func Types() []tensor.DType {
	return []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Uint16, tensor.Int16, tensor.Uint32, tensor.Int32, tensor.Float32}
}

// convert writes n stored pixels of pix8, pix16 or floats in the colour and type of o.
func (img *Image) convert(to []byte, pix8 []uint8, pix16 []uint16, floats []float32, n int, o *Output) {
	channels := o.Color.Channels(img.Channels)
	if img.Depth != Float && o.Color != YCbCr {
		img.levels = Grow(img.levels, n*channels)
	}
	switch {
	case img.Depth == Float:
		img.floats = Grow(img.floats, n*channels)
		floatRow(img.floats, floats, img.Channels, o.Color)
		if o.Color == YCbCr {
			studioRow(to, img.floats, 3, 1, o.DType)
		} else {
			putFloats(to, img.floats, o.DType)
		}
	case o.Color == YCbCr && img.Depth == 16:
		studioRow(to, pix16, img.Channels, math.MaxUint16, o.DType)
	case o.Color == YCbCr:
		studioRow(to, pix8, img.Channels, math.MaxUint8, o.DType)
	case img.Depth == 16:
		row(img.levels, pix16, img.Channels, o.Color, img.Luma)
		put(to, img.levels, 16, o.DType)
	case o.DType == tensor.Uint8 && (o.Color == Any || o.Color == RGB && img.Channels == 3 || o.Color == Gray && img.Channels == 1):
		copy(to, pix8[:n*channels])
	default:
		row(img.levels, pix8, img.Channels, o.Color, img.Luma)
		put(to, img.levels, 8, o.DType)
	}
}

// row writes pixels in a colour space other than YCbCr.
func row[S uint8 | uint16](out []uint16, pix []S, channels int, color Color, luma Luma) {
	wide := ^S(0) > math.MaxUint8
	for at, from := 0, 0; at < len(out); from++ {
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
				out[at] = luma.of(uint32(r), uint32(g), uint32(b), wide)
			}
			at++
			continue
		case BGR:
			out[at], out[at+1], out[at+2] = uint16(b), uint16(g), uint16(r)
		default:
			out[at], out[at+1], out[at+2] = uint16(r), uint16(g), uint16(b)
		}
		at += 3
	}
}

// of returns the gray of a colour. Samples have 8 bits, or 16 bits if wide is set.
func (l Luma) of(r, g, b uint32, wide bool) uint16 {
	switch l {
	case LumaCV:
		return uint16((4899*r + 9617*g + 1868*b + 1<<13) >> 14)
	case LumaWebP:
		return uint16((9798*r + 19235*g + 3735*b + 1<<14) >> 15)
	case LumaTIFF:
		return uint16(float32(luma(float32(r), float32(g), float32(b)) + 0.5))
	}
	sum := 9797*r + 19234*g + 3737*b
	if wide {
		sum += 1 << 14
	}
	return uint16(sum >> 15)
}

// luma is the weighted sum of ITU-R BT.601.
func luma(r, g, b float32) float32 {
	return float32(0.299*r) + float32(0.587*g) + float32(0.114*b)
}

// floatRow works like row for samples of float32. For YCbCr it writes RGB, which the caller
// converts.
func floatRow(out, pix []float32, channels int, color Color) {
	for at, from := 0, 0; at < len(out); from++ {
		p := pix[from*channels : from*channels+channels : from*channels+channels]
		if color == Any {
			at += copy(out[at:], p)
			continue
		}
		r, g, b := p[0], p[0], p[0]
		if channels > 2 {
			g, b = p[1], p[2]
		}
		switch color {
		case Gray:
			out[at] = r
			if channels > 2 {
				out[at] = luma(r, g, b)
			}
			at++
			continue
		case BGR:
			r, b = b, r
		}
		out[at], out[at+1], out[at+2] = r, g, b
		at += 3
	}
}

// studioRow converts by ITU-R BT.601 to studio range: the footroom is 1/16, and the middle of
// chroma is 1/2, of 2^bits of the type. largest is the sample of full intensity.
func studioRow[S uint8 | uint16 | float32](dst []byte, pix []S, channels int, largest float64, dtype tensor.DType) {
	full, levels := 1.0, float32(1)
	if dtype != tensor.Float32 {
		levels = float32(math.Exp2(float64(bits(dtype))))
		full = math.Exp2(float64(bits(dtype))) - 1
	}
	scale := float32(full / largest)
	var weights [3][3]float32
	for i, w := range [3][3]float32{
		{0.25678823529, 0.50412941176, 0.09790588235},
		{-0.14822289945, -0.29099278682, 0.43921568627},
		{0.43921568627, -0.36778831435, -0.07142737192},
	} {
		for j, v := range w {
			weights[i][j] = v * scale
		}
	}
	bias := [3]float32{0.0625 * levels, 0.5 * levels, 0.5 * levels}
	size := dtype.Size()
	for from := 0; len(dst) > 0; from++ {
		p := pix[from*channels : from*channels+channels : from*channels+channels]
		r, g, b := float32(p[0]), float32(p[0]), float32(p[0])
		if channels > 2 {
			g, b = float32(p[1]), float32(p[2])
		}
		for i := range weights {
			w := &weights[i]
			v := float32(float32(w[0]*r)+float32(w[1]*g)) + float32(w[2]*b) + bias[i]
			store(dst, v, dtype)
			dst = dst[size:]
		}
	}
}

// bits returns the number of bits of an integer type without its sign.
func bits(dtype tensor.DType) int {
	switch dtype {
	case tensor.Int8, tensor.Int16, tensor.Int32:
		return dtype.Bits() - 1
	}
	return dtype.Bits()
}

// store writes a value as a type. It rounds half away from zero and saturates. NaN becomes 0.
func store(dst []byte, v float32, dtype tensor.DType) {
	le := binary.LittleEndian
	if dtype == tensor.Float32 {
		le.PutUint32(dst, math.Float32bits(v))
		return
	}
	most := math.Exp2(float64(bits(dtype))) - 1
	least := 0.0
	if bits(dtype) != dtype.Bits() {
		least = -most - 1
	}
	x := float64(v)
	switch {
	case x >= 0:
		x = math.Floor(x + 0.5)
	case x < 0:
		x = math.Ceil(x - 0.5)
	default:
		x = 0
	}
	n := uint32(int64(min(max(x, least), most)))
	switch dtype.Size() {
	case 1:
		dst[0] = uint8(n)
	case 2:
		le.PutUint16(dst, uint16(n))
	default:
		le.PutUint32(dst, n)
	}
}

// putFloats writes fractions of full intensity as a type. float32 also keeps values above full
// intensity.
func putFloats(dst []byte, values []float32, dtype tensor.DType) {
	full := float32(1)
	if dtype != tensor.Float32 {
		full = float32(math.Exp2(float64(bits(dtype))) - 1)
	}
	for i, v := range values {
		store(dst[i*dtype.Size():], v*full, dtype)
	}
}

// put writes levels of the given depth as a type.
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
