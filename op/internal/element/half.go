package element

import "math"

// Half returns the bits of the float16 nearest to v, ties away from zero. That
// is how DALI rounds on processors; tensor.Cast rounds ties to even, as numpy does.
func Half(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, abs := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13)&0x1ff
	case abs >= 0x477ff000: // 65520, half a step beyond the largest: infinity as well
		return sign | 0x7c00
	case abs >= 0x38800000: // 2^-14, the smallest normal one
		return sign | uint16((abs-0x38000000+0x1000)>>13)
	case abs < 0x33000000: // half of the smallest
		return sign
	}
	exponent := abs >> 23
	mantissa := abs&0x7fffff | 0x800000
	shift := 126 - exponent // 14 to 24 bits below the step of 2^-24
	return sign | uint16((mantissa+1<<(shift-1))>>shift)
}
