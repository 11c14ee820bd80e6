package op

import "unsafe"

// Integer are the integers that numbers are rounded to.
type Integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// Round converts v to an integer as DALI does: half away from zero, then saturated to the range of
// T. NaN becomes the same number as on the processors that DALI runs on: the least int32 and int64,
// 1<<63 of uint64, and 0 for all others.
func Round[T Integer](v float64) T { return RoundFloat[T](v) }

// RoundFloat is Round for either type of float, without a detour for float32.
func RoundFloat[T Integer, S float32 | float64](v S) T {
	lo, hi := limits[T]()
	switch {
	case v >= S(hi): // as a float 2^63-1 and 2^64-1 are 1 more: still saturated
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

// indefinite is the integer that NaN becomes.
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
