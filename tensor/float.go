package tensor

import (
	"encoding/binary"
	"math"
)

// DecodeFloat returns the exact value of the low bits of bits as a real floating-point number of
// type d. It returns 0 for other types.
func (d DType) DecodeFloat(bits uint64) float64 {
	f, ok := floatFormats[d]
	if !ok {
		return 0
	}
	return f.decode(bits)
}

// EncodeFloat returns the bits of the value of type d that is nearest to x, ties to even. ok is
// false if x is out of range, if x is a NaN or infinity that the type lacks, and if d is not a real
// floating-point type.
func (d DType) EncodeFloat(x float64) (bits uint64, ok bool) {
	f, ok := floatFormats[d]
	if !ok {
		return 0, false
	}
	return f.encode(x)
}

// Float64 returns element i, counted in C order, as a float64. Integers beyond 2^53 are rounded;
// all other values are exact. ok is false for complex types. It panics if i is out of range.
func (t Tensor) Float64(i int) (v float64, ok bool) {
	size := t.DType.Size()
	b := t.Data[i*size : (i+1)*size]
	var u uint64
	for j := size - 1; j >= 0 && j < 8; j-- {
		u = u<<8 | uint64(b[j])
	}
	switch d := t.DType; {
	case d.IsComplex():
		return 0, false
	case d == Float32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), true
	case d == Float64:
		return math.Float64frombits(u), true
	case d.IsFloat():
		return floatFormats[d].decode(u), true
	case d.IsInteger() && d.IsSigned():
		shift := 64 - 8*size
		return float64(int64(u<<shift) >> shift), true
	default:
		return float64(u), true
	}
}

// floatFormat is a binary floating-point format of up to 64 bits.
type floatFormat struct {
	exponent, mantissa int // bits
	bias               int
	nan                uint64 // the usual NaN; 0 if the format has no NaN
	inf                uint64 // positive infinity; 0 if the format has no infinity
	unsigned           bool
}

// floatFormats has the formats of IEEE 754 and of ml_dtypes.
var floatFormats = map[DType]floatFormat{
	Float64:           {exponent: 11, mantissa: 52, bias: 1023, nan: 0x7ff8 << 48, inf: 0x7ff0 << 48},
	Float32:           {exponent: 8, mantissa: 23, bias: 127, nan: 0x7fc0 << 16, inf: 0x7f80 << 16},
	BFloat16:          {exponent: 8, mantissa: 7, bias: 127, nan: 0x7fc0, inf: 0x7f80},
	Float16:           {exponent: 5, mantissa: 10, bias: 15, nan: 0x7e00, inf: 0x7c00},
	Float8E3M4:        {exponent: 3, mantissa: 4, bias: 3, nan: 0x78, inf: 0x70},
	Float8E4M3:        {exponent: 4, mantissa: 3, bias: 7, nan: 0x7c, inf: 0x78},
	Float8E4M3FN:      {exponent: 4, mantissa: 3, bias: 7, nan: 0x7f},
	Float8E4M3FNUZ:    {exponent: 4, mantissa: 3, bias: 8, nan: 0x80},
	Float8E4M3B11FNUZ: {exponent: 4, mantissa: 3, bias: 11, nan: 0x80},
	Float8E5M2:        {exponent: 5, mantissa: 2, bias: 15, nan: 0x7e, inf: 0x7c},
	Float8E5M2FNUZ:    {exponent: 5, mantissa: 2, bias: 16, nan: 0x80},
	Float8E8M0FNU:     {exponent: 8, mantissa: 0, bias: 127, nan: 0xff, unsigned: true},
	Float4E2M1FN:      {exponent: 2, mantissa: 1, bias: 1},
	Float6E2M3FN:      {exponent: 2, mantissa: 3, bias: 1},
	Float6E3M2FN:      {exponent: 3, mantissa: 2, bias: 3},
}

func (f floatFormat) width() int { return f.exponent + f.mantissa }

// decode returns the value of the bits.
func (f floatFormat) decode(bits uint64) float64 {
	sign := 1.0
	magnitude := bits
	if !f.unsigned {
		magnitude &= 1<<f.width() - 1
		if bits>>f.width()&1 != 0 {
			sign = -1
		}
	}
	switch {
	case f.inf != 0 && magnitude == f.inf:
		return math.Inf(int(sign))
	case f.inf != 0 && magnitude > f.inf, f.nan != 0 && (magnitude == f.nan || bits == f.nan):
		return math.NaN()
	}
	exponent := int(magnitude >> f.mantissa)
	fraction := float64(magnitude & (1<<f.mantissa - 1))
	if exponent == 0 && !f.unsigned {
		return sign * math.Ldexp(fraction, 1-f.bias-f.mantissa)
	}
	return sign * math.Ldexp(fraction+math.Ldexp(1, f.mantissa), exponent-f.bias-f.mantissa)
}

// encode returns the bits of the value nearest to x, ties to even. ok is false if x is out of
// range, or a special value that the format lacks.
func (f floatFormat) encode(x float64) (bits uint64, ok bool) {
	switch {
	case math.IsNaN(x):
		return f.nan, f.nan != 0
	case math.IsInf(x, 0):
		bits, ok = f.inf, f.inf != 0
	default:
		bits, ok = f.nearest(math.Abs(x))
	}
	if math.Signbit(x) {
		switch {
		case f.unsigned:
			return 0, false
		case bits == 0 && f.nan == 1<<f.width(): // NaN takes the place of negative zero
		default:
			bits |= 1 << f.width()
		}
	}
	return bits, ok
}

// nearest searches the finite magnitudes, which are sorted by their bits.
func (f floatFormat) nearest(x float64) (uint64, bool) {
	low, high := uint64(0), uint64(1)<<f.width()-1 // decode(low) ≤ x
	switch {
	case f.inf != 0:
		high = f.inf - 1
	case f.nan != 0 && f.nan <= high:
		high = f.nan - 1
	}
	if x > f.decode(high) {
		return 0, false
	}
	for low < high {
		mid := high - (high-low)/2
		if f.decode(mid) <= x {
			low = mid
		} else {
			high = mid - 1
		}
	}
	below := x - f.decode(low)
	if below <= 0 {
		return low, true
	}
	above := f.decode(low+1) - x
	if above < below || above == below && low&1 == 1 {
		low++
	}
	return low, true
}
