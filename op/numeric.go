package op

import (
	"math"
	"unsafe"
)

// Integer are the integers that numbers are rounded to.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Round converts v to an integer as DALI does: half away from zero, then
// saturated to the range of T. NaN becomes 0.
func Round[T Integer](v float64) T {
	lo, hi := limits[T]()
	v = math.Round(v)
	switch {
	case v != v:
		return 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi): // the float of 2^63-1 and 2^64-1 is one more: still saturated
		return hi
	}
	return T(v)
}

// Saturate converts an integer to another type, limited to its range.
func Saturate[T, S Integer](v S) T {
	lo, hi := limits[T]()
	if v < 0 {
		if int64(v) < int64(lo) {
			return lo
		}
		return T(v)
	}
	if uint64(v) > uint64(hi) {
		return hi
	}
	return T(v)
}

func limits[T Integer]() (lo, hi T) {
	var zero T
	if hi = zero - 1; hi > 0 { // unsigned
		return 0, hi
	}
	lo = T(1) << (8*unsafe.Sizeof(zero) - 1)
	return lo, ^lo
}
