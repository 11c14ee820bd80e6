// Package crc is CRC-32C (Castagnoli) with the arithmetic that saves second
// passes over data.
//
// The checksum is the one of OCDBT, of zarr's crc32c codec and of the
// manifests: polynomial 0x1edc6f41, reflected, initial value and final xor all
// ones, no masking; "123456789" gives 0xe3069283.
//
// A checksum is linear: the CRC of A followed by B follows from the CRCs of A
// and B and the length of B alone. So each byte is read once, while it is
// copied, and the checksums of parameters and files are combined from those of
// their parts.
package crc

import "hash/crc32"

// Tile is the most bytes that Copy moves before it checksums them: small enough
// to stay in the cache, and to keep every call of memmove and of the checksum
// loop short, since neither can be preempted.
const Tile = 128 << 10

// polynomial is Castagnoli's, reflected.
const polynomial = crc32.Castagnoli

var table = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the CRC-32C of p.
func Sum(p []byte) uint32 { return Update(0, p) }

// fetch is how much is brought into the cache before it is checksummed. The
// checksum loop reads three streams side by side, which memory serves at half
// the speed of one.
const fetch = 16 << 10

// line is the size of a cache line, at most.
const line = 64

// Update returns the CRC-32C of the bytes whose checksum is sum followed by p.
// Update(0, p) is Sum(p).
func Update(sum uint32, p []byte) uint32 {
	if len(p) <= Tile { // what was just moved, mostly
		return crc32.Update(sum, table, p)
	}
	for len(p) > fetch {
		touch(p[:fetch])
		sum = crc32.Update(sum, table, p[:fetch])
		p = p[fetch:]
	}
	return crc32.Update(sum, table, p)
}

// touch reads a byte of each cache line, one after the other.
//
//go:noinline
func touch(p []byte) (sum byte) {
	for i := 0; i < len(p); i += line {
		sum += p[i]
	}
	return sum
}

// Copy copies src to dst, which must be at least as long, and returns the
// CRC-32C of src. The slices must not overlap. It panics if dst is shorter.
func Copy(dst, src []byte) uint32 {
	dst = dst[:len(src)]
	var sum uint32
	for len(src) > 0 {
		n := min(len(src), Tile)
		copy(dst, src[:n])
		sum = crc32.Update(sum, table, dst[:n])
		dst, src = dst[n:], src[n:]
	}
	return sum
}

// Combine returns the CRC-32C of A followed by B, given the CRC-32C of each and
// the length of B in bytes, which must not be negative.
func Combine(a, b uint32, lenB int64) uint32 {
	return multiply(shift(lenB), a) ^ b
}

// Zeros returns the CRC-32C of n zero bytes, n ≥ 0, in logarithmic time. With
// Combine it accounts for gaps and padding.
func Zeros(n int64) uint32 {
	return ^multiply(shift(n), ^uint32(0))
}

// one is the polynomial 1 in reflected order: the highest bit is the constant
// coefficient.
const one = uint32(1) << 31

// multiply returns a·b modulo the polynomial.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := one; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			if a&(bit-1) == 0 {
				break
			}
		}
		if b&1 != 0 {
			b = b>>1 ^ polynomial
		} else {
			b >>= 1
		}
	}
	return product
}

// squares[k] is x^(8·2^k) modulo the polynomial.
var squares = func() (s [63]uint32) {
	s[0] = one >> 8
	for k := 1; k < len(s); k++ {
		s[k] = multiply(s[k-1], s[k-1])
	}
	return s
}()

// shift returns x^(8n) modulo the polynomial: the factor by which n bytes that
// follow move a checksum.
func shift(n int64) uint32 {
	factor := one
	for k := 0; n > 0; n, k = n>>1, k+1 {
		if n&1 != 0 {
			factor = multiply(squares[k], factor)
		}
	}
	return factor
}
