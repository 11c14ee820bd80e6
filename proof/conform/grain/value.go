package grain

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Values of pipelines are int64, float64, bool; list and map[string]any, which have
// structure for Grain; and array, NumPy's.
type (
	list  []any
	array []any
)

// function is a function of elements, of the members params and fn of a case.
type function struct {
	Params []string `json:"params"`
	Body   any      `json:"fn"`
}

// call is a call of a function: the values of its parameters, and the generator.
type call struct {
	values map[string]any
	rng    *numpy.Generator
}

func (f function) call(rng *numpy.Generator, args ...any) (any, error) {
	c := call{values: map[string]any{}, rng: rng}
	for i, p := range f.Params {
		if i < len(args) {
			c.values[p] = args[i]
		}
	}
	return c.eval(f.Body)
}

// eval computes a body in prefix form.
func (c call) eval(body any) (any, error) {
	switch b := body.(type) {
	case json.Number:
		if n, err := b.Int64(); err == nil {
			return n, nil
		}
		return b.Float64()
	case bool:
		return b, nil
	case string:
		v, ok := c.values[b]
		if !ok {
			return nil, fmt.Errorf("unknown name %q", b)
		}
		return v, nil
	case []any:
		if len(b) > 0 {
			if name, ok := b[0].(string); ok {
				return c.operate(name, b[1:])
			}
		}
	}
	return nil, fmt.Errorf("unknown body %v", body)
}

func (c call) operate(name string, operands []any) (any, error) {
	if name == "dict" {
		m := map[string]any{}
		for _, operand := range operands {
			pair, _ := operand.([]any)
			if len(pair) != 2 {
				return nil, fmt.Errorf("a member %v", operand)
			}
			v, err := c.eval(pair[1])
			if err != nil {
				return nil, err
			}
			m[fmt.Sprint(pair[0])] = v
		}
		return m, nil
	}
	args := make([]any, len(operands))
	for i, operand := range operands {
		v, err := c.eval(operand)
		if err != nil {
			return nil, err
		}
		args[i] = v
	}
	switch {
	case name == "list":
		return list(args), nil
	case name == "arange" && len(args) == 1:
		n, _ := args[0].(int64)
		a := make(array, max(n, 0))
		for i := range a {
			a[i] = int64(i)
		}
		return a, nil
	case name == "rng.integers" && len(args) == 2 && c.rng != nil:
		low, _ := args[0].(int64)
		high, _ := args[1].(int64)
		return c.rng.Integers(low, high), nil
	case len(args) == 2:
		return broadcast(name, args[0], args[1])
	}
	return nil, fmt.Errorf("unknown operation %s of %d", name, len(args))
}

// broadcast applies an operation of numbers, to each of an array.
func broadcast(name string, a, b any) (any, error) {
	x, ok := a.(array)
	y, other := b.(array)
	if !ok && !other {
		return arithmetic(name, a, b)
	}
	n := max(len(x), len(y))
	if ok && other && len(x) != len(y) {
		return nil, fmt.Errorf("arrays of %d and %d", len(x), len(y))
	}
	out := make(array, n)
	for i := range out {
		if ok {
			a = x[i]
		}
		if other {
			b = y[i]
		}
		v, err := broadcast(name, a, b)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// arithmetic is Python's of two numbers; % and // round down.
func arithmetic(name string, a, b any) (any, error) {
	x, ok := a.(int64)
	y, other := b.(int64)
	if !ok || !other {
		return floats(name, a, b)
	}
	if y == 0 && (name == "%" || name == "//") {
		return nil, fmt.Errorf("division by zero")
	}
	switch name {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "//":
		return (x - (x%y+y)%y) / y, nil
	case "%":
		return (x%y + y) % y, nil
	case "==":
		return x == y, nil
	}
	return nil, fmt.Errorf("unknown operation %s", name)
}

func floats(name string, a, b any) (any, error) {
	x, ok := toFloat(a)
	y, other := toFloat(b)
	if !ok || !other {
		return nil, fmt.Errorf("%s of %T and %T", name, a, b)
	}
	switch name {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "//":
		return math.Floor(x / y), nil
	case "%":
		return x - y*math.Floor(x/y), nil
	case "==":
		return x == y, nil
	}
	return nil, fmt.Errorf("unknown operation %s", name)
}

func toFloat(v any) (float64, bool) {
	switch x := v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case bool:
		if x {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// truth is Python's bool of a number or an array of one.
func truth(v any) (bool, error) {
	if a, ok := v.(array); ok {
		if len(a) == 1 {
			return truth(a[0])
		}
		return false, fmt.Errorf("the truth of an array of %d", len(a))
	}
	x, ok := toFloat(v)
	if !ok {
		return false, fmt.Errorf("the truth of %T", v)
	}
	return x != 0, nil
}

// stack is what Grain makes a batch of: a structure of arrays.
func stack(values []any) (any, error) {
	switch first := values[0].(type) {
	case list:
		out := make(list, len(first))
		for i := range first {
			column, err := columnOf(values, func(v any) (any, bool) {
				l, ok := v.(list)
				return at(l, i), ok && len(l) == len(first)
			})
			if err != nil {
				return nil, err
			}
			out[i] = column
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for name := range first {
			column, err := columnOf(values, func(v any) (any, bool) {
				m, _ := v.(map[string]any)
				x, ok := m[name]
				return x, ok && len(m) == len(first)
			})
			if err != nil {
				return nil, err
			}
			out[name] = column
		}
		return out, nil
	}
	shape := fmt.Sprint(shapeOf(values[0]))
	for _, v := range values {
		if fmt.Sprint(shapeOf(v)) != shape {
			return nil, fmt.Errorf("elements of shapes %s and %v", shape, shapeOf(v))
		}
	}
	return array(values), nil
}

func at(l list, i int) any {
	if i < len(l) {
		return l[i]
	}
	return nil
}

func columnOf(values []any, member func(any) (any, bool)) (any, error) {
	column := make([]any, len(values))
	for i, v := range values {
		x, ok := member(v)
		if !ok {
			return nil, fmt.Errorf("elements of different structure")
		}
		column[i] = x
	}
	return stack(column)
}

func shapeOf(v any) []int {
	a, ok := v.(array)
	if !ok {
		return nil
	}
	if len(a) == 0 {
		return []int{0}
	}
	return append([]int{len(a)}, shapeOf(a[0])...)
}
