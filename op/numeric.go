package op

import "unsafe"

// Integer is the constraint of integers to which numbers are rounded.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Round converts v to an integer as DALI does: half away from zero, then saturated to the range of
// T. NaN becomes the same number as on the processors of DALI: the least int32 or int64, 1<<63 for
// uint64, and 0 for all other types.
func Round[T Integer](v float64) T { return RoundFloat[T](v) }

// RoundFloat works like Round for both types of floats. It does not convert float32 to float64.
func RoundFloat[T Integer, S float32 | float64](v S) T {
	lo, hi := limits[T]()
	switch {
	case v >= S(hi): // as floats, 2^63-1 and 2^64-1 are larger by 1; the result is still saturated
		return hi
	case v <= S(lo):
		return lo
	case v != v:
		return indefinite[T]()
	case v >= 1<<63:
		return T(uint64(v))
	}
	i := int64(v)
	switch d := v - S(i); { // exact: |d| < 1
	case d >= 0.5:
		i++
	case d <= -0.5:
		i--
	}
	return T(i)
}

// indefinite returns the integer that NaN becomes.
func indefinite[T Integer]() T {
	lo, _ := limits[T]()
	switch {
	case unsafe.Sizeof(lo) == 8 && lo == 0:
		return ^(^T(0) >> 1)
	case unsafe.Sizeof(lo) >= 4:
		return lo
	}
	return 0
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
