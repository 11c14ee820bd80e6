package arith

import (
	"unsafe"

	"github.com/bivouac-ml/bivouac/tensor"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type real interface{ float32 | float64 }

type number interface{ integer | real }

// view returns memory as elements; it is aligned for them.
func view[T number](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// loop computes all elements of dst; operands that a function does not have are
// nil. It returns false when an integer was divided by zero.
type loop func(dst, a, b, c []byte) bool

// conversion returns the loop that converts a to dst, as C does. Bools are bytes of
// 0 and 1.
func conversion(to, from tensor.DType) loop {
	switch to {
	case tensor.Bool, tensor.Uint8:
		return conversionTo[uint8](from)
	case tensor.Uint16:
		return conversionTo[uint16](from)
	case tensor.Uint32:
		return conversionTo[uint32](from)
	case tensor.Uint64:
		return conversionTo[uint64](from)
	case tensor.Int8:
		return conversionTo[int8](from)
	case tensor.Int16:
		return conversionTo[int16](from)
	case tensor.Int32:
		return conversionTo[int32](from)
	case tensor.Int64:
		return conversionTo[int64](from)
	case tensor.Float32:
		return conversionTo[float32](from)
	}
	return conversionTo[float64](from)
}

func conversionTo[D number](from tensor.DType) loop {
	switch from {
	case tensor.Bool, tensor.Uint8:
		return convert[D, uint8]
	case tensor.Uint16:
		return convert[D, uint16]
	case tensor.Uint32:
		return convert[D, uint32]
	case tensor.Uint64:
		return convert[D, uint64]
	case tensor.Int8:
		return convert[D, int8]
	case tensor.Int16:
		return convert[D, int16]
	case tensor.Int32:
		return convert[D, int32]
	case tensor.Int64:
		return convert[D, int64]
	case tensor.Float32:
		return convert[D, float32]
	}
	return convert[D, float64]
}

func convert[D, S number](dst, a, _, _ []byte) bool {
	d, x := view[D](dst), view[S](a)
	x = x[:len(d)]
	for i := range d {
		d[i] = D(x[i])
	}
	return true
}
