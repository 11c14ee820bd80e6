package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
)

// Arithmetic works element by element, on shapes broadcast as in numpy. An operand
// is a Node, a Go number or bool, or a [Constant]. Go's int and float64 count as
// int32 and float32, numbers of other types as what they are. The type of a result
// is that in which the operands meet: a float beats integers, the wider type the
// narrower, signed and unsigned meet in a signed type, bool gives way to all.
//
//	scaled := image.Sub(128).Div(pipeline.Max(spread, 1))

// Add returns n + x.
func (n Node) Add(x any) Node { return compute("add", n, x) }

// Sub returns n - x.
func (n Node) Sub(x any) Node { return compute("sub", n, x) }

// Mul returns n * x.
func (n Node) Mul(x any) Node { return compute("mul", n, x) }

// Div returns n / x as a float: float32 unless an operand is float64.
func (n Node) Div(x any) Node { return compute("fdiv", n, x) }

// FloorDiv returns n // x: of integers the quotient without its fraction, of floats n / x.
func (n Node) FloorDiv(x any) Node { return compute("div", n, x) }

// Mod returns n % x, with the sign of n.
func (n Node) Mod(x any) Node { return compute("mod", n, x) }

// Pow returns n to the power of x, of the promoted type.
func (n Node) Pow(x any) Node { return compute("pow", n, x) }

// Equal returns whether n == x.
func (n Node) Equal(x any) Node { return compute("eq", n, x) }

// NotEqual returns whether n != x.
func (n Node) NotEqual(x any) Node { return compute("neq", n, x) }

// Less returns whether n < x.
func (n Node) Less(x any) Node { return compute("lt", n, x) }

// LessEqual returns whether n <= x.
func (n Node) LessEqual(x any) Node { return compute("leq", n, x) }

// Greater returns whether n > x.
func (n Node) Greater(x any) Node { return compute("gt", n, x) }

// GreaterEqual returns whether n >= x.
func (n Node) GreaterEqual(x any) Node { return compute("geq", n, x) }

// And returns n & x, of integers and bools. Builder.AndThen is the lazy one of conditions.
func (n Node) And(x any) Node { return compute("bitand", n, x) }

// Or returns n | x, of integers and bools. Builder.OrElse is the lazy one of conditions.
func (n Node) Or(x any) Node { return compute("bitor", n, x) }

// Xor returns n ^ x, of integers and bools.
func (n Node) Xor(x any) Node { return compute("bitxor", n, x) }

// Neg returns -n.
func (n Node) Neg() Node { return compute("minus", n) }

// Pos returns n.
func (n Node) Pos() Node { return n }

// Invert returns ^n, all bits turned, of integers and bools.
func (n Node) Invert() Node { return compute("bitnot", n) }

// Add returns x + y.
func Add(x, y any) Node { return compute("add", x, y) }

// Sub returns x - y.
func Sub(x, y any) Node { return compute("sub", x, y) }

// Mul returns x * y.
func Mul(x, y any) Node { return compute("mul", x, y) }

// Div returns x / y as a float: float32 unless an operand is float64.
func Div(x, y any) Node { return compute("fdiv", x, y) }

// FloorDiv returns x // y: of integers the quotient without its fraction, of floats x / y.
func FloorDiv(x, y any) Node { return compute("div", x, y) }

// Mod returns x % y, with the sign of x.
func Mod(x, y any) Node { return compute("mod", x, y) }

// Pow returns x to the power of y, of the promoted type.
func Pow(x, y any) Node { return compute("pow", x, y) }

// Equal returns whether x == y.
func Equal(x, y any) Node { return compute("eq", x, y) }

// NotEqual returns whether x != y.
func NotEqual(x, y any) Node { return compute("neq", x, y) }

// Less returns whether x < y.
func Less(x, y any) Node { return compute("lt", x, y) }

// LessEqual returns whether x <= y.
func LessEqual(x, y any) Node { return compute("leq", x, y) }

// Greater returns whether x > y.
func Greater(x, y any) Node { return compute("gt", x, y) }

// GreaterEqual returns whether x >= y.
func GreaterEqual(x, y any) Node { return compute("geq", x, y) }

// And returns x & y, of integers and bools. Builder.AndThen is the lazy one of conditions.
func And(x, y any) Node { return compute("bitand", x, y) }

// Or returns x | y, of integers and bools. Builder.OrElse is the lazy one of conditions.
func Or(x, y any) Node { return compute("bitor", x, y) }

// Xor returns x ^ y, of integers and bools.
func Xor(x, y any) Node { return compute("bitxor", x, y) }

// compute appends the operator that computes a function of op/arith.
func compute(function string, operands ...any) Node {
	b := builderOf(operands)
	if b == nil {
		return Node{} // of zero Nodes comes nothing, which who takes it says
	}
	list := make([]any, len(operands))
	for i, operand := range operands {
		list[i] = b.operand(operand)
	}
	b.doing = written(function, operands)
	defer func() { b.doing = "" }()
	args, inputs, err := arith.Apply(function, list...)
	if err != nil {
		b.fail(err)
		return Node{b: b}
	}
	nodes := make([]Node, len(inputs))
	for i := range inputs {
		nodes[i] = inputs[i].(Node)
	}
	return b.Op(arith.Name, args, nodes...)[0]
}

// written returns a function of operands as it would be written, for messages.
func written(function string, operands []any) string {
	list := make([]string, len(operands))
	for i, operand := range operands {
		list[i] = fmt.Sprint(operand)
		switch v := operand.(type) {
		case Node:
			list[i] = v.Name()
		case Constant:
			list[i] = fmt.Sprint(v.Value)
		}
	}
	return function + "(" + strings.Join(list, ", ") + ")"
}

// builderOf returns the builder of the first node among values.
func builderOf(values []any) *Builder {
	for _, v := range values {
		if n, ok := v.(Node); ok && n.b != nil {
			return n.b
		}
	}
	return nil
}

// operand returns an operand of Go or of this package as one of op/arith.
func (b *Builder) operand(v any) any {
	if c, ok := v.(Constant); ok {
		if s, ok := c.scalar(); ok {
			return s
		}
		return b.Constant(c)
	}
	return v
}

var _ op.Value = Node{}
