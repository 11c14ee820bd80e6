package random

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

var noiseModule = []string{"noise"}

// value are the types that noise is added to.
type value interface{ op.Integer | float32 }

func noiseInput() op.Port {
	return op.Port{Name: "data", Doc: "tensors of integers or float32", DTypes: numbers}
}

// inferNoise gives the result the description of the input.
func inferNoise(c *op.Config, in tensor.Spec) ([]tensor.Spec, error) {
	if !slices.Contains(numbers, in.DType) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: c.Schema.FullName(), Subject: "node " + c.Node + ", input data",
			Want: fmt.Sprint(numbers), Got: in.DType.String(), Remedy: "cast it"}
	}
	return []tensor.Spec{in}, nil
}

// pick returns the one of functions that is for a type.
func pick[F any](d tensor.DType, u8, i8, u16, i16, u32, i32, u64, i64, f32 F) F {
	switch d {
	case tensor.Uint8:
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
	}
	return f32
}

// pair returns the elements of the input of a sample and of its output, which is alike.
func pair[T value](b *op.Block, s int) (in, out []T, err error) {
	t := b.In(0, s)
	if in, err = tensor.Of[T](t); err != nil {
		if in, err = tensor.Of[T](t.Clone()); err != nil { // crooked in memory
			return nil, nil, err
		}
	}
	out, err = tensor.Of[T](b.Out(0, s, t.Shape...))
	return in, out, err
}

// convert rounds a number to an integer type, or keeps it as a float32.
func convert[T value](v float64) T {
	var zero T
	switch any(zero).(type) {
	case float32:
		return T(v)
	case uint8:
		return T(op.Round[uint8](v))
	case int8:
		return T(op.Round[int8](v))
	case uint16:
		return T(op.Round[uint16](v))
	case int16:
		return T(op.Round[int16](v))
	case uint32:
		return T(op.Round[uint32](v))
	case int32:
		return T(op.Round[int32](v))
	case uint64:
		return T(op.Round[uint64](v))
	}
	return T(op.Round[int64](v))
}

// extremes are the numbers that stand for black and white.
func extremes[T value]() (least, most T) {
	if one := T(1); one/2 != 0 {
		return T(-one), one
	}
	return convert[T](math.Inf(-1)), convert[T](math.Inf(1))
}

// pixels returns how many elements share a draw, and how far they lie apart.
func pixels(t tensor.Tensor) (channels, stride int, err error) {
	last := len(t.Shape) - 1
	switch c := strings.IndexByte(t.Layout, 'C'); {
	case len(t.Shape) == 0:
		return 1, 1, nil
	case t.Layout == "", c == last:
		return t.Shape[last], 1, nil
	case c == 0:
		return t.Shape[0], t.Shape[1:].Len(), nil
	}
	return 0, 0, &errs.Error{Kind: errs.Invalid, Subject: "layout of the input", Want: "channels, C, first or last", Got: t.Layout,
		Remedy: "set per_channel"}
}
