package libstdcxx

import (
	"math"

	"github.com/bivouac-ml/bivouac/rng"
)

// SeedSeq is a std::seed_seq, as the words that it was made from. As in C++, only the low 32 bits
// of longer integers count.
type SeedSeq []uint32

// Generate fills dst with words mixed from all of s, by [rand.util.seedseq] of the C++ standard.
// Equal sequences give equal words. Every word also depends on the length of dst.
func (s SeedSeq) Generate(dst []uint32) {
	n := len(dst)
	if n == 0 {
		return
	}
	for i := range dst {
		dst[i] = 0x8b8b8b8b
	}
	t := tempering(n)
	p := (n - t) / 2
	q := p + t
	m := max(len(s)+1, n)
	mix := func(x uint32) uint32 { return x ^ x>>27 }
	for k := range m {
		i, ip, iq, before := k%n, (k+p)%n, (k+q)%n, (k+n-1)%n
		r1 := 1664525 * mix(dst[i]^dst[ip]^dst[before])
		r2 := r1 + uint32(i)
		switch {
		case k == 0:
			r2 = r1 + uint32(len(s))
		case k <= len(s):
			r2 += s[k-1]
		}
		dst[ip] += r1
		dst[iq] += r2
		dst[i] = r2
	}
	for k := m; k < m+n; k++ {
		i, ip, iq, before := k%n, (k+p)%n, (k+q)%n, (k+n-1)%n
		r3 := 1566083941 * mix(dst[i]+dst[ip]+dst[before])
		r4 := r3 - uint32(i)
		dst[ip] ^= r3
		dst[iq] ^= r4
		dst[i] = r4
	}
}

// tempering returns t of the standard: the distance between the two words that a step changes
// besides its own word.
func tempering(n int) int {
	switch {
	case n >= 623:
		return 11
	case n >= 68:
		return 7
	case n >= 39:
		return 5
	case n >= 7:
		return 3
	}
	return (n - 1) / 2
}

// Words makes a Philox a Source of 32-bit words. DALI feeds the distributions of its CPU operators
// in this way.
type Words struct{ Philox *rng.Philox }

// Next implements Source; it takes one word.
func (w Words) Next() uint64 { return uint64(w.Philox.Uint32()) }

// Bounds implements Source: all 32-bit words.
func (w Words) Bounds() (lo, hi uint64) { return 0, 1<<32 - 1 }

// UniformInt works like the function UniformInt with w as the source. It avoids the allocation of a
// Philox in an interface. b must not be below a.
func (w Words) UniformInt(a, b int32) int32 {
	n := uint32(b) - uint32(a) + 1
	if n == 0 { // all 32-bit integers
		return a + int32(w.Philox.Uint32())
	}
	product := uint64(w.Philox.Uint32()) * uint64(n)
	for low := uint32(product); low < n && low < -n%n; low = uint32(product) {
		product = uint64(w.Philox.Uint32()) * uint64(n)
	}
	return a + int32(product>>32)
}

// UniformReal works like the function UniformReal with w as the source. It avoids the same
// allocation.
func (w Words) UniformReal(a, b float32) float32 {
	x := min(float32(w.Philox.Uint32())*0x1p-32, math.Nextafter32(1, 0))
	return float32(x*(b-a)) + a
}
