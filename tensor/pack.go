package tensor

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// PackedSize returns the number of bytes that n elements take in packed form. The last byte is
// filled up.
func PackedSize(d DType, n int) int {
	bits := d.Bits()
	if bits%8 == 0 {
		return n * (bits / 8)
	}
	return n/8*bits + (n%8*bits+7)/8
}

// Pack appends the elements of src, one byte each, to dst with d.Bits() bits each. The result is a
// little-endian stream of bits: the first element has the lowest bits, and unused bits are zero.
// Elements of types of a byte or more are appended unchanged.
func Pack(dst []byte, d DType, src []byte) []byte {
	bits := uint(d.Bits())
	if bits%8 == 0 {
		return append(dst, src...)
	}
	var acc, have uint
	mask := uint(1)<<bits - 1
	for _, v := range src {
		acc |= (uint(v) & mask) << have
		have += bits
		for have >= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
			have -= 8
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc))
	}
	return dst
}

// Unpack appends n elements of packed, one byte each, to dst. It is the inverse of Pack, with int2
// and int4 sign-extended. The error is of kind errs.Mismatch if packed does not have PackedSize(d,
// n) bytes, and of kind errs.Invalid if d or n is invalid.
func Unpack(dst []byte, d DType, packed []byte, n int) ([]byte, error) {
	if !d.Valid() || n < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "tensor.Unpack",
			Got: strconv.Itoa(n) + " elements of " + d.String()}
	}
	// The first condition keeps PackedSize from overflowing.
	if n > 8*len(packed) || PackedSize(d, n) != len(packed) {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "tensor.Unpack",
			Want: strconv.Itoa(n) + " elements of " + d.String(), Got: strconv.Itoa(len(packed)) + " bytes"}
	}
	bits := uint(d.Bits())
	if bits%8 == 0 {
		return append(dst, packed...), nil
	}
	var acc, have uint
	mask := uint(1)<<bits - 1
	shift := 8 - bits
	signed := d.info().class == classInt
	for range n {
		if have < bits {
			acc |= uint(packed[0]) << have
			packed = packed[1:]
			have += 8
		}
		v := byte(acc & mask)
		if signed {
			v = byte(int8(v<<shift) >> shift)
		}
		dst = append(dst, v)
		acc >>= bits
		have -= bits
	}
	return dst, nil
}
