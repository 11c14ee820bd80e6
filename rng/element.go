package rng

import (
	"math"

	"github.com/bivouac-ml/bivouac/internal/libm"
)

// elementStride is the number of words between the elements of a tensor.
const elementStride = 257

// Element returns the generator of an element of a tensor whose generator is p. Operators use it to
// draw each element independently. The elements lie 257 words apart. An element that takes more
// words reuses words of the next element. DALI arranges elements in the same way.
func Element(p Philox, element int) Philox {
	p.Skip(uint64(element) * elementStride)
	return p
}

// Uniform32 returns a float32 from start to end, without end; end may be lower than start.
// Operators draw float32 and integers of up to 16 bits with it, as DALI does. It takes one word.
func Uniform32(p *Philox, start, end float32) float32 {
	lo, hi := start, math.Nextafter32(end, start)
	if lo > hi {
		lo, hi = hi, lo
	}
	factor := (hi - lo) * 0x1p-32
	return min(fma32(float32(p.Uint32()), factor, lo), hi)
}

// Uniform64 works like Uniform32 in float64, for float64 and integers of 32 and 64 bits. It takes
// two words, the low word first.
func Uniform64(p *Philox, start, end float64) float64 {
	lo, hi := start, math.Nextafter(end, start)
	if lo > hi {
		lo, hi = hi, lo
	}
	factor := (hi - lo) * 0x1p-64
	return min(math.FMA(float64(p.Uint64()), factor, lo), hi)
}

// Index returns a number below n, to pick among n values. All numbers are nearly equally likely. It
// takes one word.
func Index(p *Philox, n uint32) uint32 { return uint32(uint64(p.Uint32()) * uint64(n) >> 32) }

// Flip returns true with the given probability, with an error of up to 2^-32. It takes one word.
// The word 0 gives true even with probability 0.
func Flip(p *Philox, probability float32) bool {
	threshold := uint32(math.MaxUint32)
	if t := probability * 0x1p32; t < 0x1p32 {
		threshold = uint32(max(t, 0))
	}
	return p.Uint32() <= threshold
}

// Normal32 returns a number from a normal distribution by the method of Box and Muller, for float32
// and for integers of up to 16 bits. It takes two words. Logarithm and cosine are glibc's, as in
// DALI. Generators of NewKeyer round them to the nearest float32 instead, as they did before
// glibc's were known here, because a job must find the same numbers when it goes on.
func Normal32(p *Philox, mean, stddev float32) float32 {
	u, v := float32(p.Uint32())*0x1p-32, float32(p.Uint32())*0x1p-32
	if u == 0 {
		if u, v = v, u; u == 0 {
			u = 1e-30
		}
	}
	angle := float32(2*math.Pi) * v
	log, cos := float32(0), float32(0)
	if p.own {
		log, cos = float32(math.Log(float64(u))), float32(math.Cos(float64(angle)))
	} else {
		log, cos = libm.Log(u), libm.Cos(angle)
	}
	return fma32(float32(math.Sqrt(float64(-2*log)))*cos, stddev, mean)
}

// Normal64 works like Normal32 in float64, for float64 and integers of 32 and 64 bits. It takes
// four words. Logarithm and cosine are the nearest float64, which glibc's nearly always are. For
// generators of NewKeyer the functions of package math are taken.
func Normal64(p *Philox, mean, stddev float64) float64 {
	u, v := float64(p.Uint64())*0x1p-64, float64(p.Uint64())*0x1p-64
	if u == 0 {
		if u, v = v, u; u == 0 {
			const tiny = float32(1e-30)
			u = float64(tiny)
		}
	}
	angle := 2 * math.Pi * v
	log, cos := 0.0, 0.0
	if p.own {
		log, cos = math.Log(u), math.Cos(angle)
	} else {
		log, cos = libm.Log64(u), libm.Cos64(angle)
	}
	return math.FMA(math.Sqrt(-2*log)*cos, stddev, mean)
}

// fma32 returns a*b + c, rounded once. The product is exact in float64. The sum is rounded to odd
// in float64, so that rounding it to float32 gives the same result as rounding the exact sum (Boldo
// and Melquiond 2008).
func fma32(a, b, c float32) float32 {
	x, y := float64(a)*float64(b), float64(c)
	sum := x + y
	t := sum - x
	lost := (x - (sum - t)) + (y - t)
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 && !math.IsInf(sum, 0) && !math.IsNaN(lost) {
		if (lost > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
