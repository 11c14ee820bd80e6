// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package fn

import "github.com/bivouac-ml/bivouac/pipeline"

// Add returns x + y.
func Add(x, y any) pipeline.Node { return pipeline.Apply("add", x, y) }

// Sub returns x - y.
func Sub(x, y any) pipeline.Node { return pipeline.Apply("sub", x, y) }

// Mul returns x * y.
func Mul(x, y any) pipeline.Node { return pipeline.Apply("mul", x, y) }

// Div returns x / y as a float: float32 unless an operand is float64.
func Div(x, y any) pipeline.Node { return pipeline.Apply("fdiv", x, y) }

// FloorDiv returns x // y: of integers the quotient without its fraction, of floats x / y.
func FloorDiv(x, y any) pipeline.Node { return pipeline.Apply("div", x, y) }

// Mod returns x % y, with the sign of x.
func Mod(x, y any) pipeline.Node { return pipeline.Apply("mod", x, y) }

// Pow returns x to the power of y, of the promoted type.
func Pow(x, y any) pipeline.Node { return pipeline.Apply("pow", x, y) }

// Equal returns whether x == y.
func Equal(x, y any) pipeline.Node { return pipeline.Apply("eq", x, y) }

// NotEqual returns whether x != y.
func NotEqual(x, y any) pipeline.Node { return pipeline.Apply("neq", x, y) }

// Less returns whether x < y.
func Less(x, y any) pipeline.Node { return pipeline.Apply("lt", x, y) }

// LessEqual returns whether x <= y.
func LessEqual(x, y any) pipeline.Node { return pipeline.Apply("leq", x, y) }

// Greater returns whether x > y.
func Greater(x, y any) pipeline.Node { return pipeline.Apply("gt", x, y) }

// GreaterEqual returns whether x >= y.
func GreaterEqual(x, y any) pipeline.Node { return pipeline.Apply("geq", x, y) }

// And returns x & y, of integers and bools. [pipeline.Builder.AndThen] is the lazy form, for conditions.
func And(x, y any) pipeline.Node { return pipeline.Apply("bitand", x, y) }

// Or returns x | y, of integers and bools. [pipeline.Builder.OrElse] is the lazy form, for conditions.
func Or(x, y any) pipeline.Node { return pipeline.Apply("bitor", x, y) }

// Xor returns x ^ y, of integers and bools.
func Xor(x, y any) pipeline.Node { return pipeline.Apply("bitxor", x, y) }

// Abs returns the absolute value of x, of its type.
func Abs(x pipeline.Node) pipeline.Node { return pipeline.Apply("abs", x) }

// Fabs returns the absolute value of x as a float: float64 of a float64, else float32.
func Fabs(x pipeline.Node) pipeline.Node { return pipeline.Apply("fabs", x) }

// Floor returns x rounded down as a float: float64 of a float64, else float32.
func Floor(x pipeline.Node) pipeline.Node { return pipeline.Apply("floor", x) }

// Ceil returns x rounded up as a float: float64 of a float64, else float32.
func Ceil(x pipeline.Node) pipeline.Node { return pipeline.Apply("ceil", x) }

// Sqrt returns the square root of x as a float: float64 of a float64, else float32.
func Sqrt(x pipeline.Node) pipeline.Node { return pipeline.Apply("sqrt", x) }

// Rsqrt returns 1 / Sqrt(x) as a float: float64 of a float64, else float32.
func Rsqrt(x pipeline.Node) pipeline.Node { return pipeline.Apply("rsqrt", x) }

// Cbrt returns the cube root of x as a float: float64 of a float64, else float32.
func Cbrt(x pipeline.Node) pipeline.Node { return pipeline.Apply("cbrt", x) }

// Exp returns e to the power of x as a float: float64 of a float64, else float32.
func Exp(x pipeline.Node) pipeline.Node { return pipeline.Apply("exp", x) }

// Log returns the natural logarithm of x as a float: float64 of a float64, else float32.
func Log(x pipeline.Node) pipeline.Node { return pipeline.Apply("log", x) }

// Log2 returns the logarithm of x to base 2 as a float: float64 of a float64, else float32.
func Log2(x pipeline.Node) pipeline.Node { return pipeline.Apply("log2", x) }

// Log10 returns the logarithm of x to base 10 as a float: float64 of a float64, else float32.
func Log10(x pipeline.Node) pipeline.Node { return pipeline.Apply("log10", x) }

// Sin returns the sine of x as a float: float64 of a float64, else float32.
func Sin(x pipeline.Node) pipeline.Node { return pipeline.Apply("sin", x) }

// Cos returns the cosine of x as a float: float64 of a float64, else float32.
func Cos(x pipeline.Node) pipeline.Node { return pipeline.Apply("cos", x) }

// Tan returns the tangent of x as a float: float64 of a float64, else float32.
func Tan(x pipeline.Node) pipeline.Node { return pipeline.Apply("tan", x) }

// Asin returns the inverse sine of x as a float: float64 of a float64, else float32.
func Asin(x pipeline.Node) pipeline.Node { return pipeline.Apply("asin", x) }

// Acos returns the inverse cosine of x as a float: float64 of a float64, else float32.
func Acos(x pipeline.Node) pipeline.Node { return pipeline.Apply("acos", x) }

// Atan returns the inverse tangent of x as a float: float64 of a float64, else float32.
func Atan(x pipeline.Node) pipeline.Node { return pipeline.Apply("atan", x) }

// Sinh returns the hyperbolic sine of x as a float: float64 of a float64, else float32.
func Sinh(x pipeline.Node) pipeline.Node { return pipeline.Apply("sinh", x) }

// Cosh returns the hyperbolic cosine of x as a float: float64 of a float64, else float32.
func Cosh(x pipeline.Node) pipeline.Node { return pipeline.Apply("cosh", x) }

// Tanh returns the hyperbolic tangent of x as a float: float64 of a float64, else float32.
func Tanh(x pipeline.Node) pipeline.Node { return pipeline.Apply("tanh", x) }

// Asinh returns the inverse hyperbolic sine of x as a float: float64 of a float64, else float32.
func Asinh(x pipeline.Node) pipeline.Node { return pipeline.Apply("asinh", x) }

// Acosh returns the inverse hyperbolic cosine of x as a float: float64 of a float64, else float32.
func Acosh(x pipeline.Node) pipeline.Node { return pipeline.Apply("acosh", x) }

// Atanh returns the inverse hyperbolic tangent of x as a float: float64 of a float64, else float32.
func Atanh(x pipeline.Node) pipeline.Node { return pipeline.Apply("atanh", x) }

// Min returns the smaller of x and y, of the promoted type.
func Min(x, y any) pipeline.Node { return pipeline.Apply("min", x, y) }

// Max returns the larger of x and y, of the promoted type.
func Max(x, y any) pipeline.Node { return pipeline.Apply("max", x, y) }

// Fpow returns x to the power of y as a float: float32 unless an operand is float64.
func Fpow(x, y any) pipeline.Node { return pipeline.Apply("fpow", x, y) }

// Atan2 returns the angle of the point (y, x) as a float: float32 unless an operand is float64.
func Atan2(y, x any) pipeline.Node { return pipeline.Apply("atan2", y, x) }

// Clamp returns x limited to lo and hi, of the promoted type.
func Clamp(x, lo, hi any) pipeline.Node { return pipeline.Apply("clamp", x, lo, hi) }
