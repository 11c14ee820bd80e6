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
//	add sub mul div mod pow min max     of the promoted type; div, mod and pow of
//	                                    integers truncate, modulo 2^bits
//	fdiv fpow atan2                     the same, but of integers float32
//	plus minus abs                      the type of the operand
//	fabs floor ceil sqrt rsqrt cbrt exp log log2 log10 sin cos tan asin acos
//	atan sinh cosh tanh asinh acosh atanh   a float as it is, of the rest float32
//	clamp                               value, least and largest: the promoted type
//	eq neq lt leq gt geq                bool
//	bitand bitor bitxor lshift rshift bitnot   integers and bools
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
// absent ones repeat. The layout is that of the inputs that have one, which must
// agree at the end.
package arith
