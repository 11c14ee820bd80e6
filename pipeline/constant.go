package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Constant is a value that is the same for all samples. It has its own dtype, shape and layout. As
// an operand of arithmetic, a scalar becomes part of the expression. Any other constant becomes a
// node, as with [Builder.Constant].
type Constant struct {
	// Value is a bool, a number, or a slice of bools or numbers.
	Value any
	// DType is the dtype of the elements. By default it is int32, float32 or bool, depending on Value.
	DType tensor.DType
	// Shape is the shape of a sample. By default a number is a scalar, and a slice has one axis. A
	// single value fills the whole shape.
	Shape  []int
	Layout string
}

// scalar returns c as an operand of op/arith if c is one number.
func (c Constant) scalar() (arith.Constant, bool) {
	if len(c.Shape) > 0 || c.Layout != "" {
		return arith.Constant{}, false
	}
	d, v := c.DType, c.Value
	if i, own, ok := arith.Integer(v); ok {
		v = i
		if d == tensor.Invalid {
			d = own
		}
	}
	natural := tensor.Float32
	switch x := v.(type) {
	case bool:
		natural = tensor.Bool
	case int:
		natural = tensor.Int32
	case float32:
		v = float64(x)
	case float64:
	default:
		return arith.Constant{}, false
	}
	if d == tensor.Invalid {
		d = natural
	}
	return arith.Constant{Value: v, DType: d}, true
}

// Constant appends a node whose value is c for each sample.
func (b *Builder) Constant(c Constant) Node {
	args := op.Args{}
	ints, floats, dtype, err := elements(c.Value)
	if err != nil {
		b.fail(err)
		return Node{b: b}
	}
	if ints != nil {
		args["idata"] = ints
	} else {
		args["fdata"] = floats
	}
	if c.DType != tensor.Invalid {
		dtype = c.DType
	}
	args["dtype"] = dtype
	switch n := max(len(ints), len(floats)); {
	case c.Shape != nil:
		args["shape"] = c.Shape
	case isList(c.Value):
		args["shape"] = []int{n}
	default:
		args["shape"] = []int{}
	}
	if c.Layout != "" {
		args["layout"] = c.Layout
	}
	return b.Op("constant", args)[0]
}

func isList(v any) bool {
	switch v.(type) {
	case []bool, []int, []int32, []int64, []uint8, []float32, []float64:
		return true
	}
	return false
}

// elements returns the numbers of a constant, either ints or floats, and their default dtype.
func elements(v any) (ints []int, floats []float64, d tensor.DType, err error) {
	if i, own, ok := arith.Integer(v); ok {
		return []int{i}, nil, own, nil
	}
	switch v := v.(type) {
	case bool:
		return convert([]bool{v}, truth), nil, tensor.Bool, nil
	case []bool:
		return convert(v, truth), nil, tensor.Bool, nil
	case int:
		return []int{v}, nil, tensor.Int32, nil
	case []int:
		return v, nil, tensor.Int32, nil
	case []int32:
		return convert(v, func(i int32) int { return int(i) }), nil, tensor.Int32, nil
	case []int64:
		return convert(v, func(i int64) int { return int(i) }), nil, tensor.Int64, nil
	case []uint8:
		return convert(v, func(i uint8) int { return int(i) }), nil, tensor.Uint8, nil
	case float32:
		return nil, []float64{float64(v)}, tensor.Float32, nil
	case float64:
		return nil, []float64{v}, tensor.Float32, nil
	case []float32:
		return nil, convert(v, func(f float32) float64 { return float64(f) }), tensor.Float32, nil
	case []float64:
		return nil, v, tensor.Float32, nil
	}
	return nil, nil, tensor.Invalid, &errs.Error{Kind: errs.Invalid, Op: "constant", Subject: "value",
		Want: "a bool, a number, or a slice of bools or numbers", Got: fmt.Sprintf("%v of type %T", v, v)}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func convert[S, T any](list []S, f func(S) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = f(v)
	}
	return out
}
