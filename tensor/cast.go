package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// Cast returns the elements of src as another type, in new memory. A tensor that already has the
// type is returned as it is.
//
// Values are converted as numpy and ml_dtypes convert them (ndarray.astype),
// which is what Orbax does on load:
//
//	to          from           value
//	float       anything       the nearest, ties to even. What a type narrower than
//	                           float32 gets was rounded to float32 first, but for
//	                           float64 and complex128 to float16. Beyond the
//	                           largest finite value infinity, else NaN, else (fp6
//	                           and fp4) the largest. NaN is NaN of the same sign;
//	                           where there is none, zero of the other sign.
//	e8m0        anything       a power of two; NaN for zero and what is negative
//	integer     integer, bool  the low bits
//	integer     float          truncated to an integer of 32 bits, of 64 for types
//	                           of 32 bits without a sign and of 64 bits, of which the
//	                           low bits are taken. Beyond its range, and for NaN,
//	                           that has only the highest bit set (of uint64: 0 from
//	                           2^64 on). Of types of a byte or less, infinity is the
//	                           largest or the smallest integer and NaN 0.
//	bool        anything       whether it is not zero; NaN is not
//	complex     real           with 0 as the imaginary part
//	real        complex        the real part
//
// Floats out of the range of an integer are not defined in numpy: what is said
// above is what it does on amd64. numpy refuses to cast between e8m0 and types of
// a byte or less and between some types of less than a byte; here all pairs work.
//
// Errors: the errors of Check, and errs.Invalid for an invalid type.
func Cast(dst DType, src Tensor) (Tensor, error) {
	if err := src.Check(); err != nil {
		return Tensor{}, err
	}
	if dst == src.DType {
		return src, nil
	}
	n, err := src.Shape.Bytes(dst)
	if err != nil {
		return Tensor{}, err
	}
	out := Tensor{DType: dst, Shape: src.Shape.Clone(), Layout: src.Layout, Data: alloc(n)}
	return out, CastInto(dst, out.Data, src.DType, src.Data)
}

// CastInto casts the elements of in to out, as Cast does. It allocates nothing,
// and a part of an array may be cast at a time.
//
// out and in may share memory where both begin at the same address, or end at the same: an array
// can be read into the end of the memory that its wider form takes, and be cast there.
//
// Errors: errs.Invalid for invalid types and for memory shared in another way, errs.Mismatch if the
// lengths hold different numbers of elements.
func CastInto(dst DType, out []byte, src DType, in []byte) error {
	if !dst.Valid() || !src.Valid() {
		return &errs.Error{Kind: errs.Invalid, Op: "tensor.Cast", Want: "two valid dtypes", Got: src.String() + " to " + dst.String()}
	}
	if len(in)%src.Size() != 0 || len(in)/src.Size()*dst.Size() != len(out) {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Cast", Want: "bytes of as many elements",
			Got: fmt.Sprintf("%d of %s and %d of %s", len(in), src, len(out), dst)}
	}
	if len(in) == 0 {
		return nil
	}
	switch direction(out, in) {
	case apart:
		convert(dst, out, src, in)
	case ascending:
		for n := len(in) / src.Size(); n > 0; n -= castBlock {
			k := min(n, castBlock)
			castShared(dst, out[:k*dst.Size()], src, in[:k*src.Size()])
			out, in = out[k*dst.Size():], in[k*src.Size():]
		}
	case descending:
		for n := len(in) / src.Size(); n > 0; {
			n -= (n-1)%castBlock + 1
			castShared(dst, out[n*dst.Size():], src, in[n*src.Size():])
			out, in = out[:n*dst.Size()], in[:n*src.Size()]
		}
	default:
		return &errs.Error{Kind: errs.Invalid, Op: "tensor.Cast", Want: "memory apart, or with one beginning or one end", Got: "memory that overlaps otherwise"}
	}
	return nil
}

// castBlock is how many elements are converted at a time: two blocks of the
// widest type are little beside a cache of the first level.
const castBlock = 256

// castShared casts a block that out may overlap.
func castShared(dst DType, out []byte, src DType, in []byte) {
	var block [castBlock * 16]byte
	convert(dst, out, src, block[:copy(block[:], in)])
}

// order is in which order blocks are cast.
type order uint8

const (
	entangled order = iota
	apart
	ascending
	descending
)

