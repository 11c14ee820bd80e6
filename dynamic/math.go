package dynamic

import "context"

// Mathematical functions, element by element. Those of which the type of the result is
// not said give a float: float64 of a float64, else float32.

// Abs returns the absolute value of x, of its type.
func Abs[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "abs", x) }

// Fabs returns the absolute value of x.
func Fabs[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "fabs", x) }

// Floor returns x rounded down.
func Floor[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "floor", x) }

// Ceil returns x rounded up.
func Ceil[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "ceil", x) }

// Sqrt returns the square root of x.
func Sqrt[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "sqrt", x) }

// Rsqrt returns 1 / Sqrt(x).
func Rsqrt[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "rsqrt", x) }

// Cbrt returns the cube root of x.
func Cbrt[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "cbrt", x) }

// Exp returns e to the power of x.
func Exp[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "exp", x) }

// Log returns the natural logarithm of x.
func Log[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "log", x) }

// Log2 returns the logarithm of x to base 2.
func Log2[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "log2", x) }

// Log10 returns the logarithm of x to base 10.
func Log10[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "log10", x) }

// Sin returns the sine of x.
func Sin[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "sin", x) }

// Cos returns the cosine of x.
func Cos[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "cos", x) }

// Tan returns the tangent of x.
func Tan[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "tan", x) }

// Asin returns the inverse sine of x.
func Asin[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "asin", x) }

// Acos returns the inverse cosine of x.
func Acos[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "acos", x) }

// Atan returns the inverse tangent of x.
func Atan[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "atan", x) }

// Sinh returns the hyperbolic sine of x.
func Sinh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "sinh", x) }

// Cosh returns the hyperbolic cosine of x.
func Cosh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "cosh", x) }

// Tanh returns the hyperbolic tangent of x.
func Tanh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "tanh", x) }

// Asinh returns the inverse hyperbolic sine of x.
func Asinh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "asinh", x) }

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "acosh", x) }

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh[T Kind](ctx context.Context, x T) T { return Apply[T](ctx, "atanh", x) }

// Min returns the smaller of x and y, of the promoted type.
func Min[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "min", x, y) }

// Max returns the larger of x and y, of the promoted type.
func Max[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "max", x, y) }

// Fpow returns x to the power of y.
func Fpow[T Kind](ctx context.Context, x T, y any) T { return Apply[T](ctx, "fpow", x, y) }

// Atan2 returns the angle of the point (y, x).
func Atan2[T Kind](ctx context.Context, y T, x any) T { return Apply[T](ctx, "atan2", y, x) }

// Clamp returns x limited to lo and hi, of the promoted type.
func Clamp[T Kind](ctx context.Context, x T, lo, hi any) T { return Apply[T](ctx, "clamp", x, lo, hi) }
