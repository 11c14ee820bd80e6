package random

import (
	"math"

	"github.com/bivouac-ml/bivouac/tensor"
)

// limit returns an end of the range of numbers of type d. The end for an integer type is an
// integer, converted as in DALI: the fraction is dropped, and numbers outside the type wrap around.
func limit(d tensor.DType, v float64) float64 {
	if !d.IsInteger() {
		return v
	}
	i := truncated(v, d.Size() == 4 && !d.IsSigned() || d.Size() == 8)
	switch d {
	case tensor.Int8:
		return float64(int8(i))
	case tensor.Uint8:
		return float64(uint8(i))
	case tensor.Int16:
		return float64(int16(i))
	case tensor.Uint16:
		return float64(uint16(i))
	case tensor.Int32:
		return float64(int32(i))
	case tensor.Uint32:
		return float64(uint32(i))
	case tensor.Uint64:
		if v >= 1<<63 && v < 1<<64 {
			return math.Trunc(v)
		}
		return float64(uint64(i))
	}
	return float64(i)
}

// truncated converts v to an integer of 64 or 32 bits as the processor does: a number that does not
// fit becomes the smallest integer.
func truncated(v float64, bits64 bool) int64 {
	smallest, end := int64(math.MinInt32), float64(1<<31)
	if bits64 {
		smallest, end = math.MinInt64, 1<<63
	}
	if t := math.Trunc(v); t >= -end && t < end {
		return int64(t)
	}
	return smallest
}
