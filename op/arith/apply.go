package arith

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Name is the full name of the operator that computes expressions.
const Name = "_arithmetic_generic_op"

// Constant is an operand of a type of its own, where that of a Go constant is not
// the one that the arithmetic shall have.
type Constant struct {
	Value any          // bool, int or float64; an int where DType is a float, a bool where it is an integer will do
	DType tensor.DType // Bool, an integer of 8 to 64 bits, Float32 or Float64; of floats the value is that of float32
}

// Apply returns the arguments and inputs with which the operator [Name] computes
// the function called name. An operand is an op.Value, which becomes an input, or
// a constant: a bool, an int (int32 in the arithmetic), a float64 (float32) or a
// [Constant]. One of them at least is an op.Value. The mistakes that can be seen
// without the types of the inputs are errors.
func Apply(name string, operands ...any) (op.Args, []op.Value, error) {
	f, err := lookup(name)
	if err != nil {
		return nil, nil, err
	}
	if err := f.checkArity(len(operands)); err != nil {
		return nil, nil, err
	}
	var inputs []op.Value
	var integers []int
	var reals []float64
	parts := make([]string, len(operands))
	for i, operand := range operands {
		if v, ok := operand.(op.Value); ok {
			parts[i] = "&" + strconv.Itoa(len(inputs))
			inputs = append(inputs, v)
			continue
		}
		c, err := constantOf(f, operand)
		if err != nil {
			return nil, nil, err
		}
		switch v := c.Value.(type) {
		case int:
			parts[i] = fmt.Sprintf("$%d:%s", len(integers), c.DType)
			integers = append(integers, v)
		case float64:
			parts[i] = fmt.Sprintf("$%d:%s", len(reals), c.DType)
			reals = append(reals, v)
		}
	}
	if len(inputs) == 0 {
		return nil, nil, f.error("operands", "a node among them", "constants alone", "compute it in Go")
	}
	args := op.Args{"expression_desc": name + "(" + strings.Join(parts, " ") + ")"}
	if integers != nil {
		args["integer_constants"] = integers
	}
	if reals != nil {
		args["real_constants"] = reals
	}
	return args, inputs, nil
}

// constantOf returns an operand as a Constant whose value, an int or for floats a
// float64, its type holds.
func constantOf(f *function, operand any) (Constant, error) {
	c, ok := operand.(Constant)
	if !ok {
		c.Value = operand
		switch operand.(type) {
		case bool:
			c.DType = tensor.Bool
		case int:
			c.DType = tensor.Int32
		case float64:
			c.DType = tensor.Float32
		default:
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
			"give it as a Constant of a type that holds it")
	}
	if c.DType.IsFloat() {
		c.Value = float64(v)
	}
	return c, nil
}

// holds reports whether an integer type, or bool, has the number v.
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