// direction returns the order in which no element is written before it is read.
func direction(out, in []byte) order {
	o, i := uintptr(unsafe.Pointer(unsafe.SliceData(out))), uintptr(unsafe.Pointer(unsafe.SliceData(in)))
	oEnd, iEnd := o+uintptr(len(out)), i+uintptr(len(in))
	switch {
	case oEnd <= i || iEnd <= o:
		return apart
	case o == i && len(out) <= len(in), oEnd == iEnd && len(out) >= len(in):
		return ascending
	case o == i, oEnd == iEnd:
		return descending
	}
	return entangled
}

// convert casts elements between memory that does not overlap: directly for the
// pairs of most models, from a table of all elements where there are few of them,
// and else block by block over the widest type of the source's class.
func convert(dst DType, out []byte, src DType, in []byte) {
	switch {
	case dst == src:
		copy(out, in)
	case convertDirectly(dst, out, src, in):
	case src.Size() == 1 && len(in) >= tableFrom:
		convertByTable(dst, out, src, in)
	default:
		convertBlocks(dst, out, src, in)
	}
}

// tableFrom is how many elements of a byte are worth a table of all 256.
const tableFrom = 1024

// convertByTable looks each byte up.
func convertByTable(dst DType, out []byte, src DType, in []byte) {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	var table [256 * 16]byte
	size := dst.Size()
	convertBlocks(dst, table[:256*size], src, all[:])
	if size == 1 {
		for i, b := range in {
			out[i] = table[b]
		}
		return
	}
	for i, b := range in {
		copy(out[i*size:(i+1)*size], table[int(b)*size:])
	}
}

// convertBlocks casts over int64, uint64, float32, float64 or complex128.
func convertBlocks(dst DType, out []byte, src DType, in []byte) {
	step, wide := src.Size(), dst.Size()
	for len(in) > 0 {
		n := min(len(in)/step, castBlock)
		a, b := in[:n*step], out[:n*wide]
		in, out = in[n*step:], out[n*wide:]
		switch {
		case src.IsComplex() && (dst.IsComplex() || dst == Bool):
			var block [castBlock]complex128
			loadComplex(block[:n], src, a)
			storeComplex(dst, b, block[:n])
		case src == Float64 || src == Complex128:
			var block [castBlock]float64
			if src == Float64 {
				loadFloat64(block[:n], a)
			} else {
				loadReal64(block[:n], a)
			}
			storeFloat64(dst, b, block[:n])
		case src.IsFloat() || src == Complex64:
			var block [castBlock]float32
			if src == Complex64 {
				loadReal32(block[:n], a)
			} else {
				loadFloat32(block[:n], src, a)
			}
			storeFloat32(dst, b, src, block[:n])
		default:
			var block [castBlock]int64
			loadInt(block[:n], src, a)
			storeInt(dst, b, block[:n], src == Uint64)
		}
	}
}

// convertDirectly casts the pairs that weights and moments of most models are
// cast between; it reports whether it did.
func convertDirectly(dst DType, out []byte, src DType, in []byte) bool {
	switch [2]DType{src, dst} {
	case [2]DType{Float32, BFloat16}:
		for len(in) >= 4 && len(out) >= 2 {
			binary.LittleEndian.PutUint16(out, toBFloat16(binary.LittleEndian.Uint32(in)))
			in, out = in[4:], out[2:]
		}
	case [2]DType{BFloat16, Float32}:
		for len(in) >= 2 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, uint32(binary.LittleEndian.Uint16(in))<<16)
			in, out = in[2:], out[4:]
		}
	case [2]DType{Float32, Float16}:
		for len(in) >= 4 && len(out) >= 2 {
			binary.LittleEndian.PutUint16(out, toHalf(binary.LittleEndian.Uint32(in)))
			in, out = in[4:], out[2:]
		}
	case [2]DType{Float16, Float32}:
		for len(in) >= 2 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, math.Float32bits(halfToFloat32(binary.LittleEndian.Uint16(in))))
			in, out = in[2:], out[4:]
		}
	case [2]DType{Float64, Float32}:
		for len(in) >= 8 && len(out) >= 4 {
			binary.LittleEndian.PutUint32(out, math.Float32bits(float32(math.Float64frombits(binary.LittleEndian.Uint64(in)))))
			in, out = in[8:], out[4:]
		}
	case [2]DType{Float32, Float64}:
		for len(in) >= 4 && len(out) >= 8 {
			binary.LittleEndian.PutUint64(out, math.Float64bits(float64(math.Float32frombits(binary.LittleEndian.Uint32(in)))))
			in, out = in[4:], out[8:]
		}
	default:
		return false
	}
	return true
}
