package sound

import (
	"math"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// types lists the types of samples that have a range.
const types = "uint8, int8, uint16, int16, uint32, int32 or float32"

// Ranged reports whether samples of type d have a range that stands for -1 to 1.
func Ranged(d tensor.DType) bool { return d == tensor.Float32 || half(d) != 0 }

// half returns the largest number of a signed type, and of the signed type of the same size for an
// unsigned type. It returns 0 for other types.
func half(d tensor.DType) float64 {
	switch d {
	case tensor.Uint8, tensor.Int8:
		return math.MaxInt8
	case tensor.Uint16, tensor.Int16:
		return math.MaxInt16
	case tensor.Uint32, tensor.Int32:
		return math.MaxInt32
	}
	return 0
}

func unsupported(d tensor.DType) error {
	return &errs.Error{Kind: errs.Unsupported, Want: "samples of " + types, Got: d.String()}
}

type integer interface {
	int8 | int16 | int32 | uint8 | uint16 | uint32
}

// ToFloat writes samples as numbers from -1 to 1, or from 0 to 1 for an unsigned target. The largest
// integer becomes 1. A filter adds nothing outside a signal, and unsigned signals are at their least
// there. So the range of the target matters at the ends of a signal.
func ToFloat(to []float32, from tensor.Tensor, target tensor.DType) error {
	toUnsigned := unsigned(target)
	switch from.DType {
	case tensor.Float32:
		v, err := tensor.Of[float32](from)
		if !toUnsigned {
			copy(to, v)
			return err
		}
		for i, x := range v {
			to[i] = float32(x*0.5) + 0.5
		}
		return err
	case tensor.Uint8:
		return widen[uint8](to, from, toUnsigned)
	case tensor.Int8:
		return widen[int8](to, from, toUnsigned)
	case tensor.Uint16:
		return widen[uint16](to, from, toUnsigned)
	case tensor.Int16:
		return widen[int16](to, from, toUnsigned)
	case tensor.Uint32:
		return widen[uint32](to, from, toUnsigned)
	case tensor.Int32:
		return widen[int32](to, from, toUnsigned)
	}
	return unsupported(from.DType)
}

func unsigned(d tensor.DType) bool {
	return d == tensor.Uint8 || d == tensor.Uint16 || d == tensor.Uint32
}

func widen[T integer](to []float32, from tensor.Tensor, toUnsigned bool) error {
	values, err := tensor.Of[T](from)
	if err != nil {
		return err
	}
	factor, shift := 1/float32(half(from.DType)), float32(0)
	switch most := ^T(0); {
	case most > 0 && toUnsigned:
		factor = 1 / float32(most)
	case most > 0:
		factor, shift = 2/float32(most), -1
	case toUnsigned:
		factor, shift = factor*0.5, 0.5
	}
	for i, v := range values {
		to[i] = float32(float32(v)*factor) + shift
	}
	return nil
}

// FromFloat writes numbers as samples of the type of to: from -1 to 1, or from 0 to 1 for an
// unsigned type. They are rounded half away from zero and limited to the range of the type.
func FromFloat(to tensor.Tensor, from []float32) error {
	switch to.DType {
	case tensor.Float32:
		v, err := tensor.Of[float32](to)
		copy(v, from)
		return err
	case tensor.Uint8:
		return narrow[uint8](to, from)
	case tensor.Int8:
		return narrow[int8](to, from)
	case tensor.Uint16:
		return narrow[uint16](to, from)
	case tensor.Int16:
		return narrow[int16](to, from)
	case tensor.Uint32:
		return narrow[uint32](to, from)
	case tensor.Int32:
		return narrow[int32](to, from)
	}
	return unsupported(to.DType)
}

func narrow[T integer](to tensor.Tensor, from []float32) error {
	out, err := tensor.Of[T](to)
	if err != nil {
		return err
	}
	most, least := ^T(0), T(0)
	scale := float32(most)
	if int64(most) < 0 {
		scale = float32(half(to.DType))
		most = T(half(to.DType))
		least = -most - 1
	}
	for i, v := range from {
		x := v * scale
		switch {
		case x >= float32(most):
			out[i] = most
		case x <= float32(least):
			out[i] = least
		case x != x:
			out[i] = T(nan(to.DType))
		default:
			n := int64(x)
			switch d := x - float32(n); {
			case d >= 0.5:
				n++
			case d <= -0.5:
				n--
			}
			out[i] = T(n)
		}
	}
	return nil
}

// nan returns the integer that NaN becomes, as op.Round has it.
func nan(d tensor.DType) int64 {
	if d == tensor.Int32 {
		return math.MinInt32
	}
	return 0
}
