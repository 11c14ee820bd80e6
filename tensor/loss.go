package tensor

import "math"

// Loss returns the index of the first element of in whose value is lost in out, or -1. out is the
// result of CastInto. These values are lost: a fraction in an integer, a value out of range, a NaN
// in a type without NaN, an imaginary part in a real type, and a number other than 0 and 1 in a
// bool. Rounding a float to fewer digits is not a loss. in and out have the form that CastInto
// takes, and must not overlap.
func Loss(dst DType, out []byte, src DType, in []byte) int {
	if neverLost(dst, src) {
		return -1
	}
	if src.IsComplex() {
		return lossOfComplex(dst, out, src, in)
	}
	lost := lossOfFloats
	if !dst.IsFloat() && !dst.IsComplex() && !src.IsFloat() {
		lost = lossOfIntegers
	}
	step, wide := src.Size(), dst.Size()
	for at := 0; at*step < len(in); at += castBlock {
		end := min(at+castBlock, len(in)/step)
		if i := lost(dst, out[at*wide:end*wide], src, in[at*step:end*step]); i >= 0 {
			return at + i
		}
	}
	return -1
}

// neverLost reports whether dst has every value of src, after rounding.
func neverLost(dst, src DType) bool {
	switch {
	case dst == src, dst == Complex128, dst == Float64 && !src.IsComplex():
		return true
	case src == Bool:
		return dst != Float8E8M0FNU // this type has no zero
	case src.IsInteger():
		return dst == Float32 || dst == BFloat16 || dst == Complex64 || dst == Int64 && src != Uint64
	}
	return dst == Float32 && src.IsFloat() && src != Float64
}

// lossOfIntegers compares integers and bools as 64 bits with a sign.
func lossOfIntegers(dst DType, out []byte, src DType, in []byte) int {
	var a, b [castBlock]int64
	n := len(in) / src.Size()
	loadInt(a[:n], src, in)
	loadInt(b[:n], dst, out)
	for i := range n {
		if a[i] != b[i] || a[i] < 0 && (src == Uint64) != (dst == Uint64) {
			return i
		}
	}
	return -1
}

// lossOfFloats compares elements as float64. A float64 holds the values of all real types, except
// the last digits of long integers.
func lossOfFloats(dst DType, out []byte, src DType, in []byte) int {
	var a, b [castBlock]float64
	n := len(in) / src.Size()
	convert(Float64, byteView(a[:n]), src, in)
	convert(Float64, byteView(b[:n]), dst, out)
	whole := !dst.IsFloat() && !dst.IsComplex()
	largest := math.Inf(1)
	if !whole {
		largest = beyond(dst)
	}
	for i := range n {
		x, y := a[i], b[i]
		switch {
		case whole && x != y,
			math.IsNaN(x) != math.IsNaN(y),
			math.IsInf(x, 0) != math.IsInf(y, 0),
			math.Abs(x) > largest:
			return i
		}
	}
	return -1
}

// beyond returns what a float type stores for a value that is too large: infinity, or its largest
// value if it has no infinity. NaN counts as infinity here; it is checked separately.
func beyond(dst DType) float64 {
	inf := [1]float64{math.Inf(1)}
	var element [16]byte
	var back [1]float64
	convert(dst, element[:dst.Size()], Float64, byteView(inf[:]))
	convert(Float64, byteView(back[:]), dst, element[:dst.Size()])
	if math.IsNaN(back[0]) {
		return math.Inf(1)
	}
	return back[0]
}

// lossOfComplex compares real and imaginary parts as floats. If dst has no imaginary part, the
// imaginary part of src must be zero.
func lossOfComplex(dst DType, out []byte, src DType, in []byte) int {
	part, size := Float32, src.Size()
	if src == Complex128 {
		part = Float64
	}
	if dst.IsComplex() {
		to := Float32
		if dst == Complex128 {
			to = Float64
		}
		if i := Loss(to, out, part, in); i >= 0 {
			return i / 2
		}
		return -1
	}
	n := len(in) / size
	var imaginary [1]float64
	for i := range n {
		convert(Float64, byteView(imaginary[:]), part, in[i*size+size/2:(i+1)*size])
		if imaginary[0] != 0 {
			return i
		}
		if lossOfFloats(dst, out[i*dst.Size():(i+1)*dst.Size()], part, in[i*size:i*size+size/2]) >= 0 {
			return i
		}
	}
	return -1
}
