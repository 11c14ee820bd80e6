package dali

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// grapher is the host that turns fn, math and types, and what is done with data
// nodes, into operators of a graph.
type grapher struct {
	b      *pipeline.Builder // of the pipeline that is being defined
	failed error             // what kept its definition from its outputs
}

// monadic and dyadic are the operators of the AST and the functions of math.
var (
	monadic = map[string]func(x pipeline.Node) pipeline.Node{
		"unary -": pipeline.Node.Neg, "unary +": pipeline.Node.Pos, "unary ~": pipeline.Node.Invert,
		"abs": fn.Abs, "fabs": fn.Fabs, "floor": fn.Floor, "ceil": fn.Ceil, "sqrt": fn.Sqrt, "rsqrt": fn.Rsqrt,
		"cbrt": fn.Cbrt, "exp": fn.Exp, "log": fn.Log, "log2": fn.Log2, "log10": fn.Log10,
		"sin": fn.Sin, "cos": fn.Cos, "tan": fn.Tan, "asin": fn.Asin, "acos": fn.Acos, "atan": fn.Atan,
		"sinh": fn.Sinh, "cosh": fn.Cosh, "tanh": fn.Tanh, "asinh": fn.Asinh, "acosh": fn.Acosh, "atanh": fn.Atanh,
	}
	dyadic = map[string]func(x, y any) pipeline.Node{
		"+": fn.Add, "-": fn.Sub, "*": fn.Mul, "/": fn.Div, "//": fn.FloorDiv, "%": fn.Mod, "**": fn.Pow,
		"&": fn.And, "|": fn.Or, "^": fn.Xor, "==": fn.Equal, "!=": fn.NotEqual,
		"<": fn.Less, "<=": fn.LessEqual, ">": fn.Greater, ">=": fn.GreaterEqual,
		"min": fn.Min, "max": fn.Max, "pow": fn.Pow, "fpow": fn.Fpow, "atan2": fn.Atan2,
	}
)

func (g *grapher) operate(operator string, operands ...any) (any, error) {
	for i, o := range operands {
		if t, ok := o.(tensor.Tensor); ok {
			operands[i] = constantOf(t)
		}
	}
	one, isUnary := monadic[operator]
	two, isBinary := dyadic[operator]
	first, isNode := operands[0].(pipeline.Node)
	switch {
	case operator == "bool":
		return nil, raise("TypeError", "a node in a conditional context")
	case isUnary && len(operands) == 1 && isNode:
		return g.made(one(first))
	case isBinary && len(operands) == 2:
		return g.made(two(operands[0], operands[1]))
	case operator == "clamp" && len(operands) == 3:
		return g.made(fn.Clamp(operands[0], operands[1], operands[2]))
	}
	return nil, fmt.Errorf("unknown operator %q with %d operands", operator, len(operands))
}

// made returns a node, or the error for which there is no node.
func (g *grapher) made(n pipeline.Node) (any, error) { return n, g.b.Err() }

// op appends an operator: its output, or a list when there are several.
func (g *grapher) op(name string, args op.Args, inputs ...pipeline.Node) (any, error) {
	nodes := g.b.Op(name, args, inputs...)
	if err := g.b.Err(); err != nil {
		return nil, err
	}
	if len(nodes) == 1 {
		return nodes[0], nil
	}
	list := make([]any, len(nodes))
	for i, n := range nodes {
		list[i] = n
	}
	return list, nil
}

func (g *grapher) call(m *machine, name string, args []any, kw map[string]any) (any, error) {
	if f, ok := strings.CutPrefix(name, "fn."); ok {
		return g.operator(m, f, args, kw)
	}
	if f, ok := strings.CutPrefix(name, "math."); ok {
		return g.operate(f, args...)
	}
	switch {
	case name == "types.Constant" && len(args) == 1:
		return typesConstant(args[0], kw)
	case name == "newaxis":
		return pipeline.NewAxis{Name: fmt.Sprint(args...)}, nil
	case name == "np.array" && len(args) == 1:
		return args[0], nil
	case name == "zeros" && len(args) == 2:
		return zeros(args[0], args[1])
	case name == "arange" && len(args) == 2:
		return arange(args[0], args[1])
	case name == "src":
		return g.constantSource(args)
	case name == "raw" && len(args) == 1:
		b, err := os.ReadFile(m.set.Path("inputs/" + fmt.Sprint(args[0])))
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}, err
	}
	return nil, fmt.Errorf("unknown function %s with %d arguments", name, len(args))
}

