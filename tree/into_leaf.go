package tree

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/bivouac-ml/bivouac/tensor"
)

func intoTensor(n *Node, v reflect.Value, at Path) error {
	dst := v.Addr().Interface().(*tensor.Tensor)
	want := "a tensor"
	if dst.DType.Valid() {
		want = dst.String()
	}
	src, ok := n.Tensor()
	if !ok {
		return mismatch(at, want, n.String())
	}
	if !dst.DType.Valid() {
		*dst = src
		return nil
	}
	if err := dst.Check(); err != nil {
		return mismatch(at, "a well-formed target", err.Error())
	}
	if src.DType != dst.DType || !src.Shape.Equal(dst.Shape) || len(src.Data) != len(dst.Data) {
		return mismatch(at, want, src.String())
	}
	fill(dst.Data, src.Data)
	return nil
}

// fill copies src to dst, of the same length, unless it is the same memory.
func fill(dst, src []byte) {
	if len(src) > 0 && &dst[0] != &src[0] {
		copy(dst, src)
	}
}

func intoNumeric(n *Node, v reflect.Value, at Path) error {
	d, dims, _ := numericType(v.Type())
	src, ok := n.Tensor()
	allocate := v.Kind() == reflect.Slice && v.Len() == 0
	shape := append(tensor.Shape{v.Len()}, dims...)
	if ok && allocate && len(src.Shape) > 0 {
		shape[0] = src.Shape[0]
	}
	want := tensor.Tensor{DType: d, Shape: shape}.String()
	switch {
	case !ok:
		return mismatch(at, want, n.String())
	case src.DType != d || !src.Shape.Equal(shape):
		return mismatch(at, want, src.String())
	}
	if err := src.Check(); err != nil {
		return mismatch(at, want, err.Error())
	}
	if d == tensor.Bool { // Go must never see a bool that is neither 0 nor 1
		if _, err := tensor.Of[bool](src); err != nil {
			return mismatch(at, want, err.Error())
		}
	}
	if allocate {
		v.Set(reflect.MakeSlice(v.Type(), shape[0], shape[0]))
	}
	fill(memory(v), src.Data)
	return nil
}

// intoScalar fills a bool, number or string.
func intoScalar(n *Node, v reflect.Value, at Path) error {
	value := n.Value
	if t, ok := n.Tensor(); ok && len(t.Shape) == 0 {
		value = Scalar(t)
	}
	if n.Kind == Leaf && setScalar(v, value) {
		return nil
	}
	return mismatch(at, describeGo(v), n.String())
}

// setScalar reports whether v could take the value without changing it beyond
// the rounding of a float.
func setScalar(v reflect.Value, value any) bool {
	switch x := value.(type) {
	case bool:
		if v.Kind() == reflect.Bool {
			v.SetBool(x)
			return true
		}
	case string:
		if v.Kind() == reflect.String {
			v.SetString(x)
			return true
		}
	case int64:
		switch {
		case v.CanInt() && !v.OverflowInt(x):
			v.SetInt(x)
			return true
		case v.CanUint() && x >= 0 && !v.OverflowUint(uint64(x)):
			v.SetUint(uint64(x))
			return true
		case v.CanFloat():
			return setExact(v, float64(x), func(f float64) bool { return f < math.MaxInt64 && int64(f) == x })
		}
	case uint64:
		switch {
		case v.CanUint() && !v.OverflowUint(x):
			v.SetUint(x)
			return true
		case v.CanFloat():
			return setExact(v, float64(x), func(f float64) bool { return f < math.MaxUint64 && uint64(f) == x })
		}
	case float64:
		if v.CanFloat() && (math.IsInf(x, 0) || !v.OverflowFloat(x)) {
			v.SetFloat(x)
			return true
		}
	case complex128:
		if v.CanComplex() && (v.Kind() == reflect.Complex128 || complex128(complex64(x)) == x) {
			v.SetComplex(x)
			return true
		}
	}
	return false
}

// setExact sets a float to an integer if the float holds it exactly.
func setExact(v reflect.Value, f float64, same func(float64) bool) bool {
	if v.Kind() == reflect.Float32 {
		f = float64(float32(f))
	}
	if !same(f) {
		return false
	}
	v.SetFloat(f)
	return true
}

// Scalar returns the one element of a rank-0 tensor as the value of a leaf, or
// nil when Go has no such type.
func Scalar(t tensor.Tensor) any {
	const alignment = 8 // of the widest
	if uintptr(unsafe.Pointer(unsafe.SliceData(t.Data)))%alignment != 0 {
		t = t.Clone()
	}
	switch t.DType {
	case tensor.Bool:
		return first[bool](t)
	case tensor.Int8:
		return first[int8](t)
	case tensor.Int16:
		return first[int16](t)
	case tensor.Int32:
		return first[int32](t)
	case tensor.Int64:
		return first[int64](t)
	case tensor.Uint8:
		return first[uint8](t)
	case tensor.Uint16:
		return first[uint16](t)
	case tensor.Uint32:
		return first[uint32](t)
	case tensor.Uint64:
		return first[uint64](t)
	case tensor.Float32:
		return first[float32](t)
	case tensor.Float64:
		return first[float64](t)
	case tensor.Complex64:
		if v, err := tensor.Of[complex64](t); err == nil {
			return complex128(v[0])
		}
	case tensor.Complex128:
		return first[complex128](t)
	}
	return nil
}

func first[T tensor.Element](t tensor.Tensor) any {
	v, err := tensor.Of[T](t)
	if err != nil || len(v) != 1 {
		return nil
	}
	return widen(v[0])
}
