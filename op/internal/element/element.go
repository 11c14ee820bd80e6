// Package element converts the elements of samples between types, as DALI does:
//
//	to           from       value
//	integer      float      rounded half away from zero, saturated; NaN as op.Round has it
//	integer      integer    saturated
//	float        anything   the nearest, ties to even, but for
//	float16      anything   rounded to float32 first, then the nearest, ties away from
//	                        zero; beyond the largest value infinity
//	bool         integer    whether it is not zero
//	bool         float      whether the rounded value is not zero: true from 0.5 on; so is NaN
//	anything     bool       0 or 1
//
// The types are those that DALI's tensors have: integers of 8 to 64 bits, float16,
// float32, float64 and bool.
package element

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Types returns the types that Convert supports.
func Types() []tensor.DType {
	return []tensor.DType{
		tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.Float16, tensor.Float32, tensor.Float64, tensor.Bool,
	}
}

// Known reports whether Convert supports the type.
func Known(d tensor.DType) bool {
	switch d {
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64,
		tensor.Float16, tensor.Float32, tensor.Float64, tensor.Bool:
		return true
	}
	return false
}

// Pick returns the function for type d. Bools are treated as bytes. other is the function for all
// types without a parameter here.
func Pick[F any](d tensor.DType, u8, i8, u16, i16, u32, i32, u64, i64, f32, other F) F {
	switch d {
	case tensor.Uint8, tensor.Bool:
		return u8
	case tensor.Int8:
		return i8
	case tensor.Uint16:
		return u16
	case tensor.Int16:
		return i16
	case tensor.Uint32:
		return u32
	case tensor.Int32:
		return i32
	case tensor.Uint64:
		return u64
	case tensor.Int64:
		return i64
	case tensor.Float32:
		return f32
	}
	return other
}

// number is the constraint of types that Go computes with.
type number interface{ op.Integer | float32 | float64 }

// Convert writes the elements of in, converted, to out. Both must have the same number of elements
// and share no memory.
//
// Errors: errs.Unsupported for types outside [Types], errs.Mismatch for different numbers of
// elements, and the errors of tensor.Of.
func Convert(out, in tensor.Tensor) error {
	if out.Len() != in.Len() {
		return &errs.Error{Kind: errs.Mismatch, Want: "equal numbers of elements", Got: in.String() + " and " + out.String()}
	}
	return Into(out.DType, out.Data, in.DType, in.Data)
}

// Into works like Convert for a part of an array. It converts elements of type src to the same
// number of elements of type dst.
func Into(dst tensor.DType, to []byte, src tensor.DType, from []byte) error {
	if !Known(dst) || !Known(src) {
		return &errs.Error{Kind: errs.Unsupported, Want: "a type that can be converted", Got: src.String() + " to " + dst.String()}
	}
	if len(to)/dst.Size() != len(from)/src.Size() || len(to)%dst.Size() != 0 || len(from)%src.Size() != 0 {
		return &errs.Error{Kind: errs.Mismatch, Want: "the same number of elements", Got: fmt.Sprintf("%d bytes of %s and %d of %s", len(from), src, len(to), dst)}
	}
	out, in := tensor.Tensor{DType: dst, Data: to}, tensor.Tensor{DType: src, Data: from}
	if out.DType == in.DType {
		copy(out.Data, in.Data)
		return nil
	}
	switch in.DType {
	case tensor.Uint8, tensor.Bool:
		return fromIntegers(out, View[uint8](in.Data))
	case tensor.Uint16:
		return fromIntegers(out, View[uint16](in.Data))
	case tensor.Uint32:
		return fromIntegers(out, View[uint32](in.Data))
	case tensor.Uint64:
		return fromIntegers(out, View[uint64](in.Data))
	case tensor.Int8:
		return fromIntegers(out, View[int8](in.Data))
	case tensor.Int16:
		return fromIntegers(out, View[int16](in.Data))
	case tensor.Int32:
		return fromIntegers(out, View[int32](in.Data))
	case tensor.Int64:
		return fromIntegers(out, View[int64](in.Data))
	case tensor.Float32:
		return fromFloats(out, View[float32](in.Data))
	case tensor.Float64:
		return fromFloats(out, View[float64](in.Data))
	}
	return fromHalves(out, in)
}

// View returns memory as elements. Unaligned memory works on all processors but fails under the
// race detector; the executor aligns samples.
func View[T any](data []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(zero)))
}

