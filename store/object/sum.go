package object

// combine returns the CRC-32C of two pieces of bytes, one after the other, of their sums and the
// length of the second. A sum is a polynomial over the field of two elements; length bytes more
// multiply it by x^(8·length) modulo the polynomial of the code.
func combine(first, second uint32, length int64) uint32 {
	factor, square := uint32(1)<<31, uint32(1)<<23 // 1, and x^8; the highest bit is the constant
	for n := length; n > 0; n >>= 1 {
		if n&1 == 1 {
			factor = multiply(factor, square)
		}
		square = multiply(square, square)
	}
	return multiply(factor, first) ^ second
}

// multiply returns the product of two polynomials modulo the polynomial of CRC-32C, lowest power in
// the highest bit.
func multiply(a, b uint32) uint32 {
	const polynomial = 0x82F63B78
	product := uint32(0)
	for ; a != 0; a <<= 1 {
		if a>>31 == 1 {
			product ^= b
		}
		low := b & 1
		b >>= 1
		if low == 1 {
			b ^= polynomial
		}
	}
	return product
}
