package dali

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

type batch = *dynamic.Batch

// The functions of package dynamic for the operators of the AST and the functions of math.
var (
	monadicCalls = map[string]func(ctx context.Context, x batch) batch{
		"unary -": fn.Neg[batch], "unary ~": fn.Invert[batch],
		"abs": fn.Abs[batch], "fabs": fn.Fabs[batch], "floor": fn.Floor[batch], "ceil": fn.Ceil[batch],
		"sqrt": fn.Sqrt[batch], "rsqrt": fn.Rsqrt[batch], "cbrt": fn.Cbrt[batch],
		"exp": fn.Exp[batch], "log": fn.Log[batch], "log2": fn.Log2[batch], "log10": fn.Log10[batch],
		"sin": fn.Sin[batch], "cos": fn.Cos[batch], "tan": fn.Tan[batch],
		"asin": fn.Asin[batch], "acos": fn.Acos[batch], "atan": fn.Atan[batch],
		"sinh": fn.Sinh[batch], "cosh": fn.Cosh[batch], "tanh": fn.Tanh[batch],
		"asinh": fn.Asinh[batch], "acosh": fn.Acosh[batch], "atanh": fn.Atanh[batch],
	}
	dyadicCalls = map[string]func(ctx context.Context, x batch, y any) batch{
		"+": fn.Add[batch], "-": fn.Sub[batch], "*": fn.Mul[batch], "/": fn.Div[batch], "//": fn.FloorDiv[batch],
		"%": fn.Mod[batch], "**": fn.Pow[batch], "&": fn.And[batch], "|": fn.Or[batch], "^": fn.Xor[batch],
		"==": fn.Equal[batch], "!=": fn.NotEqual[batch], "<": fn.Less[batch], "<=": fn.LessEqual[batch],
		">": fn.Greater[batch], ">=": fn.GreaterEqual[batch],
		"min": fn.Min[batch], "max": fn.Max[batch], "pow": fn.Pow[batch], "fpow": fn.Fpow[batch], "atan2": fn.Atan2[batch],
	}
	// arithNames are the names in op/arith, for operands of which the first is a constant.
	arithNames = map[string]string{
		"+": "add", "-": "sub", "*": "mul", "/": "fdiv", "//": "div", "%": "mod", "**": "pow", "&": "bitand", "|": "bitor", "^": "bitxor",
		"==": "eq", "!=": "neq", "<": "lt", "<=": "leq", ">": "gt", ">=": "geq", "unary -": "minus", "unary ~": "bitnot",
	}
)

func (h *caller) operate(operator string, operands ...any) (any, error) {
	if operator == "bool" {
		return nil, raise("TypeError", "a batch in a conditional context")
	}
	given := make([]any, len(operands))
	for i, o := range operands {
		var err error
		if given[i], err = h.operand(o); err != nil {
			return nil, err
		}
	}
	first, isBatch := given[0].(batch)
	one, isUnary := monadicCalls[operator]
	two, isBinary := dyadicCalls[operator]
	var out batch
	switch {
	case operator == "unary +":
		return given[0], nil
	case isUnary && len(given) == 1 && isBatch:
		out = one(h.ctx, first)
	case isBinary && len(given) == 2 && isBatch:
		out = two(h.ctx, first, given[1])
	case operator == "clamp" && len(given) == 3 && isBatch:
		out = fn.Clamp(h.ctx, first, given[1], given[2])
	default:
		name := operator
		if n, ok := arithNames[operator]; ok {
			name = n
		}
		if !slices.ContainsFunc(given, func(v any) bool { _, ok := v.(batch); return ok }) {
			return made(dynamic.Apply[*dynamic.Tensor](h.ctx, name, given...))
		}
		out = dynamic.Apply[batch](h.ctx, name, given...)
	}
	return made(out)
}

// made is a value, or the error that is known at once.
func made(v dynamic.Value) (any, error) { return v, v.Err() }

// operand is what arithmetic takes: a Batch, or a constant.
func (h *caller) operand(v any) (any, error) {
	switch v := v.(type) {
	case tensor.Tensor:
		return h.operand(constantOf(v))
	case pipeline.Constant:
		if _, list := v.Value.([]int); !list && v.Shape == nil {
			if _, list := v.Value.([]float64); !list {
				if v.DType == tensor.Invalid {
					return v.Value, nil
				}
				return arith.Constant{Value: v.Value, DType: v.DType}, nil
			}
		}
		return h.constant(v)
	}
	return v, nil
}

