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
// Integers wrap around. div and mod of integers truncate, so that mod has the sign of its first
// operand, as mod of floats does; a division by zero is an error. pow of integers is 0 for negative
// exponents. Shifts take the low 5 bits of the number, the low 6 for integers of 64 bits. Integers
// are compared as numbers, for any signedness of their types. An integer is compared with a float
// as the float's type.
//
// # Types
//
// [Promote] gives the type of two operands: a float beats integers, the wider
// float and the wider integer the narrower; a signed and an unsigned integer meet
// in a signed one that is wider than the unsigned where there is one; bool gives
// way to all. Of bools alone there are products, comparisons and bitwise functions;
// float16 is refused. These are the rules of DALI.
//
// # Shapes
//
// Shapes are broadcast as in numpy: aligned at the last axis, axes of length 1 and
// absent ones repeat. Of two layouts one must
// be the end of the other; the result has the longer one, if it names all axes.
package arith
