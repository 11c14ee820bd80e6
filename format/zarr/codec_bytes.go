package zarr

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Bytes returns the codec that writes the elements of type d as they are,
// little-endian.
func Bytes(d tensor.DType) CodecSpec {
	if d.Size() == 1 {
		return CodecSpec{Name: "bytes"}
	}
	return CodecSpec{Name: "bytes", Config: map[string]any{"endian": "little"}}
}

// Fortran returns the codec that stores an array of that rank in Fortran order:
// the first axis varies fastest.
func Fortran(rank int) CodecSpec {
	return CodecSpec{Name: "transpose", Config: map[string]any{"order": fortranOrder(rank)}}
}

func fortranOrder(rank int) []int {
	order := identity(rank)
	slices.Reverse(order)
	return order
}

// readBytes binds the codec bytes. Types of more than one byte must name their
// order.
func (c *chain) readBytes(config object) {
	endian := config.text("endian", "")
	switch {
	case endian == "big":
		c.bigEndian = c.dtype.Size() > 1
	case endian == "little", endian == "" && c.dtype.Size() == 1:
	default:
		config.d.corrupt("codec bytes has endian %q for %v", endian, c.dtype)
	}
}

// readTranspose composes one more permutation: axis k of the result is axis
// order[k] of the input.
func (c *chain) readTranspose(config object) {
	var order []int
	v := config.must("order")
	switch name, _ := v.(string); name {
	case "C":
		return
	case "F":
		order = fortranOrder(len(c.order))
	default:
		order = config.d.permutation(v, len(c.order))
	}
	if config.d.err == nil {
		c.order = (&chain{order: order}).storageAxes(c.order)
	}
}

func (d *document) permutation(v any, rank int) []int {
	order, ok := v.([]int)
	if !ok {
		order = d.extents(v, 0, "order")
	}
	sorted := slices.Sorted(slices.Values(order))
	if d.err == nil && !slices.Equal(sorted, identity(rank)) {
		d.corrupt("order %v is no permutation of %d axes", order, rank)
	}
	return order
}

// needsFinish reports whether finish has anything to do.
func (c *chain) needsFinish() bool {
	return c.bigEndian || c.dtype == tensor.Bool || c.dtype.Bits() < 8
}

// finish turns stored elements, in place, into elements of tensors: byte order,
// the sign of narrow integers, the values of bool.
func (c *chain) finish(p []byte) error {
	if c.bigEndian {
		swapBytes(p, c.dtype)
	}
	switch bits := c.dtype.Bits(); {
	case c.dtype == tensor.Bool:
		return checkBools(p)
	case bits >= 8:
	case c.dtype.IsSigned() && c.dtype.IsInteger():
		shift := 8 - bits
		for i, b := range p {
			p[i] = byte(int8(b<<shift) >> shift)
		}
	default:
		for i := range p {
			p[i] &= 1<<bits - 1
		}
	}
	return nil
}

func checkBools(p []byte) error {
	for i, b := range p {
		if b > 1 {
			return errors.New("element " + itoa(i) + " is a bool of value " + itoa(int(b)))
		}
	}
	return nil
}

// swapBytes reverses the bytes of every element; the parts of complex numbers
// are elements of their own.
func swapBytes(p []byte, t tensor.DType) {
	size := t.Size()
	if t.IsComplex() {
		size /= 2
	}
	for ; len(p) >= size; p = p[size:] {
		slices.Reverse(p[:size])
	}
}

// suffixSize is what crc32c adds.
const suffixSize = 4

// CRC32C returns the codec that appends the checksum of its input.
func CRC32C() CodecSpec { return CodecSpec{Name: "crc32c"} }

type crc32c struct{}

func newCRC32C(object, int) byteCodec { return crc32c{} }

func (crc32c) spec() CodecSpec { return CRC32C() }

func (crc32c) size(n int) (int, bool) { return n + suffixSize, n <= math.MaxInt-suffixSize }

func (crc32c) bound(n int) int { return min(n, math.MaxInt-suffixSize) + suffixSize }

func (crc32c) encode(dst, src []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, src...), crc.Sum(src))
}

func (crc32c) decode(_, src []byte, _ int) ([]byte, error) {
	n := len(src) - suffixSize
	if n < 0 {
		return nil, errors.New("too short for a checksum")
	}
	return src[:n], checkSum(src[:n], src[n:])
}

func checkSum(p, suffix []byte) error { return compareSum(crc.Sum(p), suffix) }

func compareSum(sum uint32, suffix []byte) error {
	if sum != binary.LittleEndian.Uint32(suffix) {
		return errors.New("CRC-32C does not match")
	}
	return nil
}
