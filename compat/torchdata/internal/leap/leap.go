// Package leap moves the Mersenne twister mt19937 over any number of words in a few milliseconds.
//
// The step of the twister is linear over the field of two elements, so its words obey a recurrence.
// The characteristic polynomial of the step has degree 19937. The exponents in the remainder of x^n
// modulo this polynomial are numbers of steps, and the sum of the states after these steps is the
// state after n steps (Haramoto, Matsumoto, Nishimura, Panneton and L'Ecuyer, "Efficient jump ahead
// for F2-linear random number generators", INFORMS Journal on Computing 20, 2008).
package leap

import "math/bits"

// Size is the number of words of mt19937.
const Size = 624

// MaxBlocks is the largest number of blocks that Blocks can skip.
const MaxBlocks = (1<<64 - 1) / Size

// Blocks replaces the words x by the words after n renewals of all of them, each of Size steps. n
// is at most MaxBlocks. The result is equal in all bits, including the 31 bits of the first word
// that do not affect later words.
func Blocks(x *[Size]uint32, n uint64) {
	if n == 0 {
		return
	}
	// The sum of steps does not give the unused bits, so one renewal is left to do.
	if n > 1 {
		steps(x, power((n-1)*Size))
	}
	var next [2 * Size]uint32
	copy(next[:], x[:])
	extend(next[:])
	copy(x[:], next[Size:])
}

// steps replaces x by the sum of the words after each number of steps that is an exponent of p.
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

// extend computes all words that follow the first Size words.
func extend(words []uint32) {
	const far = 397
	for i := Size; i < len(words); i++ {
		y := words[i-Size]&(1<<31) | words[i-Size+1]&(1<<31-1)
		words[i] = words[i-Size+far] ^ y>>1 ^ -(y&1)&0x9908b0df
	}
}
