package dynamic

import (
	"context"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Arithmetic works element by element, on shapes broadcast as in numpy, by the
// rules of package op/arith, which are those of graphs. An operand is a value, a Go
// number or bool, or an arith.Constant: Go's int and float64 count as int32 and
// float32, numbers of other types as what they are. Functions return what their
// first operand is, a Tensor or a Batch; [Apply] leaves that to who calls it.

// Apply computes a function of op/arith, such as "sub", of operands of which one at
// least is a value. T says what comes of it, which is to be *Batch where an operand is one.
//
//	dynamic.Apply[*dynamic.Tensor](ctx, "sub", 1, x)
func Apply[T Kind](ctx context.Context, function string, operands ...any) T {
	args, values, err := arith.Apply(function, operands...)
	if err != nil {
		return failed[T](err, 2)
	}
	inputs := make([]Value, len(values))
	for i, v := range values {
		inputs[i], _ = v.(Value)
	}
	return Invoke1[T](ctx, Call{Op: arith.Name, Args: args, Inputs: inputs})
}

// failed returns a value that has an error, found in a call skip frames out.
func failed[T Kind](err error, skip int) T {
	_, batch := any(*new(T)).(*Batch)
	v, r := newValue(batch)
	k := &call{}
	k.site.capture(skip)
	r.n, r.err = 1, k.wrap(err)
	r.seen.Store(true)
	return v.(T)
}

// Add returns x + y.
func Add[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "add", x, y) }

// Sub returns x - y.
func Sub[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "sub", x, y) }

// Mul returns x * y.
func Mul[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "mul", x, y) }

// Div returns x / y as a float: float32 unless an operand is float64.
func Div[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "fdiv", x, y) }

// FloorDiv returns x // y: of integers the quotient without its fraction, of floats x / y.
func FloorDiv[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "div", x, y) }

// Mod returns x % y, with the sign of x.
func Mod[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "mod", x, y) }

// Pow returns x to the power of y, of the promoted type.
func Pow[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "pow", x, y) }

// Equal returns whether x == y.
func Equal[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "eq", x, y) }

// NotEqual returns whether x != y.
func NotEqual[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "neq", x, y) }

// Less returns whether x < y.
func Less[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "lt", x, y) }

// LessEqual returns whether x <= y.
func LessEqual[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "leq", x, y) }

// Greater returns whether x > y.
func Greater[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "gt", x, y) }

// GreaterEqual returns whether x >= y.
func GreaterEqual[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "geq", x, y) }

// And returns x & y, of integers and bools.
func And[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "bitand", x, y) }

// Or returns x | y, of integers and bools.
func Or[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "bitor", x, y) }

// Xor returns x ^ y, of integers and bools.
func Xor[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "bitxor", x, y) }

// Neg returns -x.
func Neg[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "minus", x) }

// Invert returns ^x, all bits turned, of integers and bools.
func Invert[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "bitnot", x) }

// Cast converts the elements to a type: rounded and saturated where that is an integer.
func Cast[T Kind](ctx context.Context, x T, d tensor.DType) T {
	return Invoke1[T](ctx, Call{Op: "cast", Args: opargs.Cast{DType: d}, Inputs: []Value{x}})
}
