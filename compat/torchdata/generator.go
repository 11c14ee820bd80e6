package torchdata

import (
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/compat/torchdata/internal/leap"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// DefaultSeed is the seed of a torch.Generator() without a seed.
const DefaultSeed = 67280421310721

// Generator is torch's generator on CPUs: a Mersenne twister of 32-bit words, and the seed with
// which it began. Make it with NewGenerator. It is a value: a copy continues separately with the
// same numbers. It is not safe for concurrent use.
type Generator struct {
	seed   uint64
	engine libstdcxx.MT19937
	fresh  bool           // seeded and no word drawn; the state then has another form
	normal [tailSize]byte // state of randn, which is kept but not used here
}

// NewGenerator returns torch.Generator().manual_seed(seed). Only the low 32 bits of the seed affect
// the numbers; the state has all bits. A negative seed of Python is uint64(seed).
func NewGenerator(seed uint64) Generator {
	return Generator{seed: seed, engine: libstdcxx.NewMT19937(seed), fresh: true}
}

// Seed returns the seed with which the generator began, torch's initial_seed.
func (g *Generator) Seed() uint64 { return g.seed }

// Uint32 returns the next word.
func (g *Generator) Uint32() uint32 {
	g.fresh = false
	return uint32(g.engine.Next())
}

// Uint64 returns the next two words. The first word is the upper half.
func (g *Generator) Uint64() uint64 {
	high := g.Uint32()
	return uint64(high)<<32 | uint64(g.Uint32())
}

// Int63 returns the value of torch.empty((), dtype=torch.int64).random_(): 63 bits of two words.
func (g *Generator) Int63() int64 { return int64(g.Uint64() &^ (1 << 63)) }

// Float64 returns a number in [0, 1) as torch.rand does in double precision: 53 bits of two words.
func (g *Generator) Float64() float64 { return float64(g.Uint64()&(1<<53-1)) * 0x1p-53 }

// Float32 returns a number in [0, 1) as torch.rand does in single precision: 24 bits of a word.
func (g *Generator) Float32() float32 { return float32(g.Uint32()&(1<<24-1)) * 0x1p-24 }

// wideRange is the range from which torch.randint draws two words: 2^28 since
// torch 2.x, 2^32 before.
const wideRange = 1 << 28

// Int63n returns the value of torch.randint(n, …) for an element of type int64: one word modulo n,
// or two words from 2^28 on. For n < 1 it draws a word and returns 0.
func (g *Generator) Int63n(n int64) int64 {
	switch {
	case n < 1:
		g.Uint32()
		return 0
	case n < wideRange:
		return int64(g.Uint32()) % n
	default:
		return int64(g.Uint64() % uint64(n))
	}
}

// wordsOfInt63n returns the number of words that Int63n draws.
func wordsOfInt63n(n int64) uint64 {
	if n < wideRange {
		return 1
	}
	return 2
}

// leapFrom is the number of words from which on a leap takes less time than drawing them.
const leapFrom = 1 << 23

// Discard skips the given number of words. 624 words take about the time of 300 calls of Uint32,
// and any number of words takes about ten milliseconds at most.
func (g *Generator) Discard(words uint64) {
	if words == 0 {
		return
	}
	g.fresh = false
	if words < leapFrom {
		g.engine.Discard(words)
		return
	}
	x, used := g.words()
	blocks := words / leap.Size
	if used += uint32(words % leap.Size); used > leap.Size {
		blocks, used = blocks+1, used-leap.Size
	}
	leap.Blocks(&x, blocks)
	g.setWords(&x, used)
}

// words returns the words of the engine and how many of them were used.
func (g *Generator) words() (x [leap.Size]uint32, used uint32) {
	b, err := g.engine.MarshalBinary()
	if err != nil {
		panic(err) // cannot happen
	}
	for i := range x {
		x[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return x, binary.LittleEndian.Uint32(b[4*leap.Size:])
}

// setWords is the inverse of words. used is at most leap.Size.
func (g *Generator) setWords(x *[leap.Size]uint32, used uint32) {
	b := make([]byte, 0, 4*(leap.Size+1))
	for _, word := range x {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	if err := g.engine.UnmarshalBinary(binary.LittleEndian.AppendUint32(b, used)); err != nil {
		panic(err) // used is out of range
	}
}
