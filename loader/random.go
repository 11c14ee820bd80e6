package loader

import (
	"github.com/bivouac-ml/bivouac/rng"
)

// Random generates the random numbers of one sample. They are keyed by the seed, the position of
// the sample in the stream, a name and the number of the call:
//
//	flip := r.Stream("flip")
//	if flip.Bool(0.5) { … }
//
// So the augmentation of a sample does not depend on the number of workers or ranks, the size of
// batches, or interruptions. It differs in every epoch. Random is a value and safe for concurrent
// use.
type Random struct {
	keyer rng.Keyer
	pos   int64
}

// NewRandom returns the random numbers of a position (>= 0) under a seed.
func NewRandom(seed uint64, pos int64) Random { return Random{rng.NewKeyer(seed), pos} }

// Stream returns the numbers for a purpose. Numbers of different names are independent.
func (r Random) Stream(name string) rng.Philox { return r.Call(name, 0) }

// Call works like Stream, for purposes that occur several times in a sample.
func (r Random) Call(name string, call uint32) rng.Philox {
	if r.keyer == nil {
		r.keyer = rng.NewKeyer(0)
	}
	return r.keyer.Stream(r.pos, 0, rng.NodeKey(name), call)
}

// seedNode is rng.NodeKey("seed").
const seedNode = 0xca50c1e15658b219

// Seed returns a seed for generators of another kind: the first number of Stream("seed"). A loader
// in Python seeds the generators of Python, numpy and torch with it.
func (r Random) Seed() uint64 {
	if r.keyer == nil {
		r.keyer = rng.NewKeyer(0)
	}
	s := r.keyer.Stream(r.pos, 0, seedNode, 0)
	return s.Uint64()
}

// Position returns the position of the sample in the stream.
func (r Random) Position() int64 { return r.pos }
