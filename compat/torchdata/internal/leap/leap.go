// Package leap takes the Mersenne twister mt19937 over any number of its words in
// some milliseconds.
//
// Its step is linear over the field of two elements, and so its words obey a
// recurrence, of the characteristic polynomial of degree 19937 that the step has:
// n steps are the same as the sum of those numbers of steps that are the exponents
// in the remainder of x^n modulo that polynomial (Haramoto, Matsumoto, Nishimura,
// Panneton and L'Ecuyer, "Efficient jump ahead for F2-linear random number
// generators", INFORMS Journal on Computing 20, 2008).
package leap

import "math/bits"

// Size is the number of words of mt19937.
const Size = 624

// MaxBlocks is the most that Blocks passes over.
const MaxBlocks = (1<<64 - 1) / Size

// Blocks replaces the words x by those that n renewals of all of them give, each
// of Size steps; n is at most MaxBlocks. The result is equal in all bits, also in
// the 31 of the first word which have no part in what follows.
func Blocks(x *[Size]uint32, n uint64) {
	if n == 0 {
		return
	}
	// The sum of steps does not tell the unused bits. One renewal is left to do.
	if n > 1 {
		steps(x, power((n-1)*Size))
	}
	var next [2 * Size]uint32
	copy(next[:], x[:])
	extend(next[:])
	copy(x[:], next[Size:])
}

// steps replaces x by the sum of the words after as many steps as p has exponents.
func steps(x *[Size]uint32, p polynomial) {
	words := make([]uint32, degree+Size)
	copy(words, x[:])
	extend(words)
	var sum [Size]uint32
	for i, w := range p {
		for ; w != 0; w &= w - 1 {
			from := 64*i + bits.TrailingZeros64(w)
			for k, word := range words[from : from+Size] {
				sum[k] ^= word
			}
		}
	}
	*x = sum
}

// extend makes all words that follow the first Size.
func extend(words []uint32) {
	const far = 397
	for i := Size; i < len(words); i++ {
		y := words[i-Size]&(1<<31) | words[i-Size+1]&(1<<31-1)
		words[i] = words[i-Size+far] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
}
