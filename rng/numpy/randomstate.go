package numpy

import "github.com/bivouac-ml/bivouac/rng/libstdcxx"

// RandomState is NumPy's legacy generator, numpy.random.RandomState(seed): the Mersenne Twister,
// seeded as in C++. It cannot skip words.
type RandomState struct{ engine libstdcxx.MT19937 }

// NewRandomState returns RandomState(seed).
func NewRandomState(seed uint32) *RandomState {
	return &RandomState{engine: libstdcxx.NewMT19937(uint64(seed))}
}

// Uint32 returns the next word.
func (r *RandomState) Uint32() uint32 { return uint32(r.engine.Next()) }

// Uint64 returns the next two words, the first one high.
func (r *RandomState) Uint64() uint64 {
	hi := uint64(r.Uint32())
	return hi<<32 | uint64(r.Uint32())
}

// Interval returns a number in [0, most], as [Generator.Interval] does.
func (r *RandomState) Interval(most uint64) uint64 { return interval(r, most) }

// Permutation returns permutation(n). n must not be negative.
func (r *RandomState) Permutation(n int64) []int64 {
	p := identity(n)
	shuffle(r, p)
	return p
}
