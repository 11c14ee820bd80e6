package arith

import (
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Name is the full name of the operator that computes expressions.
const Name = "_arithmetic_generic_op"

// Constant is an operand with an explicit type, for when the arithmetic should not use the type of
// the Go constant.
type Constant struct {
	Value any          // bool, int or float64; an int also for a float DType, a bool also for an integer DType
	DType tensor.DType // Bool, an integer of 8 to 64 bits, Float32 or Float64; a float's value is rounded to float32
}

// Args are the arguments of the operator [Name].
type Args struct {
	Expression string    `op:"expression_desc"`
	Integers   []int     `op:"integer_constants"`
	Reals      []float64 `op:"real_constants"`
}

// Apply returns the arguments and inputs with which the operator [Name] computes the function
// called name. An operand is an op.Value, which becomes an input, or a constant. A constant is a
// bool, an int (int32 in the arithmetic), a float64 (float32 in the arithmetic), a number of
// another Go type, which keeps its type, or a [Constant]. At least one operand is an op.Value.
// Apply fails for mistakes that it can find without the types of the inputs.
func Apply(name string, operands ...any) (args Args, inputs []op.Value, err error) {
	f, err := lookup(name)
	if err != nil {
		return Args{}, nil, err
	}
	if err := f.checkArity(len(operands)); err != nil {
		return Args{}, nil, err
	}
	text := append(make([]byte, 0, 64), name...)
	for i, operand := range operands {
		text = append(text, " ("[max(0, 1-i)])
		if v, ok := operand.(op.Value); ok {
			text = strconv.AppendInt(append(text, '&'), int64(len(inputs)), 10)
			inputs = append(inputs, v)
			continue
		}
		c, err := constantOf(f, operand)
		if err != nil {
			return Args{}, nil, err
		}
		at := len(args.Integers)
		switch v := c.Value.(type) {
		case int:
			args.Integers = append(args.Integers, v)
		case float64:
			at = len(args.Reals)
			args.Reals = append(args.Reals, v)
		}
		text = append(strconv.AppendInt(append(text, '$'), int64(at), 10), ':')
		text = append(text, c.DType.String()...)
	}
	if len(inputs) == 0 {
		return Args{}, nil, f.error("operands", "at least one node", "only constants", "compute it in Go")
	}
	args.Expression = string(append(text, ')'))
	return args, inputs, nil
}

// Integer returns an integer of a sized type as an int, and its type.
func Integer(v any) (int, tensor.DType, bool) {
	switch v := v.(type) {
	case int8:
		return int(v), tensor.Int8, true
	case int16:
		return int(v), tensor.Int16, true
	case int32:
		return int(v), tensor.Int32, true
	case int64:
		return int(v), tensor.Int64, true
	case uint8:
		return int(v), tensor.Uint8, true
	case uint16:
		return int(v), tensor.Uint16, true
	case uint32:
		return int(v), tensor.Uint32, true
	case uint64:
		return int(v), tensor.Uint64, int(v) >= 0
	}
	return 0, tensor.Invalid, false
}

// constantOf returns an operand as a Constant. Its value is an int, or a float64 for a float type,
// and fits its type.
func constantOf(f *function, operand any) (Constant, error) {
	c, ok := operand.(Constant)
	if !ok {
		c.Value = operand
		switch v := operand.(type) {
		case bool:
			c.DType = tensor.Bool
		case int:
			c.DType = tensor.Int32
		case float64:
			c.DType = tensor.Float32
		case float32:
			c = Constant{float64(v), tensor.Float32}
		default:
			if i, d, ok := Integer(v); ok {
				c = Constant{i, d}
				break
			}
			return c, f.error("operand", "a node, a bool, an int, a float64 or a Constant", fmt.Sprintf("%T", operand), "")
		}
	}
	if _, err := Promote(c.DType, c.DType); err != nil {
		return c, err
	}
	switch v := c.Value.(type) {
	case bool:
		c.Value = 0
		if v {
			c.Value = 1
		}
	case float64:
		if c.DType.IsFloat() {
			return c, nil
		}
	}
	v, ok := c.Value.(int)
	if !ok || !c.DType.IsFloat() && !holds(c.DType, v) {
		return c, f.error("constant", "a number of type "+c.DType.String(), fmt.Sprintf("%v of type %T", c.Value, c.Value),
			"use a Constant of a type that can hold it")
	}
	if c.DType.IsFloat() {
		c.Value = float64(v)
	}
	return c, nil
}

// holds reports whether an integer type, or bool, can represent the number v.
func holds(d tensor.DType, v int) bool {
	bits := 8 * d.Size()
	switch {
	case d == tensor.Bool:
		return v == 0 || v == 1
	case signed(d):
		return v>>(bits-1) == 0 || v>>(bits-1) == -1
	case bits == 64:
		return v >= 0
	}
	return v>>bits == 0
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
