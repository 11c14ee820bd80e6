package rng

// ForkWords is the number of words that Fork takes.
const ForkWords = 7

// Fork takes ForkWords words of p and returns a generator. The bytes of the words, the lowest of a
// word first, are its state: 8 bytes of key, 8 of block, 8 of sequence, and 1 whose low two bits
// are the phase; 3 bytes are spare. DALI's dynamic mode makes the generator of an operator call in
// this way.
func (p *Philox) Fork() Philox {
	key, block, sequence := p.Uint64(), p.Uint64(), p.Uint64()
	return Philox{key: key, seq: sequence, block: block, phase: uint8(p.Uint32() & 3)}
}

// sampleStride is the number of sequences between the samples of a batch.
const sampleStride = 65537

// Forked is the Keyer of one operator call that has its own generator: the samples of its batch lie
// 65537 sequences apart, as in DALI, and neither position nor node counts. It is a value; Stream
// does not change it.
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
