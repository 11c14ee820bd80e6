package tensor

import (
	"encoding/binary"
	"math"
)

// The load functions convert elements to the widest type of their class. src holds as many elements
// as dst.

// loadInt loads integers and bools. For types narrower than a byte only the low bits count. uint64
// elements keep their bits.
func loadInt(dst []int64, d DType, src []byte) {
	bits := 64 - d.Bits()
	switch {
	case d == Bool:
		for i := range dst {
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	case d.Size() == 1 && d.IsSigned():
		for i := range dst {
			dst[i] = int64(src[i]) << bits >> bits
		}
	case d.Size() == 1:
		for i := range dst {
			dst[i] = int64(uint64(src[i]) << bits >> bits)
		}
	case d == Int16:
		for i := range dst {
			dst[i] = int64(int16(binary.LittleEndian.Uint16(src[2*i:])))
		}
	case d == Uint16:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint16(src[2*i:]))
		}
	case d == Int32:
		for i := range dst {
			dst[i] = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
		}
	case d == Uint32:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint32(src[4*i:]))
		}
	default:
		for i := range dst {
			dst[i] = int64(binary.LittleEndian.Uint64(src[8*i:]))
		}
	}
}

// loadFloat32 loads floats of up to 32 bits, exactly.
func loadFloat32(dst []float32, d DType, src []byte) {
	switch d {
	case Float32:
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
		}
	case BFloat16:
		for i := range dst {
			dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
		}
	case Float16:
		for i := range dst {
			dst[i] = halfToFloat32(binary.LittleEndian.Uint16(src[2*i:]))
		}
	default:
		f := floatFormats[d]
		for i := range dst {
			dst[i] = f.float32(src[i])
		}
	}
}

// float32 returns the value of a number in a format of up to 8 bits. Higher bits are ignored. NaN
// keeps its sign.
func (f *floatFormat) float32(bits byte) float32 {
	if !f.unsigned {
		bits &= 1<<(f.width()+1) - 1
	}
	x := float32(f.decode(uint64(bits)))
	if x == x {
		return x
	}
	nan := uint32(0x7fc00000)
	if !f.unsigned {
		nan |= uint32(bits) >> f.width() << 31
	}
	return math.Float32frombits(nan)
}

func loadFloat64(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
	}
}

// loadReal64 loads the real parts of complex128.
func loadReal64(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[16*i:]))
	}
}

// loadReal32 loads the real parts of complex64.
func loadReal32(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(src[8*i:]))
	}
}

func loadComplex(dst []complex128, d DType, src []byte) {
	if d == Complex64 {
		for i := range dst {
			dst[i] = complex(float64(math.Float32frombits(binary.LittleEndian.Uint32(src[8*i:]))),
				float64(math.Float32frombits(binary.LittleEndian.Uint32(src[8*i+4:]))))
		}
		return
	}
	for i := range dst {
		dst[i] = complex(math.Float64frombits(binary.LittleEndian.Uint64(src[16*i:])),
			math.Float64frombits(binary.LittleEndian.Uint64(src[16*i+8:])))
	}
}

// The store functions convert elements of the widest type of a class to any type. dst holds as many
// elements as src.

// storeInt stores the result of loadInt. unsigned says that the elements were uint64.
func storeInt(d DType, dst []byte, src []int64, unsigned bool) {
	switch {
	case d == Bool:
		for i, v := range src {
			dst[i] = truth(v != 0)
		}
	case d.IsInteger():
		storeBits(d, dst, src)
	case d == Float64 || d == Complex128:
		var block [castBlock]float64
		for i, v := range src {
			if block[i] = float64(v); unsigned {
				block[i] = float64(uint64(v))
			}
		}
		storeFloat64(d, dst, block[:len(src)])
	default:
		var block [castBlock]float32
		for i, v := range src {
			if block[i] = float32(v); unsigned {
				block[i] = float32(uint64(v))
			}
		}
		storeFloat32(d, dst, Float32, block[:len(src)])
	}
}

func truth(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// storeBits stores the low bits as integers.
func storeBits(d DType, dst []byte, src []int64) {
	switch d.Size() {
	case 1:
		bits := 8 - d.Bits()
		for i, v := range src {
			if dst[i] = byte(v) << bits >> bits; d.IsSigned() {
				dst[i] = byte(int8(byte(v)<<bits) >> bits)
			}
		}
	case 2:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], uint16(v))
		}
	case 4:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], uint32(v))
		}
	default:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(v))
		}
	}
}

