package arith

import (
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/tensor"
)

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type real interface{ float32 | float64 }

type number interface{ integer | real }

// view returns memory as elements. The memory must be aligned for T.
func view[T number](b []byte) []T { return element.View[T](b) }

// loop computes all elements of dst. Missing operands are nil. It returns false if an integer was
// divided by zero.
type loop func(dst, a, b, c []byte) bool

// conversion returns the loop that converts a to dst, as C does. Bools are bytes of
// 0 and 1.
func conversion(to, from tensor.DType) loop {
	convert := element.Pick(to, conversionTo[uint8], conversionTo[int8], conversionTo[uint16], conversionTo[int16],
		conversionTo[uint32], conversionTo[int32], conversionTo[uint64], conversionTo[int64],
		conversionTo[float32], conversionTo[float64])
	return convert(from)
}

func conversionTo[D number](from tensor.DType) loop {
	return element.Pick[loop](from, convert[D, uint8], convert[D, int8], convert[D, uint16], convert[D, int16],
		convert[D, uint32], convert[D, int32], convert[D, uint64], convert[D, int64],
		convert[D, float32], convert[D, float64])
}

func convert[D, S number](dst, a, _, _ []byte) bool {
	d, x := view[D](dst), view[S](a)
	x = x[:len(d)]
	for i := range d {
		d[i] = D(x[i])
	}
	return true
}