// constant is a Batch of a constant.
func (h *caller) constant(c pipeline.Constant) (dynamic.Value, error) {
	args := op.Args{"shape": []int{}}
	switch v := c.Value.(type) {
	case bool:
		args["idata"], args["dtype"] = []int{map[bool]int{true: 1}[v]}, tensor.Bool
	case int:
		args["idata"] = []int{v}
	case float64:
		args["fdata"] = []float64{v}
	case []int:
		args["idata"], args["shape"], args["dtype"] = v, []int{len(v)}, tensor.Int32
	case []float64:
		args["fdata"], args["shape"] = v, []int{len(v)}
	default:
		return nil, dynamic.TensorOf(v).Err() // refused as what it is
	}
	if c.DType != tensor.Invalid {
		args["dtype"] = c.DType
	}
	if c.Shape != nil {
		args["shape"] = c.Shape
	}
	if c.Layout != "" {
		args["layout"] = c.Layout
	}
	out := dynamic.Invoke(h.ctx, dynamic.Call{Op: "constant", Args: args, Batch: h.size})[0]
	return out, out.Err()
}

func (h *caller) call(m *machine, name string, args []any, kw map[string]any) (any, error) {
	if f, ok := strings.CutPrefix(name, "fn."); ok {
		return h.operator(m, f, args, kw)
	}
	if f, ok := strings.CutPrefix(name, "math."); ok {
		return h.operate(f, args...)
	}
	switch {
	case name == "types.Constant" && len(args) == 1:
		return typesConstant(args[0], kw)
	case name == "newaxis":
		return dynamic.NewAxis{Name: fmt.Sprint(args...)}, nil
	case name == "np.array" && len(args) == 1:
		return args[0], nil
	case name == "raw" && len(args) == 1:
		b, err := os.ReadFile(m.set.Path("inputs/" + fmt.Sprint(args[0])))
		return tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(b)}, Data: b}, err
	}
	return nil, fmt.Errorf("unknown function %s with %d arguments", name, len(args))
}

func (h *caller) index(x any, indices []any) (any, error) {
	at := make([]any, len(indices))
	for i, v := range indices {
		switch v := v.(type) {
		case nil: // as for nodes: all of an axis
			at[i] = dynamic.Range{}
		case slice:
			at[i] = dynamic.Range{Start: v.start, Stop: v.stop, Step: v.step}
		case ellipsis:
			at[i] = "..."
		default:
			at[i] = v
		}
	}
	switch x := x.(type) {
	case batch:
		return made(dynamic.Index(h.ctx, x, at...))
	case *dynamic.Tensor:
		return made(dynamic.Index(h.ctx, x, at...))
	}
	return nil, raise("TypeError", "%T has no elements", x)
}

func (h *caller) method(_ *machine, receiver any, name string, args []any, kw map[string]any) (any, error) {
	switch r := receiver.(type) {
	case pipeline.Constant:
		if d, err := tensor.ParseDType(name); err == nil {
			r.DType = d
			return r, nil
		}
	case batch:
		return methodOf(h, r, name, args, kw)
	case *dynamic.Tensor:
		return methodOf(h, r, name, args, kw)
	}
	return nil, fmt.Errorf("unknown method %s of %T", name, receiver)
}

func methodOf[T dynamic.Kind](h *caller, x T, name string, args []any, kw map[string]any) (any, error) {
	switch name {
	case "shape":
		out := dynamic.ShapeOf(h.ctx, x)
		if d, ok := kw["dtype"].(tensor.DType); ok {
			out = dynamic.Cast(h.ctx, out, d)
		}
		return made(out)
	case "property":
		return h.operator(nil, "get_property", []any{x}, map[string]any{"key": fmt.Sprint(args...)})
	case "cpu":
		return x, nil
	case "gpu":
		return nil, raise("RuntimeError", "no GPU")
	}
	return nil, fmt.Errorf("unknown method %s of %T", name, x)
}