// storeFloat32 stores the result of loadFloat32 for elements of type from.
func storeFloat32(d DType, dst []byte, from DType, src []float32) {
	switch {
	case d == Bool:
		for i, v := range src {
			dst[i] = truth(v != 0)
		}
	case d.IsInteger():
		var block [castBlock]int64
		for i, v := range src {
			if from.Size() == 1 {
				block[i] = truncateNarrow(float64(v), d)
			} else {
				block[i] = truncate(float64(v), d)
			}
		}
		storeBits(d, dst, block[:len(src)])
	case d == Float32:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
		}
	case d == Float64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(float64(v)))
		}
	case d == Complex64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], uint64(math.Float32bits(v)))
		}
	case d == Complex128:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[16*i:], math.Float64bits(float64(v)))
			binary.LittleEndian.PutUint64(dst[16*i+8:], 0)
		}
	case d == BFloat16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], toBFloat16(math.Float32bits(v)))
		}
	case d == Float16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], toHalf(math.Float32bits(v)))
		}
	default:
		f := floatFormats[d]
		for i, v := range src {
			dst[i] = f.narrow(math.Float32bits(v))
		}
	}
}

func storeFloat64(d DType, dst []byte, src []float64) {
	switch {
	case d == Bool:
		for i, v := range src {
			dst[i] = truth(v != 0)
		}
	case d.IsInteger():
		var block [castBlock]int64
		for i, v := range src {
			block[i] = truncate(v, d)
		}
		storeBits(d, dst, block[:len(src)])
	case d == Float64:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[8*i:], math.Float64bits(v))
		}
	case d == Complex128:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[16*i:], math.Float64bits(v))
			binary.LittleEndian.PutUint64(dst[16*i+8:], 0)
		}
	case d == Float16:
		for i, v := range src {
			binary.LittleEndian.PutUint16(dst[2*i:], doubleToHalf(math.Float64bits(v)))
		}
	default:
		var block [castBlock]float32
		for i, v := range src {
			block[i] = float32(v)
		}
		storeFloat32(d, dst, Float32, block[:len(src)])
	}
}

// storeComplex stores the result of loadComplex, for types to which both parts matter.
func storeComplex(d DType, dst []byte, src []complex128) {
	switch d {
	case Bool:
		for i, v := range src {
			dst[i] = truth(v != 0)
		}
	case Complex64:
		for i, v := range src {
			binary.LittleEndian.PutUint32(dst[8*i:], math.Float32bits(float32(real(v))))
			binary.LittleEndian.PutUint32(dst[8*i+4:], math.Float32bits(float32(imag(v))))
		}
	default:
		for i, v := range src {
			binary.LittleEndian.PutUint64(dst[16*i:], math.Float64bits(real(v)))
			binary.LittleEndian.PutUint64(dst[16*i+8:], math.Float64bits(imag(v)))
		}
	}
}

// truncate returns an integer whose low bits are the value of v in an integer type; see Cast.
func truncate(v float64, d DType) int64 {
	const two63 = 1 << 63
	switch {
	case d.Bits() < 32 || d == Int32:
		if v > -(1<<31)-1 && v < 1<<31 {
			return int64(v)
		}
		return math.MinInt32
	case v >= -two63 && v < two63:
		return int64(v)
	case d == Uint64 && v >= two63:
		if v < 2*two63 {
			return int64(uint64(v))
		}
		return 0
	}
	return math.MinInt64
}

// truncateNarrow does the same as truncate, for floats of a byte or less.
func truncateNarrow(v float64, d DType) int64 {
	switch {
	case v != v:
		return 0
	case math.IsInf(v, 0):
		return limit(v > 0, d)
	}
	return truncate(v, d)
}

// limit returns the largest or the smallest integer of a type. For types narrower than a byte it
// returns the limit of a byte.
func limit(largest bool, d DType) int64 {
	bits := max(8, d.Bits())
	switch {
	case d.IsSigned() && largest:
		return 1<<(bits-1) - 1
	case d.IsSigned():
		return -1 << (bits - 1)
	case largest:
		return -1 // all bits
	}
	return 0
}
