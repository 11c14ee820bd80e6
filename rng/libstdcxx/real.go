package libstdcxx

import (
	"math"
	"sort"
)

// Float is a type of real numbers, float or double in C++.
type Float interface{ ~float32 | ~float64 }

// Canonical returns a number in [0, 1), as std::generate_canonical with all bits
// of T does. It takes as many numbers of the engine as fill those bits: for
// float64 two of a 32-bit engine, else one.
func Canonical[T Float](g Source) T {
	lo, hi := g.Bounds()
	digits, below := 24, float64(math.Nextafter32(1, 0))
	if isDouble[T]() {
		digits, below = 53, math.Nextafter(1, 0)
	}
	size := float64(hi-lo) + 1 // 2^64 for an engine of 64 bits
	whole := int(math.Log2(size))
	if size < math.Ldexp(1, whole) { // Log2 may round up
		whole--
	}
	var sum T
	scale := T(1)
	for k := (digits + whole - 1) / whole; k > 0; k-- {
		sum += T(T(g.Next()-lo) * scale)
		scale = T(float64(scale) * size)
	}
	if x := sum / scale; x < 1 {
		return x
	}
	return T(below)
}

func isDouble[T Float]() bool {
	const odd = 1<<24 + 1 // the first integer that float32 has not
	one := T(1)
	return T(odd)-T(odd-1) == one
}

// UniformReal returns a number in [a, b), or b by rounding, as
// std::uniform_real_distribution does.
func UniformReal[T Float](g Source, a, b T) T { return T(Canonical[T](g)*(b-a)) + a }

// Bernoulli returns true with that probability, as std::bernoulli_distribution
// does.
func Bernoulli(g Source, probability float64) bool { return Canonical[float64](g) < probability }

// Discrete is std::discrete_distribution: the numbers from 0, each with a
// probability of its own. It is immutable and safe for concurrent use. The zero
// Discrete always returns 0.
type Discrete struct{ cumulative []float64 }

// NewDiscrete returns the distribution of weights that are not negative and not
// all zero; they need not sum to 1. With fewer than two weights it always returns
// 0 and takes no numbers.
func NewDiscrete(weights []float64) Discrete {
	if len(weights) < 2 {
		return Discrete{}
	}
	total := 0.0
	for _, w := range weights {
		total += w
	}
	cumulative := make([]float64, len(weights))
	sum := 0.0
	for i, w := range weights {
		sum += w / total
		cumulative[i] = sum
	}
	cumulative[len(weights)-1] = 1
	return Discrete{cumulative: cumulative}
}

// Next returns the index of a weight.
func (d Discrete) Next(g Source) int {
	if d.cumulative == nil {
		return 0
	}
	return sort.SearchFloat64s(d.cumulative, Canonical[float64](g))
}
