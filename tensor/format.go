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
	case BFloat16, Float16:
		return shortest(t.DType.DecodeFloat(uint64(binary.LittleEndian.Uint16(b))), 32)
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
