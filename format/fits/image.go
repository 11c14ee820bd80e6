package fits

import (
	"fmt"
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Image is an image of a file. It is immutable.
type Image struct {
	DType tensor.DType
	Shape tensor.Shape // in C order

	header *header
	size   int64 // of the file
	scale  converter
	tiles  *tiling // nil: the image is not compressed
}

// Open finds the image that is HDU number of a file of size bytes. Numbers begin with 1. A file
// with fewer HDUs is errs.NotFound, and an HDU without an image errs.Unsupported.
func Open(r io.ReaderAt, size int64, number int) (*Image, error) {
	if number < 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "fits", Want: "the number of an HDU, from 1 on",
			Got: fmt.Sprint(number)}
	}
	at := int64(0)
	for n := 1; ; n++ {
		if n > 1 && at >= size {
			return nil, &errs.Error{Kind: errs.NotFound, Op: "fits", Want: fmt.Sprintf("HDU %d", number),
				Got: fmt.Sprintf("a file with %d", n-1)}
		}
		h, err := readHeader(r, size, at, n)
		if err != nil {
			return nil, err
		}
		data, err := h.dataSize()
		if err != nil {
			return nil, err
		}
		if data > size-h.data || padded(data) > size-h.data {
			return nil, h.fail(fmt.Sprintf("%d bytes of data, in blocks of %d", data, block),
				fmt.Sprintf("a file that ends after %d", size-h.data))
		}
		if n == number {
			return newImage(h, size, data)
		}
		at = h.data + padded(data)
	}
}

func newImage(h *header, size, data int64) (*Image, error) {
	m := &Image{header: h, size: size}
	bits, prefix := "BITPIX", "NAXIS"
	if h.first == "XTENSION" && h.values["XTENSION"] != "IMAGE" {
		if h.values["XTENSION"] != "BINTABLE" || h.values["ZIMAGE"] != "T" {
			return nil, h.unsupported("an image", h.values["XTENSION"])
		}
		bits, prefix = "ZBITPIX", "ZNAXIS"
	}
	bitpix, err := h.bitpix(bits)
	if err != nil {
		return nil, err
	}
	axes, err := h.axes(prefix)
	if err != nil {
		return nil, err
	}
	if len(axes) == 0 {
		return nil, h.unsupported("an image", "an HDU without data")
	}
	for i := len(axes) - 1; i >= 0; i-- {
		if int64(int(axes[i])) != axes[i] {
			return nil, h.fail("axes that fit into memory", fmt.Sprint(axes[i]))
		}
		m.Shape = append(m.Shape, int(axes[i]))
	}
	scale, err := h.real("BSCALE", 1)
	if err != nil {
		return nil, err
	}
	zero, err := h.real("BZERO", 0)
	if err != nil {
		return nil, err
	}
	m.DType = equivalent(bitpix, scale, zero)
	m.scale = converter{bitpix: bitpix, scale: scale, zero: zero, dtype: m.DType}
	if _, err := m.Shape.Bytes(m.DType); err != nil {
		return nil, h.fail("an image that fits into memory", m.Shape.String())
	}
	if prefix == "ZNAXIS" {
		m.tiles, err = newTiling(h, bitpix, axes, data)
	}
	return m, err
}

// equivalent returns the type of values, as cfitsio does.
func equivalent(bitpix int, scale, zero float64) tensor.DType {
	switch {
	case bitpix == -32:
		return tensor.Float32
	case bitpix == -64:
		return tensor.Float64
	case bitpix == 64:
		return tensor.Int64
	}
	lo, hi := 0.0, 255.0
	if bitpix > 8 {
		hi = float64(int64(1)<<(bitpix-1) - 1)
		lo = -hi - 1
	}
	if scale == 1 && zero == 0 {
		return map[int]tensor.DType{8: tensor.Uint8, 16: tensor.Int16, 32: tensor.Int32}[bitpix]
	}
	if lo, hi = zero+scale*lo, zero+scale*hi; lo > hi {
		lo, hi = hi, lo
	}
	whole := func(v float64) bool { return v == math.Trunc(v) && math.Abs(v) < 1<<62 }
	switch {
	case !whole(scale) || !whole(zero) || zero > 1<<31:
		if bitpix < 32 {
			return tensor.Float32
		}
		return tensor.Float64
	case lo == -128 && hi == 127:
		return tensor.Int8
	case lo >= math.MinInt16 && hi <= math.MaxInt16:
		return tensor.Int16
	case lo >= 0 && hi <= math.MaxUint16:
		return tensor.Uint16
	case lo >= math.MinInt32 && hi <= math.MaxInt32:
		return tensor.Int32
	case lo >= 0 && hi <= math.MaxUint32:
		return tensor.Uint32
	}
	return tensor.Float64
}

// Read reads the image to dst, of the size that Shape and DType have: in C order and little-endian.
// Values are BZERO + BSCALE * element, and truncated to integers for a DType of integers.
func (m *Image) Read(r io.ReaderAt, dst []byte) error {
	if want := m.Shape.Len() * m.DType.Size(); len(dst) != want {
		return &errs.Error{Kind: errs.Invalid, Op: "fits", Want: fmt.Sprintf("room for %d bytes", want),
			Got: fmt.Sprint(len(dst))}
	}
	if m.tiles != nil {
		return m.tiles.read(r, m, dst)
	}
	from, to := m.scale.width(), m.DType.Size()
	if m.scale.same() {
		if err := m.fill(r, dst, m.header.data); err != nil {
			return err
		}
		return m.scale.convert(dst, dst)
	}
	const piece = 64 << 10
	buffer := make([]byte, min(piece, len(dst)/to*from))
	for at := m.header.data; len(dst) > 0; {
		n := min(len(buffer)/from, len(dst)/to)
		if err := m.fill(r, buffer[:n*from], at); err != nil {
			return err
		}
		if err := m.scale.convert(dst[:n*to], buffer[:n*from]); err != nil {
			return errs.Wrap("fits", fmt.Sprintf("HDU %d", m.header.number), err)
		}
		dst, at = dst[n*to:], at+int64(n*from)
	}
	return nil
}

// fill reads bytes of the file.
func (m *Image) fill(r io.ReaderAt, p []byte, at int64) error {
	if at < 0 || at > m.size || int64(len(p)) > m.size-at {
		return m.header.fail(fmt.Sprintf("%d bytes at offset %d", len(p), at),
			fmt.Sprintf("a file of %d bytes", m.size))
	}
	n, err := r.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return errs.Wrap("fits", "", err)
}
