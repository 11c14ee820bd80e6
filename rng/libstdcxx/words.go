package libstdcxx

import (
	"math"

	"github.com/bivouac-ml/bivouac/rng"
)

// Words makes a Source of 32-bit words of a Philox, as DALI feeds the
// distributions of its CPU operators.
type Words struct{ Philox *rng.Philox }

// Next implements Source; it takes one word.
func (w Words) Next() uint64 { return uint64(w.Philox.Uint32()) }

// Bounds implements Source: all 32-bit words.
func (w Words) Bounds() (lo, hi uint64) { return 0, 1<<32 - 1 }

// UniformInt works like the function UniformInt for these words, without the memory that a Philox
// in an interface takes. b must not be below a.
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

// UniformReal is the function of that name for these words, likewise.
func (w Words) UniformReal(a, b float32) float32 {
	x := min(float32(w.Philox.Uint32())*0x1p-32, math.Nextafter32(1, 0))
	return float32(x*(b-a)) + a
}
