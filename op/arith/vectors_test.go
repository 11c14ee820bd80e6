package arith_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The expressions that were recorded from DALI, one operator for every function as
// there, and the tuples at the top as several outputs.
func TestVectors(t *testing.T) {
	dir, _, ok := dalivec.Find()
	if !ok {
		t.Skip("the vectors are not there")
	}
	set, err := dalivec.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := set.Cases("arith")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		v := set.Judge(c, func() (dalivec.Results, error) {
			inputs, err := set.Batches(c.Inputs)
			if err != nil {
				return nil, err
			}
			return evaluate(c.AST, inputs)
		})
		if v.Status != dalivec.Passed {
			t.Errorf("%s %s: %s", c.Name, c.Expr, v.Reason)
		}
	}
	if len(cases) < 100 {
		t.Errorf("only %d cases", len(cases))
	}
}

func evaluate(ast []any, inputs [][]tensor.Tensor) (dalivec.Results, error) {
	outputs := []any{ast}
	if ast[0] == "tuple" {
		outputs = ast[1].([]any)
	}
	iteration := make([][]tensor.Tensor, len(outputs))
	for i, n := range outputs {
		v, err := value(n.([]any), inputs)
		if err != nil {
			return nil, err
		}
		iteration[i] = v.(optest.Samples)
	}
	return dalivec.Results{iteration}, nil
}

var functionOf = map[string]string{
	"+": "add", "-": "sub", "*": "mul", "/": "fdiv", "//": "div", "%": "mod", "**": "pow", "&": "bitand", "|": "bitor", "^": "bitxor",
	"==": "eq", "!=": "neq", "<": "lt", "<=": "leq", ">": "gt", ">=": "geq",
}

// value returns optest.Samples or a constant.
func value(n []any, inputs [][]tensor.Tensor) (any, error) {
	switch n[0] {
	case "const":
		if number, ok := n[1].(json.Number); ok {
			if i, err := number.Int64(); err == nil && !strings.ContainsAny(string(number), ".eE") {
				return int(i), nil
			}
			return number.Float64()
		}
		return n[1], nil
	case "name":
		return optest.Samples(inputs[n[1].(string)[0]-'a']), nil
	case "bin", "cmp":
		return call(functionOf[n[1].(string)], n[2:4], inputs)
	case "un":
		f := map[any]string{"-": "minus", "~": "bitnot", "+": ""}[n[1]]
		if f == "" {
			return value(n[2].([]any), inputs)
		}
		return call(f, n[2:3], inputs)
	case "call":
		return callOf(n, inputs)
	}
	return nil, fmt.Errorf("unknown node %v", n)
}

func callOf(n []any, inputs [][]tensor.Tensor) (any, error) {
	operands := n[2].([]any)
	switch f := n[1].(type) {
	case string:
		if name, ok := strings.CutPrefix(f, "math."); ok {
			return call(name, operands, inputs)
		}
		if f == "types.Constant" {
			return value(operands[0].([]any), inputs)
		}
	case []any: // types.Constant(2).uint8()
		if f[0] == "attr" {
			v, err := value(f[1].([]any), inputs)
			if err != nil {
				return nil, err
			}
			d, err := tensor.ParseDType(f[2].(string))
			return arith.Constant{Value: v, DType: d}, err
		}
	}
	return nil, fmt.Errorf("unknown call %v", n)
}

func call(function string, nodes []any, inputs [][]tensor.Tensor) (any, error) {
	operands := make([]any, len(nodes))
	for i, n := range nodes {
		var err error
		if operands[i], err = value(n.([]any), inputs); err != nil {
			return nil, err
		}
	}
	return compute(function, operands...)
}

// compute runs the operator of one function.
func compute(function string, operands ...any) (optest.Samples, error) {
	args, inputs, err := arith.Apply(function, operands...)
	if err != nil {
		return nil, err
	}
	return run(args, inputs)
}

func run(args any, inputs []op.Value) (optest.Samples, error) {
	c := optest.Case{Op: arith.Name, Args: args}
	for _, in := range inputs {
		c.Inputs = append(c.Inputs, in.(optest.Samples))
	}
	r, err := optest.Run(c)
	if err != nil {
		return nil, err
	}
	for s, err := range r.Errors {
		return nil, fmt.Errorf("sample %d: %w", s, err)
	}
	return r.Outputs[0], nil
}
