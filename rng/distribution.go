package rng

import (
	"math"
	"math/bits"
	"strconv"
)

// Float32 returns a number in [0, 1), a multiple of 2^-24; it takes one word.
func (p *Philox) Float32() float32 { return float32(p.Uint32()>>8) * 0x1p-24 }

// Float64 returns a number in [0, 1), a multiple of 2^-53; it takes two words.
func (p *Philox) Float64() float64 { return float64(p.Uint64()>>11) * 0x1p-53 }

// Uniform returns a number in [lo, hi), or lo if they are equal. It takes two words. lo must not be
// above hi.
func (p *Philox) Uniform(lo, hi float64) float64 {
	x := lo + float64((hi-lo)*p.Float64())
	if x >= hi && hi > lo { // because of rounding
		return math.Nextafter(hi, lo)
	}
	return x
}

// Bool returns true with the given probability. It takes two words.
func (p *Philox) Bool(probability float64) bool { return p.Float64() < probability }

// Normal returns a number from the standard normal distribution, by the method of Box and Muller.
// It takes four words.
func (p *Philox) Normal() float64 {
	u := 1 - p.Float64() // (0, 1]
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*p.Float64())
}

// Intn returns an integer in [0, n). All integers are equally likely. It uses multiplication and
// rejection (Lemire 2019), and takes two words, rarely more. It panics if n < 1.
func (p *Philox) Intn(n int) int {
	if n < 1 {
		panic("rng: Intn(" + strconv.Itoa(n) + ")")
	}
	bound := uint64(n)
	hi, lo := bits.Mul64(p.Uint64(), bound)
	if lo < bound {
		for threshold := -bound % bound; lo < threshold; {
			hi, lo = bits.Mul64(p.Uint64(), bound)
		}
	}
	return int(hi)
}
