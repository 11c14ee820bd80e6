package rng

import (
	"crypto/sha256"
	"encoding/binary"
)

// Keyer gives each random decision its own stream.
type Keyer interface {
	// Stream returns the generator for a position in the delivered stream (>= 0),
	// the slot of its batch that it takes, a node of the pipeline (see NodeKey) and
	// the number of the call within it. Only keyers that imitate other systems look
	// at the slot. It returns a value, allocates nothing and is safe for concurrent use.
	Stream(pos int64, slot int, node uint64, call uint32) Philox
}

// NodeKey hashes the name of a node: the first eight bytes of its SHA-256,
// little-endian. Keying by name, not by creation order, keeps the numbers of all
// other nodes when one is added.
func NodeKey(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}

// NewKeyer returns the Keyer of a seed, as the package comment describes it.
func NewKeyer(seed uint64) Keyer { return keyer{seed: Mix(seed)} }

type keyer struct{ seed uint64 } // mixed

func (k keyer) Stream(pos int64, _ int, node uint64, call uint32) Philox {
	// For one seed the key is a bijection of the node, for one node of the seed.
	return Philox{key: Mix(k.seed ^ node), seq: uint64(pos), block: uint64(call) << 32}
}

// Mix is a bijection of 64-bit words in which each bit of x moves half of the
// result: the output function of SplitMix64 (Steele, Lea and Flood 2014) after
// one step of its sequence.
func Mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

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
