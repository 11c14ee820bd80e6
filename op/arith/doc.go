// Package arith holds arithmetic of tensors, element by element: the operator
// _arithmetic_generic_op, which computes an expression of several inputs and
// constants at once, and the operators of subscripts.
//
// # Expressions
//
//	expression = call | input | constant
//	call       = name "(" expression { " " expression } ")"
//	input      = "&" number                 an input of the operator
//	constant   = "$" number ":" type        of integer_constants or, where the
//	                                        type is a float, real_constants
//
// as in "add(&0 mul(&1 $0:int32))". [Apply] writes them. The functions are
//
//	add sub mul div mod pow min max   the promoted type
//	fdiv fpow atan2                   likewise, but float32 of integers
//	plus minus abs                    the type of the operand
//	fabs floor ceil sqrt rsqrt cbrt exp log log2 log10 sin cos tan asin acos atan
//	sinh cosh tanh asinh acosh atanh  the type of a float, float32 of the rest
//	clamp                             value, least and largest: the promoted type
//	eq neq lt leq gt geq              bool
//	bitand bitor bitxor bitnot lshift rshift   the promoted type, not of floats
//
// Integers wrap around. div and mod of integers truncate, so mod has the sign of its first operand,
// like mod of floats. A division by zero is an error. pow of integers is 0 for negative exponents.
// Shifts use the low 5 bits of the shift count, or the low 6 bits for integers of 64 bits. Integers
// are compared by value, even if only one type is signed. An integer is converted to the type of a
// float to be compared with it.
//
// # Types
//
// [Promote] returns the common type of two operands. A float with an integer gives the float. Of
// two floats, or two integers of equal signedness, the wider one is taken. A signed and an unsigned
// integer give a signed integer that is wider than the unsigned one, if there is one. bool with any
// other type gives the other type. If all operands are bools, only products, comparisons and
// bitwise functions are allowed. float16 is refused. These are the rules of DALI.
//
// # Shapes
//
// Shapes are broadcast as in numpy: they are aligned at the last axis, and axes of length 1 and
// missing axes are repeated. One of two layouts must be the end of the other. The result has the
// longer layout, if it names all axes.
package arith
