package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/internal/dalivec"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// grapher is the host that turns fn, math and types, and what is done with data
// nodes, into operators of a graph.
type grapher struct {
	b    *pipeline.Builder // of the pipeline that is being defined
	root string            // a folder with a data set, for the name d
}

// arithmetic has the names of the operators of the AST in the arithmetic.
var arithmetic = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "fdiv", "//": "div", "%": "mod", "**": "pow", "&": "bitand", "|": "bitor", "^": "bitxor",
	"==": "eq", "!=": "neq", "<": "lt", "<=": "leq", ">": "gt", ">=": "geq",
	"unary -": "minus", "unary +": "plus", "unary ~": "bitnot",
}

func (g *grapher) operate(operator string, operands ...any) (any, error) {
	if operator == "bool" {
		return nil, raise("TypeError", "a node in a conditional context")
	}
	name, ok := arithmetic[operator]
	if !ok {
		return nil, fmt.Errorf("unknown operator %q", operator)
	}
	return g.apply(name, operands...)
}

// apply appends a function of the arithmetic.
func (g *grapher) apply(name string, operands ...any) (any, error) {
	for i, o := range operands {
		if t, ok := o.(tensor.Tensor); ok {
			n, err := g.constant(t, nil)
			if err != nil {
				return nil, err
			}
			operands[i] = n
		}
	}
	args, values, err := arith.Apply(name, operands...)
	if err != nil {
		return nil, err
	}
	var inputs []pipeline.Node
	for _, v := range values {
		inputs = append(inputs, v.(pipeline.Node))
	}
	return g.op(arith.Name, args, inputs...)
}

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
		return g.apply(f, args...)
	}
	switch {
	case name == "types.Constant" && len(args) == 1:
		return g.typesConstant(args[0], kw)
	case name == "newaxis":
		return newAxis{fmt.Sprint(args...)}, nil
	case name == "np.array" && len(args) == 1:
		return args[0], nil
	case name == "zeros" && len(args) == 2:
		return zeros(args[0], args[1])
	case name == "arange" && len(args) == 2:
		return arange(args[0], args[1])
	case name == "raw" && len(args) == 1:
		b, err := os.ReadFile(m.set.Path("inputs/" + fmt.Sprint(args[0])))
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}, err
	}
	return nil, fmt.Errorf("unknown function %s with %d arguments", name, len(args))
}

// newAxis is an index that adds an axis with that name in the layout.
type newAxis struct{ name string }

// operator appends fn.NAME(*args, **kw).
func (g *grapher) operator(m *machine, name string, args []any, kw map[string]any) (any, error) {
	var inputs []pipeline.Node
	for _, a := range args {
		n, err := g.node(a)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, n)
	}
	set := op.Args{}
	for k, v := range kw {
		if t, ok := v.(tensor.Tensor); ok {
			n, err := g.constant(t, nil)
			if err != nil {
				return nil, err
			}
			v = n
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
		return g.constant(v, nil)
	}
	c, err := g.typesConstant(v, map[string]any{"shape": []any{}})
	n, _ := c.(pipeline.Node)
	return n, err
}

// constant appends the array t, which is of the same value for all samples. As in
// DALI its values travel as int32 or float32.
func (g *grapher) constant(t tensor.Tensor, kw map[string]any) (pipeline.Node, error) {
	args := op.Args{"shape": []int(t.Shape), "dtype": t.DType}
	switch t.DType {
	case tensor.Float64:
		args["dtype"] = tensor.Float32
	case tensor.Int64:
		args["dtype"] = tensor.Int32
	case tensor.Uint64:
		args["dtype"] = tensor.Uint32
	}
	var ints []int
	var floats []float64
	for i := range t.Len() {
		v, _ := t.Float64(i)
		if t.DType.IsFloat() {
			floats = append(floats, v)
		} else {
			ints = append(ints, int(v))
		}
	}
	if t.DType.IsFloat() {
		args["fdata"] = floats
	} else {
		args["idata"] = ints
	}
	for k, v := range kw {
		args[k] = v
	}
	n, err := g.op("constant", args)
	node, _ := n.(pipeline.Node)
	return node, err
}

// typesConstant is types.Constant: an operand of the arithmetic when the value is a
// scalar and nothing but its type is given, else a node.
func (g *grapher) typesConstant(v any, kw map[string]any) (any, error) {
	_, shaped := kw["shape"]
	_, laidOut := kw["layout"]
	dtype, typed := kw["dtype"].(tensor.DType)
	list, isList := v.([]any)
	if t, ok := v.(tensor.Tensor); ok {
		return g.constant(t, kw)
	}
	if !isList && !shaped && !laidOut {
		if !typed {
			dtype = naturalDType([]any{v})
		}
		return arith.Constant{Value: v, DType: dtype}, nil
	}
	if !isList {
		list = []any{v}
	}
	natural := naturalDType(list)
	if natural == tensor.Invalid {
		return nil, raise("TypeError", "unexpected type in a constant: %v", v)
	}
	args := op.Args{"dtype": natural, "shape": []int{len(list)}}
	if natural == tensor.Float32 {
		args["fdata"] = list
	} else {
		ints := make([]int, len(list))
		for i, x := range list {
			switch x := x.(type) {
			case int:
				ints[i] = x
			case bool:
				if x {
					ints[i] = 1
				}
			}
		}
		args["idata"] = ints
	}
	for k, v := range kw {
		args[k] = v
	}
	return g.op("constant", args)
}

// naturalDType is the type that DALI gives a list of Python's numbers; Invalid when one is none.
func naturalDType(list []any) tensor.DType {
	d := tensor.Bool
	for _, v := range list {
		switch v.(type) {
		case float64:
			d = tensor.Float32
		case int:
			if d == tensor.Bool {
				d = tensor.Int32
			}
		case bool:
		default:
			return tensor.Invalid
		}
	}
	if len(list) == 0 {
		return tensor.Float32
	}
	return d
}

func (g *grapher) index(x any, indices []any) (any, error) {
	return nil, fmt.Errorf("indices of %T", x)
}

func (g *grapher) method(m *machine, receiver any, name string, args []any, kw map[string]any) (any, error) {
	switch r := receiver.(type) {
	case arith.Constant:
		if d, err := tensor.ParseDType(name); err == nil {
			return arith.Constant{Value: r.Value, DType: d}, nil
		}
	case pipeline.Node:
		switch name {
		case "shape":
			return g.operator(m, "_shape", []any{r}, kw)
		case "gpu":
			return g.operator(m, "copy", []any{r}, map[string]any{"device": "gpu"})
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
