package segmentation

import (
	"math"

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
		pixels{count[uint8], find[uint8]},
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
