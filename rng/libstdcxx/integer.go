package libstdcxx

import (
	"math"
	"math/bits"
)

// UniformInt returns an integer from a to b, both included, like std::uniform_int_distribution of
// GCC 11 and later. Numbers of engines that yield all 32-bit or all 64-bit words are scaled down by
// multiplication and rejection (Lemire 2019). Numbers of other engines are scaled down by division.
// A range larger than the engine's range takes several numbers. b must not be below a.
func UniformInt(g Source, a, b int64) int64 { return a + int64(uniform(g, uint64(b)-uint64(a), true)) }

// UniformIntGCC10 works like UniformInt up to GCC 10, with division for every engine.
func UniformIntGCC10(g Source, a, b int64) int64 {
	return a + int64(uniform(g, uint64(b)-uint64(a), false))
}

// uniform returns a number from 0 to last.
func uniform(g Source, last uint64, multiply bool) uint64 {
	lo, hi := g.Bounds()
	span := hi - lo
	switch {
	case span == last:
		return g.Next() - lo
	case span < last:
		return scaleUp(g, span, last, multiply)
	case multiply && span == math.MaxUint64:
		return multiply64(g, last+1)
	case multiply && span == math.MaxUint32:
		return uint64(multiply32(g, uint32(last+1)))
	}
	n := last + 1
	size := span / n
	for {
		if x := g.Next() - lo; x < n*size {
			return x / size
		}
	}
}

func multiply32(g Source, n uint32) uint32 {
	product := g.Next() * uint64(n)
	if low := uint32(product); low < n {
		for threshold := -n % n; low < threshold; low = uint32(product) {
			product = g.Next() * uint64(n)
		}
	}
	return uint32(product >> 32)
}

func multiply64(g Source, n uint64) uint64 {
	high, low := bits.Mul64(g.Next(), n)
	if low < n {
		for threshold := -n % n; low < threshold; {
			high, low = bits.Mul64(g.Next(), n)
		}
	}
	return high
}

// scaleUp combines a high part, which is drawn first, with one number of the engine. It repeats
// this until the result does not exceed last.
func scaleUp(g Source, span, last uint64, multiply bool) uint64 {
	lo, _ := g.Bounds()
	n := span + 1
	for {
		high := n * uniform(g, last/n, multiply)
		if x := high + (g.Next() - lo); x <= last && x >= high {
			return x
		}
	}
}

// Shuffle permutes s like std::shuffle of GCC 11 and later. If the square of the length is within
// the range of the engine, one number gives the places of two elements.
func Shuffle[S ~[]E, E any](g Source, s S) { shuffle(g, s, true) }

// ShuffleGCC10 works like Shuffle from GCC 7 to GCC 10, with the integers of UniformIntGCC10.
func ShuffleGCC10[S ~[]E, E any](g Source, s S) { shuffle(g, s, false) }

func shuffle[S ~[]E, E any](g Source, s S, multiply bool) {
	n := uint64(len(s))
	if n < 2 { // libstdc++ also draws nothing for one element
		return
	}
	lo, hi := g.Bounds()
	if (hi-lo)/n < n {
		for i := uint64(1); i < n; i++ {
			j := uniform(g, i, multiply)
			s[i], s[j] = s[j], s[i]
		}
		return
	}
	i := uint64(1)
	if n%2 == 0 {
		j := uniform(g, 1, multiply)
		s[1], s[j] = s[j], s[1]
		i = 2
	}
	for ; i < n; i += 2 {
		both := uniform(g, (i+1)*(i+2)-1, multiply)
		j, k := both/(i+2), both%(i+2)
		s[i], s[j] = s[j], s[i]
		s[i+1], s[k] = s[k], s[i+1]
	}
}
