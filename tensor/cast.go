package tensor

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// Cast returns the elements of src as another type, in new memory. If src already has the type,
// Cast returns src.
//
// Values are converted as numpy and ml_dtypes convert them (ndarray.astype),
// which is what Orbax does on load:
//
//	to          from           value
//	float       anything       the nearest value, ties to even. For a type narrower
//	                           than float32 the value was rounded to float32 first,
//	                           except from float64 and complex128 to float16. A
//	                           value that is too large becomes infinity, or NaN if
//	                           the type has no infinity, or the largest value if it
//	                           has neither (fp6 and fp4). NaN keeps its sign; if the
//	                           type has no NaN, it becomes zero of the other sign.
//	e8m0        anything       a power of two; NaN for zero and negative values
//	integer     integer, bool  the low bits
//	integer     float          truncated to an integer of 32 bits, or of 64 bits for
//	                           uint32 and types of 64 bits; the low bits count. For
//	                           NaN and values out of range, only the highest bit of
//	                           that integer is set (for uint64: 0 from 2^64 on). For
//	                           floats of a byte or less, infinity becomes the
//	                           largest or the smallest integer, and NaN becomes 0.
//	bool        anything       whether the value is not zero; NaN is not zero
//	complex     real           with 0 as the imaginary part
//	real        complex        the real part
//
// numpy does not define the result for floats out of the range of an integer. The table shows what
// it does on amd64. numpy refuses to cast between e8m0 and types of a byte or less, and between
// some types of less than a byte. Cast supports all pairs.
//
// The error is an error of Check, or of kind errs.Invalid for an invalid type.
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

// CastInto casts the elements of in to out, as Cast does. It allocates nothing, and it can cast an
// array part by part.
//
// out and in may share memory if both begin at the same address, or if both end at the same
// address. So an array can be read into the end of the memory that its wider form needs, and be
// cast there.
//
// The error is of kind errs.Invalid for an invalid type and for memory that overlaps in another
// way. It is of kind errs.Mismatch if out and in have room for different numbers of elements.
func CastInto(dst DType, out []byte, src DType, in []byte) error {
	if !dst.Valid() || !src.Valid() {
		return &errs.Error{Kind: errs.Invalid, Op: "tensor.Cast", Want: "two valid dtypes", Got: src.String() + " to " + dst.String()}
	}
	if len(in)%src.Size() != 0 || len(in)/src.Size()*dst.Size() != len(out) {
		return &errs.Error{Kind: errs.Mismatch, Op: "tensor.Cast", Want: "as many elements in out as in in",
			Got: fmt.Sprintf("%d bytes of %s and %d bytes of %s", len(in), src, len(out), dst)}
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
		return &errs.Error{Kind: errs.Invalid, Op: "tensor.Cast",
			Want: "separate memory, or memory with the same beginning or the same end",
			Got:  "memory that overlaps in another way"}
	}
	return nil
}

// castBlock is the number of elements that are converted at a time. Two blocks of the widest type
// are small compared with a first-level cache.
const castBlock = 256

// castShared casts elements whose memory out may overlap.
func castShared(dst DType, out []byte, src DType, in []byte) {
	var block [castBlock * 16]byte
	convert(dst, out, src, block[:copy(block[:], in)])
}

// order is the order in which blocks are cast.
type order uint8

const (
	entangled order = iota
	apart
	ascending
	descending
)

// direction returns the order in which each element is read before it is overwritten.
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

// convert casts elements between memory that does not overlap. It casts the pairs of most models
// directly, uses a table if src has few different elements, and otherwise casts block by block
// through the widest type of the class of src.
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

// tableFrom is the number of one-byte elements from which on a table of all 256 values pays off.
const tableFrom = 1024

// convertByTable looks up each byte in a table.
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

// convertBlocks casts through int64, uint64, float32, float64 or complex128.
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

// convertDirectly casts the pairs of types that weights and moments of most models have. It reports
// whether it did.
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