// operator appends fn.NAME(*args, **kw).
func (g *grapher) operator(m *machine, name string, args []any, kw map[string]any) (any, error) {
	if name == "external_source" {
		return g.externalSource(m, kw)
	}
	var inputs []pipeline.Node
	for _, a := range args {
		n, err := g.node(a)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, n)
	}
	if name == "python_function" {
		return g.identityFunction(inputs)
	}
	set := op.Args{}
	for k, v := range kw {
		if t, ok := v.(tensor.Tensor); ok {
			v = g.b.Constant(constantOf(t))
		}
		set[k] = v
	}
	return g.op(name, set, inputs...)
}

// node makes an operand an input: constants become nodes.
func (g *grapher) node(v any) (pipeline.Node, error) {
	switch v := v.(type) {
	case pipeline.Node:
		return v, nil
	case tensor.Tensor:
		return g.b.Constant(constantOf(v)), g.b.Err()
	case pipeline.Constant:
		return g.b.Constant(v), g.b.Err()
	}
	c, err := typesConstant(v, nil)
	if err != nil {
		return pipeline.Node{}, err
	}
	return g.b.Constant(c), g.b.Err()
}

// constantOf is types.Constant of an array. As in DALI its numbers are of 32 bits at most.
func constantOf(t tensor.Tensor) pipeline.Constant {
	c := pipeline.Constant{DType: t.DType, Shape: t.Shape}
	if narrow, ok := map[tensor.DType]tensor.DType{
		tensor.Float64: tensor.Float32, tensor.Int64: tensor.Int32, tensor.Uint64: tensor.Uint32,
	}[t.DType]; ok {
		c.DType = narrow
	}
	ints, floats := make([]int, t.Len()), make([]float64, t.Len())
	for i := range t.Len() {
		floats[i], _ = t.Float64(i)
		ints[i] = int(floats[i])
	}
	if c.Value = ints; t.DType.IsFloat() {
		c.Value = floats
	}
	return c
}

// typesConstant is types.Constant of a number of Python or a list of them.
func typesConstant(v any, kw map[string]any) (pipeline.Constant, error) {
	if t, ok := v.(tensor.Tensor); ok {
		return constantOf(t), nil
	}
	c := pipeline.Constant{Value: v}
	c.DType, _ = kw["dtype"].(tensor.DType)
	c.Layout, _ = kw["layout"].(string)
	if shape, ok := kw["shape"].([]any); ok {
		c.Shape = []int{}
		for _, n := range shape {
			c.Shape = append(c.Shape, n.(int))
		}
	}
	list, ok := v.([]any)
	if !ok {
		return c, nil
	}
	var ints []int
	var floats []float64
	for _, x := range list {
		switch x := x.(type) {
		case int:
			ints, floats = append(ints, x), append(floats, float64(x))
		case float64:
			floats = append(floats, x)
		default: // refused as what it is
			return c, nil
		}
	}
	if c.Value = ints; len(floats) > len(ints) {
		c.Value = floats
	}
	return c, nil
}

func (g *grapher) index(x any, indices []any) (any, error) {
	n, ok := x.(pipeline.Node)
	if !ok {
		return nil, raise("TypeError", "%T has no elements", x)
	}
	at := make([]any, len(indices))
	for i, v := range indices {
		switch v := v.(type) {
		case nil: // not a new axis, as in numpy: all of an axis
			at[i] = pipeline.Range{}
		case slice:
			at[i] = pipeline.Range{Start: v.start, Stop: v.stop, Step: v.step}
		case ellipsis:
			at[i] = "..." // which Go excludes as an index by nothing but its value
		default:
			at[i] = v
		}
	}
	return g.made(n.Index(at...))
}

func (g *grapher) method(m *machine, receiver any, name string, args []any, kw map[string]any) (any, error) {
	switch r := receiver.(type) {
	case pipeline.Constant:
		if d, err := tensor.ParseDType(name); err == nil {
			r.DType = d
			return r, nil
		}
	case pipeline.Node:
		switch name {
		case "shape":
			if d, ok := kw["dtype"].(tensor.DType); ok {
				return g.made(r.ShapeAs(d))
			}
			return g.made(r.Shape())
		case "property":
			return g.made(r.Property(fmt.Sprint(args...)))
		case "gpu":
			return g.made(r.On("gpu"))
		case "cpu":
			return g.made(r.On("cpu"))
		}
	}
	return nil, fmt.Errorf("unknown method %s of %T", name, receiver)
}

// zeros is numpy.zeros.
func zeros(shape, dtype any) (any, error) {
	d, err := tensor.ParseDType(fmt.Sprint(dtype))
	if err != nil {
		return nil, err
	}
	var s tensor.Shape
	for _, n := range shape.([]any) {
		s = append(s, n.(int))
	}
	return tensor.New(d, s...), nil
}

// arange is numpy.arange of small numbers.
func arange(n, dtype any) (any, error) {
	var list []any
	for i := range n.(int) {
		list = append(list, json.Number(strconv.Itoa(i)))
	}
	return dalivec.Literal(list, fmt.Sprint(dtype))
}
