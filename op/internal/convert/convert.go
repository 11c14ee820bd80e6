// Package convert changes the type of elements as operators do: floats become
// integers rounded half away from zero and saturated, integers are saturated to
// narrower ones, bools count as 0 and 1, and what is not 0 is true. Float16 goes
// through float32.
package convert

import (
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Func converts the elements of src, a whole number of them, to as many in dst.
// The memory of both is aligned to their elements and does not overlap.
type Func func(dst, src []byte)

// Between returns what converts elements of src to dst; of the same type it copies.
// Types without a Go type or a place in operators are Unsupported.
func Between(dst, src tensor.DType) (Func, error) {
	if dst == src {
		return func(d, s []byte) { copy(d, s) }, nil
	}
	var f Func
	switch src {
	case tensor.Uint8, tensor.Bool:
		f = fromInteger[uint8](dst)
	case tensor.Uint16:
		f = fromInteger[uint16](dst)
	case tensor.Uint32:
		f = fromInteger[uint32](dst)
	case tensor.Uint64:
		f = fromInteger[uint64](dst)
	case tensor.Int8:
		f = fromInteger[int8](dst)
	case tensor.Int16:
		f = fromInteger[int16](dst)
	case tensor.Int32:
		f = fromInteger[int32](dst)
	case tensor.Int64:
		f = fromInteger[int64](dst)
	case tensor.Float32:
		f = fromFloat[float32](dst)
	case tensor.Float64:
		f = fromFloat[float64](dst)
	case tensor.Float16:
		f = fromHalf(dst)
	}
	if f == nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "conversion", Want: "numbers of 8 to 64 bits", Got: src.String() + " to " + dst.String()}
	}
	return f, nil
}

// elements returns the bytes as Ts.
func elements[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

func each[T, S any](one func(S) T) Func {
	return func(dst, src []byte) {
		d, s := elements[T](dst), elements[S](src)
		d = d[:len(s)]
		for i, v := range s {
			d[i] = one(v)
		}
	}
}

func fromInteger[S op.Integer](dst tensor.DType) Func {
	switch dst {
	case tensor.Bool:
		return each(func(v S) bool { return v != 0 })
	case tensor.Uint8:
		return each(op.Saturate[uint8, S])
	case tensor.Uint16:
		return each(op.Saturate[uint16, S])
	case tensor.Uint32:
		return each(op.Saturate[uint32, S])
	case tensor.Uint64:
		return each(op.Saturate[uint64, S])
	case tensor.Int8:
		return each(op.Saturate[int8, S])
	case tensor.Int16:
		return each(op.Saturate[int16, S])
	case tensor.Int32:
		return each(op.Saturate[int32, S])
	case tensor.Int64:
		return each(op.Saturate[int64, S])
	case tensor.Float32:
		return each(func(v S) float32 { return float32(v) })
	case tensor.Float64:
		return each(func(v S) float64 { return float64(v) })
	case tensor.Float16:
		return toHalf(func(v S) float32 { return float32(v) })
	}
	return nil
}

func fromFloat[S float32 | float64](dst tensor.DType) Func {
	switch dst {
	case tensor.Bool:
		return each(func(v S) bool { return v != 0 })
	case tensor.Uint8:
		return each(round[uint8, S])
	case tensor.Uint16:
		return each(round[uint16, S])
	case tensor.Uint32:
		return each(round[uint32, S])
	case tensor.Uint64:
		return each(round[uint64, S])
	case tensor.Int8:
		return each(round[int8, S])
	case tensor.Int16:
		return each(round[int16, S])
	case tensor.Int32:
		return each(round[int32, S])
	case tensor.Int64:
		return each(round[int64, S])
	case tensor.Float32:
		return each(func(v S) float32 { return float32(v) })
	case tensor.Float64:
		return each(func(v S) float64 { return float64(v) })
	case tensor.Float16:
		return toHalf(func(v S) float32 { return float32(v) })
	}
	return nil
}

func round[T op.Integer, S float32 | float64](v S) T { return op.Round[T](float64(v)) }

// chunk is how many elements go through float32 at a time.
const chunk = 256

// toHalf converts by way of float32, whose rounding to half is that of tensor.CastInto.
func toHalf[S any](one func(S) float32) Func {
	return func(dst, src []byte) {
		s := elements[S](src)
		var wide [chunk]float32
		for len(s) > 0 {
			n := min(chunk, len(s))
			for i, v := range s[:n] {
				wide[i] = one(v)
			}
			cast(tensor.Float16, dst[:2*n], tensor.Float32, bytes(wide[:n]))
			s, dst = s[n:], dst[2*n:]
		}
	}
}

func fromHalf(dst tensor.DType) Func {
	narrow, err := Between(dst, tensor.Float32)
	if err != nil {
		return nil
	}
	size := dst.Size()
	return func(dst, src []byte) {
		var wide [chunk]float32
		for len(src) > 0 {
			n := min(chunk, len(src)/2)
			cast(tensor.Float32, bytes(wide[:n]), tensor.Float16, src[:2*n])
			narrow(dst[:n*size], bytes(wide[:n]))
			src, dst = src[2*n:], dst[n*size:]
		}
	}
}

func bytes(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// cast is tensor.CastInto between types and lengths that cannot fail.
func cast(dst tensor.DType, out []byte, src tensor.DType, in []byte) {
	if err := tensor.CastInto(dst, out, src, in); err != nil {
		panic(err) // sizes and types are those of this package
	}
}

// Values returns numbers as elements of that type, in the bytes of a tensor.
func Values(dtype tensor.DType, v []float64) ([]byte, error) {
	f, err := Between(dtype, tensor.Float64)
	if err != nil {
		return nil, err
	}
	out := tensor.New(dtype, len(v))
	f(out.Data, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v)))
	return out.Data, nil
}

// Memo keeps what Between returned, for one pair of types at a time, so that a steady
// state allocates nothing. The zero value is ready.
type Memo struct {
	dst, src tensor.DType
	f        Func
}

// Between is the function Between.
func (m *Memo) Between(dst, src tensor.DType) (Func, error) {
	if m.f != nil && m.dst == dst && m.src == src {
		return m.f, nil
	}
	f, err := Between(dst, src)
	if err == nil {
		m.dst, m.src, m.f = dst, src, f
	}
	return f, err
}
