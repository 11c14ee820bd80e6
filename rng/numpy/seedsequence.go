package numpy

// SeedSequence makes the state of generators from a seed. It is numpy.random.SeedSequence without
// children.
type SeedSequence struct{ pool [4]uint32 }

const (
	seedInitA = 0x43b0d7e5
	seedMultA = 0x931e8875
	seedInitB = 0x8b51f9dd
	seedMultB = 0x58f38ded
	seedMixL  = 0xca01f9dd
	seedMixR  = 0x4973f715
)

// NewSeedSequence returns the sequence of a non-negative seed of any size. The words of the seed
// begin with the lowest word. As in NumPy, zero words above the highest nonzero word do not count.
func NewSeedSequence(seed ...uint32) SeedSequence {
	for len(seed) > 0 && seed[len(seed)-1] == 0 {
		seed = seed[:len(seed)-1]
	}
	var s SeedSequence
	factor := uint32(seedInitA)
	hash := func(word uint32) uint32 {
		word ^= factor
		factor *= seedMultA
		word *= factor
		return word ^ word>>16
	}
	for i := range s.pool {
		word := uint32(0)
		if i < len(seed) {
			word = seed[i]
		}
		s.pool[i] = hash(word)
	}
	for from := range s.pool {
		for to := range s.pool {
			if from != to {
				s.mix(to, hash(s.pool[from]))
			}
		}
	}
	for i := len(s.pool); i < len(seed); i++ {
		for to := range s.pool {
			s.mix(to, hash(seed[i]))
		}
	}
	return s
}

func (s *SeedSequence) mix(to int, word uint32) {
	x := seedMixL*s.pool[to] - seedMixR*word
	s.pool[to] = x ^ x>>16
}

// Generate32 fills dst with generate_state(len(dst), uint32).
func (s SeedSequence) Generate32(dst []uint32) {
	factor := uint32(seedInitB)
	for i := range dst {
		word := s.pool[i%len(s.pool)] ^ factor
		factor *= seedMultB
		word *= factor
		dst[i] = word ^ word>>16
	}
}

// Generate64 fills dst with generate_state(len(dst), uint64).
func (s SeedSequence) Generate64(dst []uint64) {
	words := make([]uint32, 2*len(dst))
	s.Generate32(words)
	for i := range dst {
		dst[i] = uint64(words[2*i]) | uint64(words[2*i+1])<<32
	}
}