// Floats returns the elements of a tensor as float32. Elements of another type are converted into
// scratch memory.
func Floats(b *op.Block, t tensor.Tensor) ([]float32, error) {
	if t.DType == tensor.Float32 {
		return tensor.Of[float32](t)
	}
	floats := op.Scratch[float32](b, t.Len())
	return floats, Into(tensor.Float32, Bytes(floats), t.DType, t.Data)
}

// fromHalves converts float16 by way of float32, one block at a time.
func fromHalves(out, in tensor.Tensor) error {
	const block = 256
	var floats [block]float32
	size := out.DType.Size()
	for n, i := len(in.Data)/2, 0; i < n; i += block {
		k := min(block, n-i)
		if err := tensor.CastInto(tensor.Float32, Bytes(floats[:k]), tensor.Float16, in.Data[2*i:2*(i+k)]); err != nil {
			return err
		}
		part := tensor.Tensor{DType: out.DType, Data: out.Data[size*i : size*(i+k)]}
		if err := fromFloats(part, floats[:k]); err != nil {
			return err
		}
	}
	return nil
}

// Bytes returns elements as memory.
func Bytes[T any](v []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(zero)))
}

func fromIntegers[S op.Integer](out tensor.Tensor, in []S) error {
	switch out.DType {
	case tensor.Uint8:
		saturate(View[uint8](out.Data), in)
	case tensor.Uint16:
		saturate(View[uint16](out.Data), in)
	case tensor.Uint32:
		saturate(View[uint32](out.Data), in)
	case tensor.Uint64:
		saturate(View[uint64](out.Data), in)
	case tensor.Int8:
		saturate(View[int8](out.Data), in)
	case tensor.Int16:
		saturate(View[int16](out.Data), in)
	case tensor.Int32:
		saturate(View[int32](out.Data), in)
	case tensor.Int64:
		saturate(View[int64](out.Data), in)
	default:
		return toOther(out, in)
	}
	return nil
}

func fromFloats[S float32 | float64](out tensor.Tensor, in []S) error {
	switch out.DType {
	case tensor.Uint8:
		round(View[uint8](out.Data), in)
	case tensor.Uint16:
		round(View[uint16](out.Data), in)
	case tensor.Uint32:
		round(View[uint32](out.Data), in)
	case tensor.Uint64:
		round(View[uint64](out.Data), in)
	case tensor.Int8:
		round(View[int8](out.Data), in)
	case tensor.Int16:
		round(View[int16](out.Data), in)
	case tensor.Int32:
		round(View[int32](out.Data), in)
	case tensor.Int64:
		round(View[int64](out.Data), in)
	case tensor.Bool:
		for i, v := range in {
			out.Data[i] = truth(!(v < 0.5 && v > -0.5))
		}
	default:
		return toOther(out, in)
	}
	return nil
}

func truth(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// toOther converts to the types for which all source types are treated alike.
func toOther[S number](out tensor.Tensor, in []S) error {
	switch out.DType {
	case tensor.Float32:
		convert(View[float32](out.Data), in)
	case tensor.Float64:
		convert(View[float64](out.Data), in)
	case tensor.Float16:
		dst := View[uint16](out.Data)
		for i, v := range in {
			dst[i] = Half(float32(v))
		}
	case tensor.Bool:
		for i, v := range in {
			out.Data[i] = truth(v != 0)
		}
	}
	return nil
}

func saturate[T, S op.Integer](dst []T, src []S) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = op.Saturate[T](v)
	}
}

func round[T op.Integer, S float32 | float64](dst []T, src []S) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = op.RoundFloat[T](v)
	}
}

func convert[T float32 | float64, S number](dst []T, src []S) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = T(v)
	}
}

// Half returns the bits of the float16 nearest to v, with ties away from zero. DALI rounds like
// this on CPUs. tensor.Cast rounds ties to even, like numpy.
func Half(v float32) uint16 {
	bits := math.Float32bits(v)
	sign, abs := uint16(bits>>16)&0x8000, bits&0x7fffffff
	switch {
	case abs > 0x7f800000:
		return sign | 0x7e00 | uint16(abs>>13)&0x1ff
	case abs >= 0x477ff000: // 65520, half a step beyond the largest: infinity as well
		return sign | 0x7c00
	case abs >= 0x38800000: // 2^-14, the smallest normal one
		return sign | uint16((abs-0x38000000+0x1000)>>13)
	case abs < 0x33000000: // half of the smallest
		return sign
	}
	exponent := abs >> 23
	mantissa := abs&0x7fffff | 0x800000
	shift := 126 - exponent // 14 to 24 bits below the step of 2^-24
	return sign | uint16((mantissa+1<<(shift-1))>>shift)
}
