package tensor

import (
	"encoding/binary"
	"math"
)

// Elements of a type become elements of the widest type of its class. src holds as many elements as
// dst.

// loadInt takes integers and bools. Types narrower than a byte count with their low bits. uint64
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

// loadFloat32 takes floats of up to 32 bits, exactly.
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

// float32 returns the value of a format of up to 8 bits. Higher bits are ignored. NaN keeps its
// sign.
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

// loadReal64 takes the real parts of complex128.
func loadReal64(dst []float64, src []byte) {
	for i := range dst {
		dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(src[16*i:]))
	}
}

// loadReal32 takes the real parts of complex64.
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
