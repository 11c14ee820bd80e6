package numpy

import "math/bits"

// PCG64 is the generator PCG XSL RR 128/64, numpy.random.PCG64. It is a value: a copy continues
// independently with the same words. The zero PCG64 is not seeded.
type PCG64 struct{ state, inc uint128 }

type uint128 struct{ hi, lo uint64 }

func (x uint128) add(y uint128) uint128 {
	lo, carry := bits.Add64(x.lo, y.lo, 0)
	hi, _ := bits.Add64(x.hi, y.hi, carry)
	return uint128{hi, lo}
}

func (x uint128) mul(y uint128) uint128 {
	hi, lo := bits.Mul64(x.lo, y.lo)
	return uint128{hi + x.hi*y.lo + x.lo*y.hi, lo}
}

// pcgMultiplier is the factor of one step.
func pcgMultiplier() uint128 { return uint128{2549297995355413924, 4865540595714422341} }

// NewPCG64 returns the generator of a seed, PCG64(seed).
func NewPCG64(seed uint64) PCG64 {
	return PCG64Of(NewSeedSequence(uint32(seed), uint32(seed>>32)))
}

// PCG64Of returns the generator that a seed sequence gives, PCG64(sequence).
func PCG64Of(s SeedSequence) PCG64 {
	var words [4]uint64
	s.Generate64(words[:])
	p := PCG64{inc: uint128{words[2]<<1 | words[3]>>63, words[3]<<1 | 1}}
	p.step()
	p.state = p.state.add(uint128{words[0], words[1]})
	p.step()
	return p
}

// MakePCG64 returns the generator with the given state. Each number of the state is given as its
// high and its low half. The increment is made odd.
func MakePCG64(state, inc [2]uint64) PCG64 {
	return PCG64{state: uint128{state[0], state[1]}, inc: uint128{inc[0], inc[1] | 1}}
}

// State returns the two numbers of bit_generator.state, as high and low halves.
func (p PCG64) State() (state, inc [2]uint64) {
	return [2]uint64{p.state.hi, p.state.lo}, [2]uint64{p.inc.hi, p.inc.lo}
}

func (p *PCG64) step() { p.state = p.state.mul(pcgMultiplier()).add(p.inc) }

// Uint64 returns the next word.
func (p *PCG64) Uint64() uint64 {
	p.step()
	return bits.RotateLeft64(p.state.hi^p.state.lo, -int(p.state.hi>>58))
}

// Advance skips n words, like PCG64.advance(n), in at most 64 steps for any n.
func (p *PCG64) Advance(n uint64) {
	times, plus := uint128{0, 1}, uint128{}
	factor, term := pcgMultiplier(), p.inc
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			times = times.mul(factor)
			plus = plus.mul(factor).add(term)
		}
		term = factor.add(uint128{0, 1}).mul(term)
		factor = factor.mul(factor)
	}
	p.state = times.mul(p.state).add(plus)
}
