package torchdata

import (
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/compat/torchdata/internal/leap"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// DefaultSeed is the seed of a torch.Generator() that was given none.
const DefaultSeed = 67280421310721

// Generator is torch's generator on CPUs: a Mersenne twister of 32-bit words,
// with the seed it began with. Make it with NewGenerator. It is a value: a copy
// goes on by itself with the same numbers. It is not safe for concurrent use.
type Generator struct {
	seed   uint64
	engine libstdcxx.MT19937
	fresh  bool           // seeded, and no word drawn: the state has another form then
	normal [tailSize]byte // what randn keeps: in the state, but of no use here
}

// NewGenerator returns torch.Generator().manual_seed(seed). Only the low 32 bits
// of the seed enter the numbers; all are in the state. Negative seeds of Python
// are uint64(seed).
func NewGenerator(seed uint64) Generator {
	return Generator{seed: seed, engine: libstdcxx.NewMT19937(seed), fresh: true}
}

// Seed returns the seed it began with, torch's initial_seed.
func (g *Generator) Seed() uint64 { return g.seed }

// Uint32 returns the next word.
func (g *Generator) Uint32() uint32 {
	g.fresh = false
	return uint32(g.engine.Next())
}

// Uint64 returns the next two words, the first of them on top.
func (g *Generator) Uint64() uint64 {
	high := g.Uint32()
	return uint64(high)<<32 | uint64(g.Uint32())
}

// Int63 returns what torch.empty((), dtype=torch.int64).random_() gives: 63 bits
// of two words.
func (g *Generator) Int63() int64 { return int64(g.Uint64() &^ (1 << 63)) }

// Float64 returns a number of [0, 1) as torch.rand has it in double precision: 53
// bits of two words.
func (g *Generator) Float64() float64 { return float64(g.Uint64()&(1<<53-1)) * 0x1p-53 }

// Float32 returns a number of [0, 1) as torch.rand has it in single precision: 24
// bits of a word.
func (g *Generator) Float32() float32 { return float32(g.Uint32()&(1<<24-1)) * 0x1p-24 }

// wideRange is the range from which torch.randint draws two words: 2^28 since
// torch 2.x, 2^32 before.
const wideRange = 1 << 28

// Int63n returns what torch.randint(n, …) gives for an element of type int64:
// one word modulo n, two from 2^28 on. It returns 0, of a word, for n below 1.
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

// wordsOfInt63n is how many words Int63n takes.
func wordsOfInt63n(n int64) uint64 {
	if n < wideRange {
		return 1
	}
	return 2
}

// leapFrom is the number of words from which a leap takes less time than passing
// over them.
const leapFrom = 1 << 23

// Discard passes over that many words, 624 of them in about the time that 300 of
// Uint32 take, and any number in some ten milliseconds.
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

// words returns the words of the engine and how many of them are used up.
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

// setWords is the reverse of words; used is at most leap.Size.
func (g *Generator) setWords(x *[leap.Size]uint32, used uint32) {
	b := make([]byte, 0, 4*(leap.Size+1))
	for _, word := range x {
		b = binary.LittleEndian.AppendUint32(b, word)
	}
	if err := g.engine.UnmarshalBinary(binary.LittleEndian.AppendUint32(b, used)); err != nil {
		panic(err) // used is out of range
	}
}
