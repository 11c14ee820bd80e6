// Code generated from the schemas by go generate ./pipeline/fn; DO NOT EDIT.

package pipeline

// Add returns n + x.
func (n Node) Add(x any) Node { return Apply("add", n, x) }

// Sub returns n - x.
func (n Node) Sub(x any) Node { return Apply("sub", n, x) }

// Mul returns n * x.
func (n Node) Mul(x any) Node { return Apply("mul", n, x) }

// Div returns n / x as a float: float32 unless an operand is float64.
func (n Node) Div(x any) Node { return Apply("fdiv", n, x) }

// FloorDiv returns n // x: of integers the quotient without its fraction, of floats n / x.
func (n Node) FloorDiv(x any) Node { return Apply("div", n, x) }

// Mod returns n % x, with the sign of n.
func (n Node) Mod(x any) Node { return Apply("mod", n, x) }

// Pow returns n to the power of x, of the promoted type.
func (n Node) Pow(x any) Node { return Apply("pow", n, x) }

// Equal returns whether n == x.
func (n Node) Equal(x any) Node { return Apply("eq", n, x) }

// NotEqual returns whether n != x.
func (n Node) NotEqual(x any) Node { return Apply("neq", n, x) }

// Less returns whether n < x.
func (n Node) Less(x any) Node { return Apply("lt", n, x) }

// LessEqual returns whether n <= x.
func (n Node) LessEqual(x any) Node { return Apply("leq", n, x) }

// Greater returns whether n > x.
func (n Node) Greater(x any) Node { return Apply("gt", n, x) }

// GreaterEqual returns whether n >= x.
func (n Node) GreaterEqual(x any) Node { return Apply("geq", n, x) }

// And returns n & x, of integers and bools. [Builder.AndThen] is the lazy form, for conditions.
func (n Node) And(x any) Node { return Apply("bitand", n, x) }

// Or returns n | x, of integers and bools. [Builder.OrElse] is the lazy form, for conditions.
func (n Node) Or(x any) Node { return Apply("bitor", n, x) }

// Xor returns n ^ x, of integers and bools.
func (n Node) Xor(x any) Node { return Apply("bitxor", n, x) }

// Neg returns -n.
func (n Node) Neg() Node { return Apply("minus", n) }

// Invert returns ^n, all bits turned, of integers and bools.
func (n Node) Invert() Node { return Apply("bitnot", n) }
