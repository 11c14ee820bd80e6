package sound

import "math"

// Integer is the constraint of integer samples. They have a range that stands for -1 to 1.
type Integer interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32
}

// limits returns the least and the largest number of T. unsigned reports whether the least is 0.
func limits[T Integer]() (least, most T, unsigned bool) {
	most = ^T(0)
	if most > 0 {
		return 0, most, true
	}
	least = most
	for least<<1 != 0 {
		least <<= 1
	}
	return least, ^least, false
}

// Widen writes samples as numbers from -1 to 1, or from 0 to 1 for an unsigned target. The largest
// sample becomes 1. A filter adds nothing outside a signal, and unsigned signals are at their least
// there. So the range of the target matters at the ends of a signal.
func Widen[T Integer](to []float32, from []T, toUnsigned bool) {
	_, most, unsigned := limits[T]()
	factor, shift := 1/float32(most), float32(0)
	switch {
	case unsigned && !toUnsigned:
		factor, shift = 2/float32(most), -1
	case !unsigned && toUnsigned:
		factor, shift = factor*0.5, 0.5
	}
	for i, v := range from {
		to[i] = float32(float32(v)*factor) + shift
	}
}

// Narrow writes numbers as samples: from -1 to 1, or from 0 to 1 for an unsigned T. They are
// rounded half away from zero and limited to the range of T. NaN becomes 0, or the least int32.
func Narrow[T Integer](to []T, from []float32) {
	least, most, _ := limits[T]()
	low, high := float32(least), float32(most)
	for i, v := range from {
		x := v * high
		switch {
		case x >= high:
			to[i] = most
		case x <= low:
			to[i] = least
		case x != x:
			to[i] = 0
			if int64(least) == math.MinInt32 {
				to[i] = least
			}
		default:
			n := int64(x)
			switch d := x - float32(n); {
			case d >= 0.5:
				n++
			case d <= -0.5:
				n--
			}
			to[i] = T(n)
		}
	}
}
