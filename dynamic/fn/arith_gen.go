// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
)

// Add returns x + y.
func Add[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "add", x, y)
}

// Sub returns x - y.
func Sub[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "sub", x, y)
}

// Mul returns x * y.
func Mul[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "mul", x, y)
}

// Div returns x / y as a float: float32 unless an operand is float64.
func Div[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "fdiv", x, y)
}

// FloorDiv returns x // y: of integers the quotient without its fraction, of floats x / y.
func FloorDiv[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "div", x, y)
}

// Mod returns x % y, with the sign of x.
func Mod[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "mod", x, y)
}

// Pow returns x to the power of y, of the promoted type.
func Pow[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "pow", x, y)
}

// Equal returns whether x == y.
func Equal[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "eq", x, y)
}

// NotEqual returns whether x != y.
func NotEqual[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "neq", x, y)
}

// Less returns whether x < y.
func Less[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "lt", x, y)
}

// LessEqual returns whether x <= y.
func LessEqual[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "leq", x, y)
}

// Greater returns whether x > y.
func Greater[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "gt", x, y)
}

// GreaterEqual returns whether x >= y.
func GreaterEqual[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "geq", x, y)
}

// And returns x & y, of integers and bools.
func And[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "bitand", x, y)
}

// Or returns x | y, of integers and bools.
func Or[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "bitor", x, y)
}

// Xor returns x ^ y, of integers and bools.
func Xor[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "bitxor", x, y)
}

// Neg returns -x.
func Neg[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "minus", x) }

// Invert returns ^x, all bits turned, of integers and bools.
func Invert[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "bitnot", x) }

// Abs returns the absolute value of x, of its type.
func Abs[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "abs", x) }

// Fabs returns the absolute value of x as a float: float64 of a float64, else float32.
func Fabs[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "fabs", x) }

// Floor returns x rounded down as a float: float64 of a float64, else float32.
func Floor[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "floor", x) }

// Ceil returns x rounded up as a float: float64 of a float64, else float32.
func Ceil[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "ceil", x) }

// Sqrt returns the square root of x as a float: float64 of a float64, else float32.
func Sqrt[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "sqrt", x) }

// Rsqrt returns 1 / Sqrt(x) as a float: float64 of a float64, else float32.
func Rsqrt[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "rsqrt", x) }

// Cbrt returns the cube root of x as a float: float64 of a float64, else float32.
func Cbrt[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "cbrt", x) }

// Exp returns e to the power of x as a float: float64 of a float64, else float32.
func Exp[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "exp", x) }

// Log returns the natural logarithm of x as a float: float64 of a float64, else float32.
func Log[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "log", x) }

// Log2 returns the logarithm of x to base 2 as a float: float64 of a float64, else float32.
func Log2[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "log2", x) }

// Log10 returns the logarithm of x to base 10 as a float: float64 of a float64, else float32.
func Log10[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "log10", x) }

// Sin returns the sine of x as a float: float64 of a float64, else float32.
func Sin[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "sin", x) }

// Cos returns the cosine of x as a float: float64 of a float64, else float32.
func Cos[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "cos", x) }

// Tan returns the tangent of x as a float: float64 of a float64, else float32.
func Tan[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "tan", x) }

// Asin returns the inverse sine of x as a float: float64 of a float64, else float32.
func Asin[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "asin", x) }

// Acos returns the inverse cosine of x as a float: float64 of a float64, else float32.
func Acos[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "acos", x) }

// Atan returns the inverse tangent of x as a float: float64 of a float64, else float32.
func Atan[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "atan", x) }

// Sinh returns the hyperbolic sine of x as a float: float64 of a float64, else float32.
func Sinh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "sinh", x) }

// Cosh returns the hyperbolic cosine of x as a float: float64 of a float64, else float32.
func Cosh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "cosh", x) }

// Tanh returns the hyperbolic tangent of x as a float: float64 of a float64, else float32.
func Tanh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "tanh", x) }

// Asinh returns the inverse hyperbolic sine of x as a float: float64 of a float64, else float32.
func Asinh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "asinh", x) }

// Acosh returns the inverse hyperbolic cosine of x as a float: float64 of a float64, else float32.
func Acosh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "acosh", x) }

// Atanh returns the inverse hyperbolic tangent of x as a float: float64 of a float64, else float32.
func Atanh[T dynamic.Kind](ctx context.Context, x T) T { return dynamic.Apply[T](ctx, "atanh", x) }

// Min returns the smaller of x and y, of the promoted type.
func Min[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "min", x, y)
}

// Max returns the larger of x and y, of the promoted type.
func Max[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "max", x, y)
}

// Fpow returns x to the power of y as a float: float32 unless an operand is float64.
func Fpow[T dynamic.Kind](ctx context.Context, x T, y any) T {
	return dynamic.Apply[T](ctx, "fpow", x, y)
}

// Atan2 returns the angle of the point (y, x) as a float: float32 unless an operand is float64.
func Atan2[T dynamic.Kind](ctx context.Context, y T, x any) T {
	return dynamic.Apply[T](ctx, "atan2", y, x)
}

// Clamp returns x limited to lo and hi, of the promoted type.
func Clamp[T dynamic.Kind](ctx context.Context, x T, lo, hi any) T {
	return dynamic.Apply[T](ctx, "clamp", x, lo, hi)
}
