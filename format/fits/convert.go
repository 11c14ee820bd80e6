package fits

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// converter turns elements of a file into values.
type converter struct {
	bitpix      int
	scale, zero float64
	dtype       tensor.DType // of the values
}

// width returns the bytes of an element.
func (c *converter) width() int { return max(c.bitpix, -c.bitpix) / 8 }

// same reports whether elements are the values.
func (c *converter) same() bool { return c.scale == 1 && c.zero == 0 }

// convert writes the values of big-endian elements to dst, little-endian. Without scaling both may
// be the same memory.
func (c *converter) convert(dst, src []byte) error {
	le, be := binary.LittleEndian, binary.BigEndian
	if c.same() {
		switch c.width() {
		case 1:
			copy(dst, src)
		case 2:
			for i := 0; i+2 <= len(src); i += 2 {
				le.PutUint16(dst[i:], be.Uint16(src[i:]))
			}
		case 4:
			for i := 0; i+4 <= len(src); i += 4 {
				le.PutUint32(dst[i:], be.Uint32(src[i:]))
			}
		case 8:
			for i := 0; i+8 <= len(src); i += 8 {
				le.PutUint64(dst[i:], be.Uint64(src[i:]))
			}
		}
		return nil
	}
	from, to := c.width(), c.dtype.Size()
	for ; len(src) >= from; src, dst = src[from:], dst[to:] {
		if c.bitpix == 64 && c.scale == 1 && c.zero == 1<<63 { // uint64, which float64 cannot hold
			v := be.Uint64(src) ^ 1<<63
			if v > math.MaxInt64 {
				return tooLarge(fmt.Sprint(v))
			}
			le.PutUint64(dst, v)
			continue
		}
		if err := c.put(dst, c.element(src)*c.scale+c.zero); err != nil {
			return err
		}
	}
	return nil
}

// element returns an element as a number.
func (c *converter) element(b []byte) float64 {
	be := binary.BigEndian
	switch c.bitpix {
	case 8:
		return float64(b[0])
	case 16:
		return float64(int16(be.Uint16(b)))
	case 32:
		return float64(int32(be.Uint32(b)))
	case 64:
		return float64(int64(be.Uint64(b)))
	case -32:
		return float64(math.Float32frombits(be.Uint32(b)))
	}
	return math.Float64frombits(be.Uint64(b))
}

// put writes a value.
func (c *converter) put(dst []byte, v float64) error {
	le := binary.LittleEndian
	switch c.dtype {
	case tensor.Float32:
		le.PutUint32(dst, math.Float32bits(float32(v)))
		return nil
	case tensor.Float64:
		le.PutUint64(dst, math.Float64bits(v))
		return nil
	}
	if !(v >= -(1<<63) && v < 1<<63) {
		return tooLarge(fmt.Sprint(v))
	}
	switch n := int64(v); c.dtype.Size() { // in the range of the type, which was chosen for it
	case 1:
		dst[0] = byte(n)
	case 2:
		le.PutUint16(dst, uint16(n))
	case 4:
		le.PutUint32(dst, uint32(n))
	case 8:
		le.PutUint64(dst, uint64(n))
	}
	return nil
}

func tooLarge(v string) error {
	return &errs.Error{Kind: errs.Unsupported, Want: "values of 64-bit integers with a sign", Got: v}
}
