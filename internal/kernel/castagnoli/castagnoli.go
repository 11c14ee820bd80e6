// Package castagnoli is the inner loop of CRC-32C.
//
// The definition is hash/crc32. On amd64 the package also has assembly, which
// tools/kernels/castagnoli generates. The assembly folds with PCLMULQDQ or VPCLMULQDQ beside the
// CRC32 instruction, which is up to 1.7 times as fast as the instruction alone. With the build tag
// purego only hash/crc32 is left.
package castagnoli

import "hash/crc32"

// Polynomial is Castagnoli's polynomial without its leading term, reflected: bit 31-i is the
// coefficient of x^i.
const Polynomial = crc32.Castagnoli

var table = crc32.MakeTable(Polynomial)

// Update returns the CRC-32C of the bytes whose checksum is sum followed by p.
func Update(sum uint32, p []byte) uint32 { return update(sum, p) }

// Tile is the most bytes that Copy moves before it takes their checksum. It is small enough to stay
// in the cache and to keep every call of memmove and of the checksum loop short, because neither
// can be preempted.
const Tile = 128 << 10

// Copy copies src to dst, which has the same length and does not overlap it, and returns the
// CRC-32C of the bytes whose checksum is sum followed by src. Long copies go past the cache where
// the processor can.
func Copy(sum uint32, dst, src []byte) uint32 { return copyAll(sum, dst, src) }

func copyGeneric(sum uint32, dst, src []byte) uint32 {
	for len(src) > 0 {
		n := min(len(src), Tile)
		copy(dst, src[:n])
		sum = update(sum, dst[:n])
		dst, src = dst[n:], src[n:]
	}
	return sum
}

// fetch is how many bytes updateGeneric brings into the cache before it takes their checksum.
const fetch = 16 << 10

// line is the size of a cache line, at most.
const line = 64

// updateGeneric is Update by hash/crc32, which reads three streams side by side. Memory serves
// three streams at half the speed of one.
func updateGeneric(sum uint32, p []byte) uint32 {
	if len(p) <= 8*fetch { // short inputs were mostly just moved and are in the cache
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

// One is the polynomial 1.
const One = uint32(1) << 31

// Multiply returns a·b modulo the polynomial; both are reflected.
func Multiply(a, b uint32) uint32 {
	var product uint32
	for bit := One; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
			if a&(bit-1) == 0 {
				break
			}
		}
		if b&1 != 0 {
			b = b>>1 ^ Polynomial
		} else {
			b >>= 1
		}
	}
	return product
}
