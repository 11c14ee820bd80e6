package columns

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Fill is the number that stands for null.
type Fill struct{ value float64 }

// NewFill returns the Fill of the argument nulls, or nil if it was not given.
func NewFill(c *op.Config) (*Fill, error) {
	if !c.Given("nulls") {
		return nil, nil
	}
	return &Fill{op.Get[float64](c, "nulls")}, nil
}

// Check fails with errs.Invalid for a number that a type cannot hold.
func (f *Fill) Check(c *op.Config, d tensor.DType) error {
	if f == nil || d.IsFloat() || d == tensor.Bool || d.Size() == 0 {
		return nil
	}
	v, low, high := f.value, 0.0, math.Ldexp(1, d.Bits())
	if d.String()[0] == 'i' {
		low, high = -high/2, high/2
	}
	if v != math.Trunc(v) || v < low || v >= high || math.IsNaN(v) {
		return c.Invalid("nulls", "a number that "+d.String()+" can hold", fmt.Sprint(v), "")
	}
	return nil
}

// Set writes the number to the elements of out that are null, or to all if nulls is nil.
func (f *Fill) Set(d tensor.DType, out []byte, nulls []bool) {
	size := d.Size()
	var one [8]byte
	f.encode(d, one[:])
	for i := 0; i*size < len(out); i++ {
		if nulls == nil || nulls[i] {
			copy(out[i*size:(i+1)*size], one[:])
		}
	}
}

func (f *Fill) encode(d tensor.DType, b []byte) {
	le := binary.LittleEndian
	switch d {
	case tensor.Float64:
		le.PutUint64(b, math.Float64bits(f.value))
	case tensor.Float32:
		le.PutUint32(b, math.Float32bits(float32(f.value)))
	case tensor.Float16:
		le.PutUint16(b, half(f.value))
	case tensor.Bool:
		if f.value != 0 {
			b[0] = 1
		}
	case tensor.Uint64:
		le.PutUint64(b, uint64(f.value))
	default:
		le.PutUint64(b, uint64(int64(f.value)))
	}
}

// half rounds a number to 16 bits, to even.
func half(v float64) uint16 {
	sign := uint16(math.Float64bits(v)>>48) & 0x8000
	v = math.Abs(v)
	switch {
	case math.IsNaN(v):
		return sign | 0x7e00
	case v >= 65520:
		return sign | 0x7c00
	case v < 0x1p-14: // without an exponent
		return sign | uint16(math.RoundToEven(v*0x1p24))
	}
	fraction, exponent := math.Frexp(v) // fraction is from 0.5 to 1
	return sign + uint16(exponent+13)<<10 + uint16(math.RoundToEven(fraction*2048))
}
