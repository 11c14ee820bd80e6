package rng

import (
	"crypto/sha256"
	"encoding/binary"
)

// Keyer assigns a stream to each random decision.
type Keyer interface {
	// Stream returns the generator for a position in the delivered stream (>= 0), the slot of this
	// sample in its batch, a node of the pipeline (see NodeKey) and the number of the call within the
	// node. Only keyers that imitate other systems use the slot. Stream returns a value, allocates
	// nothing and is safe for concurrent use.
	Stream(pos int64, slot int, node uint64, call uint32) Philox
}

// NodeKey hashes the name of a node: the first eight bytes of its SHA-256, little-endian. Keys
// depend on names, not on creation order, so that a new node does not change the numbers of other
// nodes.
func NodeKey(name string) uint64 {
	sum := sha256.Sum256([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}

// NewKeyer returns the Keyer of a seed. The package comment describes it.
func NewKeyer(seed uint64) Keyer { return keyer{seed: Mix(seed)} }

type keyer struct{ seed uint64 } // after Mix

func (k keyer) Stream(pos int64, _ int, node uint64, call uint32) Philox {
	// With a fixed seed, the key is a bijection of the node. With a fixed node, it is a bijection of
	// the seed.
	return Philox{key: Mix(k.seed ^ node), seq: uint64(pos), block: uint64(call) << 32, own: true}
}

// Mix is a bijection of 64-bit words. Each bit of x changes about half of the bits of the result.
// It is the output function of SplitMix64 (Steele, Lea and Flood 2014) after one step of its
// sequence.
func Mix(x uint64) uint64 {
	x += 0x9E3779B97F4A7C15
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// ForkWords is the number of words that Fork takes.
const ForkWords = 7

// Fork takes ForkWords words of p and returns a generator. The little-endian bytes of the words are
// its state: 8 bytes of key, 8 of block, 8 of sequence, and 1 byte whose low two bits are the
// phase. 3 bytes are not used. DALI's dynamic mode makes the generator of an operator call in this
// way.
func (p *Philox) Fork() Philox {
	key, block, sequence := p.Uint64(), p.Uint64(), p.Uint64()
	return Philox{key: key, seq: sequence, block: block, phase: uint8(p.Uint32() & 3)}
}

// sampleStride is the number of sequences between the samples of a batch.
const sampleStride = 65537

// Forked is the Keyer of one operator call that has its own generator. The samples of its batch lie
// 65537 sequences apart, as in DALI. Position and node have no effect. It is a value; Stream does
// not change it.
type Forked struct{ Start Philox }

// Stream implements Keyer.
func (f Forked) Stream(_ int64, slot int, _ uint64, _ uint32) Philox {
	p := f.Start
	p.SkipSequence(uint64(slot) * sampleStride)
	return p
}

// Canonical returns p without its buffered words, so that generators at the same place are equal by
// ==.
func (p Philox) Canonical() Philox {
	p.words, p.ready = [4]uint32{}, false
	return p
}
