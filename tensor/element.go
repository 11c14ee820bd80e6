package tensor

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// Element lists the Go types that can be elements of tensors. int, uint and uintptr have 32 or 64
// bits, depending on the machine.
type Element interface {
	~bool | ~int | ~int8 | ~int16 | ~int32 | ~int64 |
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// DTypeOf returns the dtype of elements of Go type T.
func DTypeOf[T Element]() DType {
	d, _ := FromReflect(reflect.TypeFor[T]())
	return d
}

// FromReflect returns the dtype of elements of Go type t. ok is false if there is no such dtype.
// Named types count as their underlying types.
func FromReflect(t reflect.Type) (d DType, ok bool) {
	switch t.Kind() {
	case reflect.Bool:
		return Bool, true
	case reflect.Int8:
		return Int8, true
	case reflect.Int16:
		return Int16, true
	case reflect.Int32:
		return Int32, true
	case reflect.Int64:
		return Int64, true
	case reflect.Int:
		if strconv.IntSize == 32 {
			return Int32, true
		}
		return Int64, true
	case reflect.Uint8:
		return Uint8, true
	case reflect.Uint16:
		return Uint16, true
	case reflect.Uint32:
		return Uint32, true
	case reflect.Uint64:
		return Uint64, true
	case reflect.Uint:
		if strconv.IntSize == 32 {
			return Uint32, true
		}
		return Uint64, true
	case reflect.Float32:
		return Float32, true
	case reflect.Float64:
		return Float64, true
	case reflect.Complex64:
		return Complex64, true
	case reflect.Complex128:
		return Complex128, true
	}
	return Invalid, false
}

// FromSlice returns a tensor that is a view of v: both share memory. Without a shape it has one
// axis of len(v). It panics if the shape does not match the length.
//
// Pass the bits of float16, bfloat16 and narrower types as uint16 or uint8, and call Tensor.As to
// set the dtype.
func FromSlice[T Element](v []T, shape ...int) Tensor {
	t := Tensor{DType: DTypeOf[T](), Shape: slices.Clone(shape), Data: byteView(v)}
	if len(shape) == 0 {
		t.Shape = Shape{len(v)}
	}
	if err := t.Check(); err != nil {
		panic(err)
	}
	return t
}

// ScalarOf returns a tensor of rank 0 in new memory.
func ScalarOf[T Element](v T) Tensor {
	t := Tensor{DType: DTypeOf[T](), Data: alloc(int(unsafe.Sizeof(v)))}
	copy(t.Data, byteView([]T{v}))
	return t
}

// Of returns the elements of t as a slice that shares its memory. T must be the Go type of t.DType.
// For types that Go lacks, T is the integer that holds their bits: uint16 for float16 and bfloat16,
// uint8 for fp8, fp6, fp4, uint4 and uint2, int8 for int4 and int2.
//
// The error is of one of these kinds:
//   - errs.Mismatch if T is another type or Data has the wrong length
//   - errs.Invalid if Data is not aligned for T (Clone makes an aligned copy)
//   - errs.Corrupt if a byte of a bool is neither 0 nor 1
func Of[T Element](t Tensor) ([]T, error) {
	want := DTypeOf[T]()
	if t.DType != want && t.DType.info().carrier != want {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "tensor.Of", Subject: t.String(),
			Want: t.DType.info().carrier.String() + " elements", Got: want.String()}
	}
	if err := t.Check(); err != nil {
		return nil, err
	}
	if len(t.Data) == 0 {
		return []T{}, nil
	}
	p := unsafe.Pointer(unsafe.SliceData(t.Data))
	var zero T
	if uintptr(p)%unsafe.Alignof(zero) != 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "tensor.Of", Subject: t.String(),
			Got:    fmt.Sprintf("memory that is not aligned to %d bytes", unsafe.Alignof(zero)),
			Remedy: "call Clone, which returns an aligned copy"}
	}
	if want == Bool {
		for i, b := range t.Data {
			if b > 1 {
				return nil, &errs.Error{Kind: errs.Corrupt, Op: "tensor.Of", Subject: t.String(),
					Want: "only the bytes 0 and 1", Got: fmt.Sprintf("%d in element %d", b, i)}
			}
		}
	}
	return unsafe.Slice((*T)(p), len(t.Data)/int(unsafe.Sizeof(zero))), nil
}

// byteView returns the memory of v.
func byteView[T Element](v []T) []byte {
	if len(v) == 0 {
		return []byte{}
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}
