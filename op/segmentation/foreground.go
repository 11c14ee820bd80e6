package segmentation

import (
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

// number is the constraint of pixels. Bools are read as bytes.
type number interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64 | float32
}

// foreground says which pixels are candidates: pixels of one value, or pixels above a threshold.
type foreground struct {
	byValue   bool
	value     int32
	threshold float32
}

// pixels are the functions for one type of pixel.
type pixels struct {
	count func(data []byte, f foreground) int        // candidates
	find  func(data []byte, f foreground, n int) int // index of the candidate of which n come before
}

// pixelsOf returns the functions for a dtype of pixelTypes.
func pixelsOf(d tensor.DType) pixels {
	return element.Pick(d,
		pixels{countBytes, find[uint8]},
		pixels{count[int8], find[int8]},
		pixels{count[uint16], find[uint16]},
		pixels{count[int16], find[int16]},
		pixels{count[uint32], find[uint32]},
		pixels{count[int32], find[int32]},
		pixels{count[uint64], find[uint64]},
		pixels{count[int64], find[int64]},
		pixels{count[float32], find[float32]},
		pixels{})
}

func count[T number](data []byte, f foreground) (n int) {
	if f.byValue {
		value := T(f.value)
		for _, v := range element.View[T](data) {
			if v == value {
				n++
			}
		}
		return n
	}
	for _, v := range element.View[T](data) {
		if float32(v) > f.threshold {
			n++
		}
	}
	return n
}

const (
	lows  = 0x7f7f7f7f7f7f7f7f
	highs = 0x8080808080808080
	ones  = 0x0101010101010101
)

// countBytes works like count[uint8], for eight pixels at a time. A pixel counts if the high bit of
// its byte is set in the end.
func countBytes(data []byte, f foreground) (n int) {
	if len(data) < 8 || uintptr(unsafe.Pointer(unsafe.SliceData(data)))%8 != 0 {
		return count[uint8](data, f)
	}
	flip, add, both := uint64(0), uint64(0), false
	if f.byValue {
		flip, add = ones*uint64(uint8(f.value)), lows // an equal pixel becomes 0, which lows do not carry
	} else {
		least := 256 // of the foreground
		for least > 0 && float32(least-1) > f.threshold {
			least--
		}
		switch {
		case least == 0:
			return len(data)
		case least > 255:
			return 0
		case least > 128:
			add, both = ones*uint64(256-least), true // its own high bit and a carry
		default:
			add = ones * uint64(128-least) // its own high bit or a carry
		}
	}
	const most = 31 // words whose counts fit in a byte
	words := element.View[uint64](data[:len(data)&^7])
	for rest := words; len(rest) > 0; {
		part, sum := rest[:min(most, len(rest))], uint64(0)
		rest = rest[len(part):]
		if both {
			for _, x := range part {
				sum += (x&lows + add) & x & highs >> 7
			}
		} else {
			for _, x := range part {
				x ^= flip
				sum += (x&lows + add | x) & highs >> 7
			}
		}
		n += int(sum * ones >> 56)
	}
	if f.byValue {
		n = 8*len(words) - n // pixels that are not equal were counted
	}
	return n + count[uint8](data[8*len(words):], f)
}

func find[T number](data []byte, f foreground, n int) int {
	value := T(f.value)
	for i, v := range element.View[T](data) {
		if f.byValue && v == value || !f.byValue && float32(v) > f.threshold {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// chunk is the number of bytes whose candidates are counted at once.
const chunk = 1 << 12

// draw returns the index of a candidate, or -1 if no pixel is one. pick draws a number below n.
func (d *drawer) draw(mask tensor.Tensor, f foreground, pick func(n int) int) int {
	px, size := pixelsOf(mask.DType), mask.DType.Size()
	d.counts = d.counts[:0]
	total := 0
	for from := 0; from < len(mask.Data); from += chunk {
		n := px.count(mask.Data[from:min(from+chunk, len(mask.Data))], f)
		d.counts = append(d.counts, int32(n))
		total += n
	}
	if total == 0 {
		return -1
	}
	n := pick(total)
	for i, count := range d.counts {
		if n < int(count) {
			return i*chunk/size + px.find(mask.Data[i*chunk:], f, n)
		}
		n -= int(count)
	}
	return -1
}

// foregroundOf reads the arguments of a sample. ok is false if no pixel of the dtype can have the
// value.
func (k *maskPixel) foregroundOf(b *op.Block, s int, d tensor.DType) (f foreground, ok bool, err error) {
	if !k.byValue {
		threshold, err := k.threshold.At(b, s)
		return foreground{threshold: float32(threshold)}, true, err
	}
	value, err := k.value.At(b, s)
	if err != nil || value < math.MinInt32 || value > math.MaxInt32 {
		return f, false, err
	}
	f = foreground{byValue: true, value: int32(value)}
	switch d {
	case tensor.Bool:
		return f, value == 0 || value == 1, nil
	case tensor.Uint8:
		ok = value == int(uint8(value))
	case tensor.Int8:
		ok = value == int(int8(value))
	case tensor.Uint16:
		ok = value == int(uint16(value))
	case tensor.Int16:
		ok = value == int(int16(value))
	case tensor.Float32:
		ok = value == int(float32(value))
	default: // a value below 0 stands for the same bits in types without a sign, as in DALI
		ok = true
	}
	return f, ok, nil
}
