package numpy

import (
	"math"
	"math/bits"

	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// Bits is a generator of 64-bit words: *PCG64 or *Philox.
type Bits interface {
	Uint64() uint64
}

// Generator draws like numpy.random.Generator. Between two 32-bit draws it keeps half a word.
// 64-bit draws do not change it.
type Generator struct {
	bits Bits
	half uint32
	held bool
}

// NewGenerator returns Generator(b). The generator advances b itself.
func NewGenerator(b Bits) *Generator { return &Generator{bits: b} }

// DefaultRNG returns numpy.random.default_rng(seed).
func DefaultRNG(seed uint64) *Generator {
	p := NewPCG64(seed)
	return NewGenerator(&p)
}

// Uint64 returns the next word.
func (g *Generator) Uint64() uint64 { return g.bits.Uint64() }

// Uint32 returns the low half of the next word, then its high half.
func (g *Generator) Uint32() uint32 {
	if g.held {
		g.held = false
		return g.half
	}
	w := g.bits.Uint64()
	g.half, g.held = uint32(w>>32), true
	return uint32(w)
}

// Float64 returns random(): a multiple of 2^-53 in [0, 1).
func (g *Generator) Float64() float64 { return float64(g.bits.Uint64()>>11) * (1.0 / (1 << 53)) }

// Uniform returns uniform(low, high).
func (g *Generator) Uniform(low, high float64) float64 {
	return low + float64((high-low)*g.Float64()) // rounded twice: never fused
}

// Integers returns integers(low, high): a number in [low, high). low must be below high. Otherwise,
// where NumPy raises an error, Integers returns low and draws nothing.
func (g *Generator) Integers(low, high int64) int64 {
	if low >= high {
		return low
	}
	return low + int64(g.Bounded(uint64(high)-uint64(low)-1))
}

// Bounded returns a number in [0, most], as integers with an int64 result does.
// It draws nothing if most is 0.
func (g *Generator) Bounded(most uint64) uint64 {
	switch {
	case most == 0:
		return 0
	case most < math.MaxUint32:
		return uint64(g.bounded32(uint32(most)))
	case most == math.MaxUint32:
		return uint64(g.Uint32())
	case most == math.MaxUint64:
		return g.Uint64()
	}
	return g.bounded64(most)
}

func (g *Generator) bounded32(most uint32) uint32 {
	n := uint64(most) + 1
	m := uint64(g.Uint32()) * n
	if uint64(uint32(m)) < n {
		for threshold := (math.MaxUint32 - most) % uint32(n); uint32(m) < threshold; {
			m = uint64(g.Uint32()) * n
		}
	}
	return uint32(m >> 32)
}

func (g *Generator) bounded64(most uint64) uint64 {
	n := most + 1
	hi, lo := bits.Mul64(g.Uint64(), n)
	if lo < n {
		for threshold := (math.MaxUint64 - most) % n; lo < threshold; {
			hi, lo = bits.Mul64(g.Uint64(), n)
		}
	}
	return hi
}

// Interval returns a number in [0, most], drawn as in shuffle: it masks words until one is small
// enough. It draws nothing if most is 0.
func (g *Generator) Interval(most uint64) uint64 { return interval(g, most) }

// words is a source of 32-bit and 64-bit words for interval.
type words interface {
	Uint32() uint32
	Uint64() uint64
}

func interval[W words](w W, most uint64) uint64 {
	if most == 0 {
		return 0
	}
	mask := uint64(1)<<bits.Len64(most) - 1
	for {
		var word uint64
		if most <= math.MaxUint32 {
			word = uint64(w.Uint32())
		} else {
			word = w.Uint64()
		}
		if word &= mask; word <= most {
			return word
		}
	}
}

// Shuffle shuffles s like NumPy's shuffle. Lists and arrays of one dimension draw the same numbers.
func Shuffle[T any](g *Generator, s []T) { shuffle(g, s) }

func shuffle[W words, T any](w W, s []T) {
	for i := len(s) - 1; i > 0; i-- {
		j := interval(w, uint64(i))
		s[i], s[j] = s[j], s[i]
	}
}

// Permutation returns permutation(n): 0 to n-1 shuffled. n must not be negative.
func (g *Generator) Permutation(n int64) []int64 {
	p := identity(n)
	Shuffle(g, p)
	return p
}

func identity(n int64) []int64 {
	p := make([]int64, n)
	for i := range p {
		p[i] = int64(i)
	}
	return p
}

// Choice returns choice(n, k, replace=False): k different numbers of [0, n).
// It returns nil unless 0 <= k <= n.
func (g *Generator) Choice(n, k int64) []int64 {
	if k < 0 || k > n {
		return nil
	}
	if n > 10000 && k > n/50 {
		all := identity(n)
		g.settle(all, int(max(n-k, 1)))
		return append([]int64(nil), all[n-k:]...)
	}
	chosen, seen := make([]int64, 0, k), make(map[int64]bool, k) // Floyd's algorithm
	for j := n - k; j < n; j++ {
		v := int64(g.Bounded(uint64(j)))
		if seen[v] {
			v = j
		}
		seen[v] = true
		chosen = append(chosen, v)
	}
	g.settle(chosen, 1)
	return chosen
}

// settle shuffles s, with bounded integers, until its elements from first on are final.
func (g *Generator) settle(s []int64, first int) {
	for i := len(s) - 1; i >= first; i-- {
		j := g.Bounded(uint64(i))
		s[i], s[j] = s[j], s[i]
	}
}

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
