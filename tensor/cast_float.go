package tensor

import "math"

// toBFloat16 rounds a float32. NaN becomes the usual NaN of its sign.
func toBFloat16(bits uint32) uint16 {
	if bits&(1<<31-1) > 0x7f800000 {
		return uint16(bits>>31<<15) | 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// halfToFloat32 widens a float16. It keeps the payload of a NaN.
func halfToFloat32(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // a multiple of 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// toHalf rounds a float32. It keeps the high bits of the payload of a NaN.
func toHalf(bits uint32) uint16 {
	sign, magnitude := uint16(bits>>31<<15), bits&(1<<31-1)
	switch {
	case magnitude > 0x7f800000: // NaN
		return sign | max(0x7c01, 0x7c00|uint16(magnitude>>13&0x3ff))
	case magnitude >= 0x477ff000: // 65520, which rounds to 65536
		return sign | 0x7c00
	case magnitude >= 0x38800000: // 2^-14: a normal number
		rounded := magnitude + 0xfff + magnitude>>13&1
		return sign | uint16((rounded-(127-15)<<23)>>13)
	}
	// The result is a multiple of 2^-24. Adding 2^-1 leaves the rounded multiple in the low bits.
	return sign | uint16(math.Float32bits(math.Float32frombits(magnitude)+0.5)-0x3f000000)
}

// doubleToHalf rounds a float64 once.
func doubleToHalf(bits uint64) uint16 {
	sign, magnitude := uint16(bits>>63<<15), bits&(1<<63-1)
	switch {
	case magnitude > 0x7ff0<<48: // NaN
		return sign | max(0x7c01, 0x7c00|uint16(magnitude>>42&0x3ff))
	case magnitude >= 0x40effe<<40: // 65520
		return sign | 0x7c00
	case magnitude >= 0x3f1<<52: // 2^-14
		rounded := magnitude + (1<<41 - 1) + magnitude>>42&1
		return sign | uint16((rounded-(1023-15)<<52)>>42)
	}
	const unit = 0x1p28 // its last bit is 2^-24
	return sign | uint16(math.Float64bits(math.Float64frombits(magnitude)+unit)-math.Float64bits(unit))
}

// narrow rounds a float32 to a format of up to 8 bits.
func (f *floatFormat) narrow(bits uint32) byte {
	magnitude, negative := bits&(1<<31-1), bits>>31 != 0
	switch {
	case magnitude > 0x7f800000:
		return f.castNaN(negative)
	case f.unsigned:
		return f.power(magnitude, negative)
	}
	code := uint32(0)
	if low := uint32(127+1-f.bias) << 23; magnitude < low { // below the normal numbers
		unit := math.Float32frombits(low + uint32(23-f.mantissa)<<23) // its last bit is the smallest number
		code = math.Float32bits(math.Float32frombits(magnitude)+unit) - math.Float32bits(unit)
	} else {
		drop := 23 - f.mantissa
		rounded := magnitude + (1<<(drop-1) - 1) + magnitude>>drop&1
		code = rounded>>drop - uint32(127-f.bias)<<f.mantissa
	}
	switch {
	case code > f.largest():
		return f.castOverflow(negative)
	case negative && (code != 0 || f.nan != 1<<f.width()): // NaN takes the place of negative zero
		code |= 1 << f.width()
	}
	return byte(code)
}

// largest returns the bits of the largest finite value.
func (f *floatFormat) largest() uint32 {
	switch {
	case f.inf != 0:
		return uint32(f.inf) - 1
	case f.nan != 0 && f.nan < 1<<f.width():
		return uint32(f.nan) - 1
	}
	return 1<<f.width() - 1
}

// power rounds to a power of two, and a value halfway between two powers to the larger one. Values
// below the smallest power become the smallest power.
func (f *floatFormat) power(magnitude uint32, negative bool) byte {
	switch {
	case negative || magnitude == 0:
		return byte(f.nan)
	case magnitude < 0x600000: // 1.5 times 2^-127
		return 0
	}
	return byte(min(max(1, (magnitude+1<<22)>>23), uint32(f.nan)))
}

// castNaN returns NaN with a sign, or zero of the other sign if the format has no NaN.
func (f *floatFormat) castNaN(negative bool) byte {
	sign := byte(1) << f.width()
	switch {
	case f.nan == 0 && negative:
		return 0
	case f.nan == 0:
		return sign
	case f.unsigned || !negative || f.nan == uint64(sign):
		return byte(f.nan)
	}
	return byte(f.nan) | sign
}

// castOverflow returns the result for values beyond the largest finite value.
func (f *floatFormat) castOverflow(negative bool) byte {
	sign := byte(0)
	if negative {
		sign = 1 << f.width()
	}
	switch {
	case f.inf != 0:
		return byte(f.inf) | sign
	case f.nan != 0:
		return f.castNaN(negative)
	}
	return 1<<f.width() - 1 | sign
}
