// Package crc computes CRC-32C (Castagnoli), and combines checksums so that data is read only once.
//
// The checksum is the one that is used by OCDBT, by zarr's crc32c codec and by the manifests:
// polynomial 0x1edc6f41, reflected, initial value and final xor all ones, no masking; "123456789"
// gives 0xe3069283.
//
// A checksum is linear: the CRC of A followed by B follows from the CRCs of A and B and the length
// of B alone. So each byte is read once, while it is copied, and the checksums of parameters and
// files are combined from the checksums of their parts.
package crc

import "github.com/bivouac-ml/bivouac/internal/kernel/castagnoli"

// Tile is the number of bytes that stay in the cache between two passes over them.
const Tile = castagnoli.Tile

// Sum returns the CRC-32C of p.
func Sum(p []byte) uint32 { return Update(0, p) }

// Update returns the CRC-32C of the bytes whose checksum is sum followed by p.
// Update(0, p) is Sum(p).
func Update(sum uint32, p []byte) uint32 { return castagnoli.Update(sum, p) }

// Copy copies src to dst, which must be at least as long, and returns the
// CRC-32C of src. The slices must not overlap. It panics if dst is shorter.
func Copy(dst, src []byte) uint32 {
	return castagnoli.Copy(0, dst[:len(src)], src)
}

// Combine returns the CRC-32C of A followed by B, given the CRC-32C of each and
// the length of B in bytes, which must not be negative.
func Combine(a, b uint32, lenB int64) uint32 {
	return castagnoli.Multiply(shift(lenB), a) ^ b
}

// Zeros returns the CRC-32C of n zero bytes, n ≥ 0, in logarithmic time. With
// Combine it accounts for gaps and padding.
func Zeros(n int64) uint32 {
	return ^castagnoli.Multiply(shift(n), ^uint32(0))
}

// squares[k] is x^(8·2^k) modulo the polynomial.
var squares = func() (s [63]uint32) {
	s[0] = castagnoli.One >> 8
	for k := 1; k < len(s); k++ {
		s[k] = castagnoli.Multiply(s[k-1], s[k-1])
	}
	return s
}()

// shift returns x^(8n) modulo the polynomial: the factor by which n following bytes move a
// checksum.
func shift(n int64) uint32 {
	factor := castagnoli.One
	for k := 0; n > 0; n, k = n>>1, k+1 {
		if n&1 != 0 {
			factor = castagnoli.Multiply(squares[k], factor)
		}
	}
	return factor
}
