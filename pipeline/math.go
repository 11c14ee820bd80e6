package pipeline

// Mathematical functions of nodes, element by element. Those of which the type of
// the result is not said give a float: float64 of a float64, else float32.

// Abs returns the absolute value of x, of its type.
func Abs(x Node) Node { return compute("abs", x) }

// Fabs returns the absolute value of x.
func Fabs(x Node) Node { return compute("fabs", x) }

// Floor returns x rounded down.
func Floor(x Node) Node { return compute("floor", x) }

// Ceil returns x rounded up.
func Ceil(x Node) Node { return compute("ceil", x) }

// Sqrt returns the square root of x.
func Sqrt(x Node) Node { return compute("sqrt", x) }

// Rsqrt returns 1 / Sqrt(x).
func Rsqrt(x Node) Node { return compute("rsqrt", x) }

// Cbrt returns the cube root of x.
func Cbrt(x Node) Node { return compute("cbrt", x) }

// Exp returns e to the power of x.
func Exp(x Node) Node { return compute("exp", x) }

// Log returns the natural logarithm of x.
func Log(x Node) Node { return compute("log", x) }

// Log2 returns the logarithm of x to base 2.
func Log2(x Node) Node { return compute("log2", x) }

// Log10 returns the logarithm of x to base 10.
func Log10(x Node) Node { return compute("log10", x) }

// Sin returns the sine of x.
func Sin(x Node) Node { return compute("sin", x) }

// Cos returns the cosine of x.
func Cos(x Node) Node { return compute("cos", x) }

// Tan returns the tangent of x.
func Tan(x Node) Node { return compute("tan", x) }

// Asin returns the inverse sine of x.
func Asin(x Node) Node { return compute("asin", x) }

// Acos returns the inverse cosine of x.
func Acos(x Node) Node { return compute("acos", x) }

// Atan returns the inverse tangent of x.
func Atan(x Node) Node { return compute("atan", x) }

// Sinh returns the hyperbolic sine of x.
func Sinh(x Node) Node { return compute("sinh", x) }

// Cosh returns the hyperbolic cosine of x.
func Cosh(x Node) Node { return compute("cosh", x) }

// Tanh returns the hyperbolic tangent of x.
func Tanh(x Node) Node { return compute("tanh", x) }

// Asinh returns the inverse hyperbolic sine of x.
func Asinh(x Node) Node { return compute("asinh", x) }

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh(x Node) Node { return compute("acosh", x) }

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh(x Node) Node { return compute("atanh", x) }

// Min returns the smaller of x and y, of the promoted type.
func Min(x, y any) Node { return compute("min", x, y) }

// Max returns the larger of x and y, of the promoted type.
func Max(x, y any) Node { return compute("max", x, y) }

// Fpow returns x to the power of y.
func Fpow(x, y any) Node { return compute("fpow", x, y) }

// Atan2 returns the angle of the point (y, x).
func Atan2(y, x any) Node { return compute("atan2", y, x) }

// Clamp returns x limited to lo and hi, of the promoted type.
func Clamp(x, lo, hi any) Node { return compute("clamp", x, lo, hi) }
