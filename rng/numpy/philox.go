package numpy

import "math/bits"

// Philox is the generator Philox4x64-10, numpy.random.Philox. It is a value: a copy continues
// independently with the same words. The zero Philox has key 0.
type Philox struct {
	key     [2]uint64
	counter [4]uint64 // of the block in words; the first block has counter 1
	words   [4]uint64
	used    int
	ready   bool
}

// NewPhilox returns Philox(key=key), at its first word.
func NewPhilox(key uint64) Philox { return Philox{key: [2]uint64{key, 0}} }

// SeedPhilox returns Philox(seed). Its key comes from SeedSequence(seed).
func SeedPhilox(seed uint32) Philox {
	var p Philox
	NewSeedSequence(seed).Generate64(p.key[:])
	return p
}

// At returns the generator with the given counter and no words left in its block.
func (p Philox) At(counter [4]uint64) Philox { return Philox{key: p.key, counter: counter} }

const (
	philoxMul0  = 0xD2E7470EE14C6C93
	philoxMul1  = 0xCA5A826395121157
	philoxWeyl0 = 0x9E3779B97F4A7C15
	philoxWeyl1 = 0xBB67AE8584CAA73B
)

func philoxBlock(key [2]uint64, c [4]uint64) [4]uint64 {
	for range 10 {
		hi0, lo0 := bits.Mul64(philoxMul0, c[0])
		hi1, lo1 := bits.Mul64(philoxMul1, c[2])
		c = [4]uint64{hi1 ^ c[1] ^ key[0], lo1, hi0 ^ c[3] ^ key[1], lo0}
		key[0] += philoxWeyl0
		key[1] += philoxWeyl1
	}
	return c
}

// Uint64 returns the next word.
func (p *Philox) Uint64() uint64 {
	if !p.ready || p.used == len(p.words) {
		p.skip(1)
		p.words, p.used, p.ready = philoxBlock(p.key, p.counter), 0, true
	}
	w := p.words[p.used]
	p.used++
	return w
}

// Advance skips n blocks of four words and drops the rest of the current block, like
// Philox.advance(n), in constant time.
func (p *Philox) Advance(n uint64) {
	p.skip(n)
	p.ready = false
}

func (p *Philox) skip(n uint64) {
	for i := range p.counter {
		p.counter[i], n = bits.Add64(p.counter[i], n, 0)
	}
}
