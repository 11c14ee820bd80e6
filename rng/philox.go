package rng

import "math/bits"

// Philox is the generator Philox4x32-10. It is a value: a copy continues independently with the
// same numbers. It must not be used by several goroutines at once. The zero Philox has key 0 and is
// at the beginning.
type Philox struct {
	key   uint64
	block uint64 // low half of the counter
	seq   uint64 // high half
	words [4]uint32
	phase uint8 // index of the next word
	ready bool  // words belong to the counter
	own   bool  // of a Keyer of Bivouac: says how normal numbers are rounded
}

// NewPhilox returns the generator of a key that is offset words from the start of a sequence.
// Different sequences of a key do not overlap within 2^66 words.
func NewPhilox(key, sequence, offset uint64) Philox {
	return Philox{key: key, seq: sequence, block: offset >> 2, phase: uint8(offset & 3)}
}

const (
	mul0  = 0xD2511F53
	mul1  = 0xCD9E8D57
	weyl0 = 0x9E3779B9
	weyl1 = 0xBB67AE85
)

// Block returns the four words of Philox4x32-10 for a key and a counter. Both begin with their
// lowest word.
func Block(key [2]uint32, counter [4]uint32) [4]uint32 {
	k0, k1 := key[0], key[1]
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	for range 10 {
		p0 := uint64(mul0) * uint64(c0)
		p1 := uint64(mul1) * uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// Uint32 returns the next word.
func (p *Philox) Uint32() uint32 {
	if !p.ready {
		p.fill()
	}
	w := p.words[p.phase&3]
	if p.phase++; p.phase == 4 {
		p.phase = 0
		p.step(1)
	}
	return w
}

func (p *Philox) fill() {
	p.words = Block(
		[2]uint32{uint32(p.key), uint32(p.key >> 32)},
		[4]uint32{uint32(p.block), uint32(p.block >> 32), uint32(p.seq), uint32(p.seq >> 32)})
	p.ready = true
}

// step moves the counter by n blocks.
func (p *Philox) step(n uint64) {
	var carry uint64
	p.block, carry = bits.Add64(p.block, n, 0)
	p.seq += carry
	p.ready = false
}

// Skip skips n words, in constant time.
func (p *Philox) Skip(n uint64) {
	phase := uint64(p.phase) + n&3
	p.step(n>>2 + phase>>2)
	p.phase = uint8(phase & 3)
}

// Sequence returns the number of the sequence, the high half of the counter.
func (p *Philox) Sequence() uint64 { return p.seq }

// SkipSequence skips n sequences and stays at the same word.
func (p *Philox) SkipSequence(n uint64) {
	p.seq += n
	p.ready = false
}

// Since returns how many words p is further on than q. ok is false if their keys differ, if p is
// before q, or if there are more than 2^60 words between them.
func (p Philox) Since(q Philox) (words uint64, ok bool) {
	blocks, borrow := bits.Sub64(p.block, q.block, 0)
	high, _ := bits.Sub64(p.seq, q.seq, borrow)
	words = blocks<<2 + uint64(p.phase) - uint64(q.phase)
	near := high == 0 && blocks <= 1<<58 && (blocks > 0 || p.phase >= q.phase)
	return words, near && p.key == q.key && words <= 1<<60
}

// Branch returns the generator at the same place under another key, which differs from p's key in
// the bits of salt. It is for an operator that draws twice from one stream.
func (p Philox) Branch(salt uint64) Philox {
	p.key ^= salt
	p.ready = false
	return p
}

// Uint64 returns the next two words; the first word is the low half. It makes *Philox a Source of
// math/rand/v2.
func (p *Philox) Uint64() uint64 {
	lo := p.Uint32()
	return uint64(p.Uint32())<<32 | uint64(lo)
}
