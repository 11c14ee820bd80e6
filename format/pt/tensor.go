package pt

import (
	"hash/crc32"
	"math"
	"math/bits"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Storage is the memory of one tensor, or of several tensors.
type Storage struct {
	Offset, Size int64 // in the archive
	CRC          uint32
	Checked      bool // CRC is the checksum of the bytes; otherwise nothing covers them
}

// Verify compares all bytes of the storage with its checksum, if it has one.
func (s *Storage) Verify(b []byte) error { return s.Same(crc32.ChecksumIEEE(b)) }

// Same compares a CRC-32 of all bytes of the storage with its checksum, if it has one.
func (s *Storage) Same(sum uint32) error {
	if !s.Checked {
		return nil
	}
	return sameSum(s.CRC, sum)
}

// Tensor is a view of a storage.
type Tensor struct {
	DType   tensor.DType
	Shape   tensor.Shape
	Strides []int // between neighbours along each axis, in elements
	First   int   // the place of the first element in the storage, in elements
	Storage *Storage

	// Whole is the shape of the tensor of which this is a part, and Origin where the part begins. They
	// are nil for a tensor that is whole.
	Whole  tensor.Shape
	Origin []int
}

// Plain reports whether the elements lie one after the other, in C order.
func (t *Tensor) Plain() bool {
	next := 1
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if t.Shape[i] != 1 && t.Strides[i] != next {
			return t.Shape.Len() == 0
		}
		next *= t.Shape[i]
	}
	return true
}

// Extent returns where the elements lie in the storage: the first byte, and the number of bytes up
// to the last element.
func (t *Tensor) Extent() (first, length int64) {
	size := int64(t.DType.Size())
	if t.Shape.Len() == 0 {
		return 0, 0
	}
	last := 0
	for i, n := range t.Shape {
		last += (n - 1) * t.Strides[i]
	}
	return int64(t.First) * size, int64(last+1) * size
}

// Gather copies the elements in C order to dst, which has their size, from the bytes of the Extent.
func (t *Tensor) Gather(dst, extent []byte) {
	if len(dst) == 0 {
		return
	}
	size := t.DType.Size()
	if t.Plain() {
		copy(dst, extent)
		return
	}
	at, from := make([]int, len(t.Shape)), 0
	for n := 0; n < len(dst); n += size {
		copy(dst[n:n+size], extent[from*size:])
		for axis := len(t.Shape) - 1; axis >= 0; axis-- {
			at[axis]++
			from += t.Strides[axis]
			if at[axis] < t.Shape[axis] {
				break
			}
			from -= at[axis] * t.Strides[axis]
			at[axis] = 0
		}
	}
}

// spare is how many bytes a tensor may have beyond the bytes of its storage: a small tensor may
// repeat its elements.
const spare = 1 << 20

// check returns an error unless the view lies in its storage.
func (t *Tensor) check() error {
	bytes, err := t.Shape.Bytes(t.DType)
	if err != nil {
		return corrupt("a tensor of the shape " + t.Shape.String())
	}
	if len(t.Strides) != len(t.Shape) || t.First < 0 {
		return corrupt("a tensor of " + strconv.Itoa(len(t.Shape)) + " axes and " + strconv.Itoa(len(t.Strides)) + " strides")
	}
	last := uint64(t.First)
	for i, n := range t.Shape {
		if t.Strides[i] < 0 {
			return corrupt("a negative stride")
		}
		hi, lo := bits.Mul64(uint64(max(n-1, 0)), uint64(t.Strides[i]))
		if hi != 0 || lo > math.MaxInt64 || last+lo > math.MaxInt64 {
			return corrupt("strides beyond all memory")
		}
		last += lo
	}
	if bytes == 0 {
		return nil
	}
	if last >= uint64(t.Storage.Size)/uint64(t.DType.Size()) {
		return corrupt("a tensor whose last element is beyond its storage of " + strconv.FormatInt(t.Storage.Size, 10) +
			" bytes")
	}
	if int64(bytes) > t.Storage.Size && bytes > spare {
		return &errs.Error{Kind: errs.Unsupported, Want: "a tensor that is not larger than its storage",
			Got:    strconv.Itoa(bytes) + " bytes in a storage of " + strconv.FormatInt(t.Storage.Size, 10),
			Remedy: "save it after contiguous()"}
	}
	return nil
}

func corrupt(got string) error { return &errs.Error{Kind: errs.Corrupt, Got: got} }

// dtypes has the element types by the names that torch gives them. Other types of torch are
// refused.
var dtypes = map[string]tensor.DType{
	"bool": tensor.Bool, "uint8": tensor.Uint8, "int8": tensor.Int8, "int16": tensor.Int16, "int32": tensor.Int32,
	"int64": tensor.Int64, "uint16": tensor.Uint16, "uint32": tensor.Uint32, "uint64": tensor.Uint64,
	"float16": tensor.Float16, "bfloat16": tensor.BFloat16, "float32": tensor.Float32, "float64": tensor.Float64,
	"complex64": tensor.Complex64, "complex128": tensor.Complex128,
	"float8_e4m3fn": tensor.Float8E4M3FN, "float8_e4m3fnuz": tensor.Float8E4M3FNUZ,
	"float8_e5m2": tensor.Float8E5M2, "float8_e5m2fnuz": tensor.Float8E5M2FNUZ,
	"float8_e8m0fnu": tensor.Float8E8M0FNU,
}

// otherTypes are types of torch that have no counterpart here. They are listed, so that the error
// about a tensor of them names the tensor.
var otherTypes = map[string]bool{
	"complex32": true, "quint8": true, "qint8": true, "qint32": true, "quint4x2": true, "quint2x4": true,
	"float4_e2m1fn_x2": true, "bits1x8": true, "bits2x4": true, "bits4x2": true, "bits8": true, "bits16": true,
	"int1": true, "int2": true, "int3": true, "int4": true, "int5": true, "int6": true, "int7": true,
	"uint1": true, "uint2": true, "uint3": true, "uint4": true, "uint5": true, "uint6": true, "uint7": true,
}

// storages has the element types by the classes of storages.
var storages = map[string]tensor.DType{
	"BoolStorage": tensor.Bool, "ByteStorage": tensor.Uint8, "CharStorage": tensor.Int8, "ShortStorage": tensor.Int16,
	"IntStorage": tensor.Int32, "LongStorage": tensor.Int64, "HalfStorage": tensor.Float16,
	"BFloat16Storage": tensor.BFloat16, "FloatStorage": tensor.Float32, "DoubleStorage": tensor.Float64,
	"ComplexFloatStorage": tensor.Complex64, "ComplexDoubleStorage": tensor.Complex128,
	"UntypedStorage": tensor.Invalid,
}

// DType returns the element type that torch gives a name; ok is false for a type that has no
// counterpart.
func DType(name string) (d tensor.DType, ok bool) {
	d, ok = dtypes[name]
	return d, ok
}

// IsType reports whether torch gives an element type the name, with or without a counterpart.
func IsType(name string) bool { return isType(name) || otherTypes[name] }
