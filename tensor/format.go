package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
)

// Element returns element i, counted in C order, as text: numbers in their
// shortest form that reads back the same, fp8 and narrower floats as their
// bits. It is for messages; it panics when i is out of range.
func (t Tensor) Element(i int) string {
	size := t.DType.Size()
	b := t.Data[i*size : (i+1)*size]
	switch t.DType {
	case Bool:
		return strconv.FormatBool(b[0] != 0)
	case BFloat16:
		return shortest(float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16)), 32)
	case Float16:
		return shortest(halfValue(binary.LittleEndian.Uint16(b)), 32)
	case Float32:
		return shortest(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32)
	case Float64:
		return shortest(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64)
	case Complex64:
		re, im := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		return strconv.FormatComplex(complex(float64(math.Float32frombits(re)), float64(math.Float32frombits(im))), 'g', -1, 64)
	case Complex128:
		re, im := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
		return strconv.FormatComplex(complex(math.Float64frombits(re), math.Float64frombits(im)), 'g', -1, 128)
	}
	if !t.DType.IsInteger() {
		return fmt.Sprintf("%#02x", b[0])
	}
	var u uint64
	for j := size - 1; j >= 0; j-- {
		u = u<<8 | uint64(b[j])
	}
	if t.DType.IsSigned() {
		shift := 64 - 8*size
		return strconv.FormatInt(int64(u<<shift)>>shift, 10)
	}
	return strconv.FormatUint(u, 10)
}

func shortest(v float64, bits int) string { return strconv.FormatFloat(v, 'g', -1, bits) }

// halfValue returns the value of an IEEE 754 binary16.
func halfValue(h uint16) float64 {
	exp, frac := int(h>>10&0x1f), float64(h&0x3ff)
	var v float64
	switch exp {
	case 0:
		v = math.Ldexp(frac, -24)
	case 0x1f:
		v = math.Inf(1)
		if frac != 0 {
			v = math.NaN()
		}
	default:
		v = math.Ldexp(1024+frac, exp-25)
	}
	if h>>15 != 0 {
		v = math.Copysign(v, -1)
	}
	return v
}
