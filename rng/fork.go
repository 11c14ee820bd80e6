package rng

// ForkWords is the number of words that Fork takes.
const ForkWords = 7

// Fork takes ForkWords words of p and returns the generator that their bytes, the
// lowest of a word first, are the state of: 8 bytes of key, 8 of block, 8 of
// sequence, and one of which the low two bits are the phase; three are spare. It
// is how DALI's dynamic mode gives a call of an operator its numbers.
func (p *Philox) Fork() Philox {
	key, block, sequence := p.Uint64(), p.Uint64(), p.Uint64()
	return Philox{key: key, seq: sequence, block: block, phase: uint8(p.Uint32() & 3)}
}

// sampleStride is the number of sequences between the samples of a batch.
const sampleStride = 65537

// Forked is the Keyer of one call of an operator with a generator of its own: the
// samples of its batch lie 65537 sequences apart, as in DALI, and neither position
// nor node counts. It is a value; Stream leaves it as it is.
type Forked struct{ Start Philox }

// Stream implements Keyer.
func (f Forked) Stream(_ int64, slot int, _ uint64, _ uint32) Philox {
	p := f.Start
	p.SkipSequence(uint64(slot) * sampleStride)
	return p
}

// Canonical returns p without the words that it keeps ready, so that generators that
// stand at the same place are equal by ==.
func (p Philox) Canonical() Philox {
	p.words, p.ready = [4]uint32{}, false
	return p
}
