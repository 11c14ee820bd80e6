package order

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/bivouac-ml/bivouac/internal/kernel/feistel"
	"github.com/bivouac-ml/bivouac/rng"
)

// roundsFor returns the number of rounds of the Feistel network for indices of the given number of
// bits. From 7 bits on, only the test of differences of neighbours tells six rounds from
// Fisher-Yates, and no test of this package tells eight rounds from it. Halves of three bits or
// fewer have few functions and need more rounds: with 32 rounds all n! permutations of n <= 8 are
// equally likely.
func roundsFor(bits uint) int {
	switch {
	case bits <= 4:
		return maxRounds
	case bits <= 6:
		return 16
	default:
		return 8
	}
}

const maxRounds = 32

// Permutation is a keyed bijection of [0, n). It is computed and not stored: any index can be
// mapped, forward and back, in constant time and memory. It is immutable.
//
// It is a Feistel network over two halves of an index. The right half has s bits, and the left half
// is a number modulo ceil(n / 2^s). A result of n or more goes through the network again until it
// is below n ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA
// 2002). This is rare, because the network permutes fewer than n + 2^s indices and s is half the
// bits of an index. Each round can be undone, so the network is a bijection for every n.
//
//	index   left<<s | right   b = bits(n-1), s = b/2; 1 for n <= 16, 32 for n > 2^62
//	round   left = (left + F(right)*m >> 32) mod m, where m = ceil(n / 2^s)
//	        right ^= low s bits of F(left)
//	        in turn; 8 rounds, 16 for n <= 64, 32 for n <= 16
//	F(x)    h = (x ^ k) * m;  h = (h ^ h>>32) * C;  bits 32 to 63 of h
//
// The 64-bit k and the odd m of each round come from the key and from n, so permutations of
// different lengths share nothing. It is a shuffle and not a cipher: the key can be found from
// enough of the permutation.
//
// In version 1 both halves have whole bits, s = b - b/2, and both kinds of rounds use xor. Just
// above a power of two, version 1 takes two passes on average.
type Permutation struct {
	version   int
	n         int64
	key       uint64
	radix     uint64 // of the left half
	rmask     uint64
	rightBits uint
	rounds    int
	round     [maxRounds]feistel.Round
}

// NewPermutation returns the permutation of [0, n) that belongs to key. Key makes a key. The
// permutation is empty if n < 1.
func NewPermutation(n int64, key uint64) *Permutation {
	p := makePermutation(Version, n, key)
	return &p
}

func makePermutation(version int, n int64, key uint64) Permutation {
	b := uint(0)
	if n > 1 {
		b = uint(bits.Len64(uint64(n - 1)))
	}
	p := Permutation{version: version, n: max(n, 0), key: key, rounds: roundsFor(b)}
	x := rng.Mix(key)
	if version > 1 {
		p.rightBits = rightBits(b)
		p.radix = (uint64(p.n) + 1<<p.rightBits - 1) >> p.rightBits
		x = rng.Mix(x ^ rng.Mix(uint64(p.n)))
	} else {
		p.rightBits = b - b/2
		p.radix = 1 << (b / 2)
	}
	p.rmask = 1<<p.rightBits - 1
	for i := range p.rounds {
		p.round[i] = feistel.Round{K: rng.Mix(x + uint64(2*i)), M: rng.Mix(x+uint64(2*i+1)) | 1}
	}
	return p
}

// rightBits returns the number of bits of the right half of an index of b bits. A right half of one
// bit also gives odd permutations. Longer halves may give only even ones, which shows if n is
// small.
func rightBits(b uint) uint {
	switch {
	case b <= 4:
		return min(b/2, 1)
	case b == 63:
		return 32 // so that the left half stays within feistel.MaxRadix
	default:
		return b / 2
	}
}

// Key hashes the inputs of an order: the seed of the run, the epoch, and a domain that keeps orders
// for different purposes apart. Runs with neighbouring seeds share no epochs. With seed + epoch as
// the key they would.
//
// The result is output number epoch+1 of a SplitMix64 generator. The generator starts at the first
// eight bytes, little-endian, of SHA-256("bivouac.order.v1" seed domain), with seed in eight bytes.
func Key(seed uint64, epoch int64, domain string) uint64 {
	return epochKey(base(seed, domain), epoch)
}

func base(seed uint64, domain string) uint64 {
	b := binary.LittleEndian.AppendUint64([]byte("bivouac.order.v1"), seed)
	sum := sha256.Sum256(append(b, domain...))
	return binary.LittleEndian.Uint64(sum[:])
}

func epochKey(base uint64, epoch int64) uint64 {
	const golden = 0x9E3779B97F4A7C15 // the step of SplitMix64's sequence
	return rng.Mix(base + uint64(epoch)*golden)
}

// forward is one pass through the network.
func (p *Permutation) forward(x uint64) uint64 {
	l, r := x>>(p.rightBits&63), x&p.rmask
	if p.version == 1 {
		for rs := p.round[:p.rounds]; len(rs) >= 2; rs = rs[2:] {
			l ^= rs[0].Of(r) & (p.radix - 1)
			r ^= rs[1].Of(l) & p.rmask
		}
	} else {
		for rs := p.round[:p.rounds]; len(rs) >= 2; rs = rs[2:] {
			l = rs[0].Add(l, r, p.radix)
			r ^= rs[1].Of(l) & p.rmask
		}
	}
	return l<<(p.rightBits&63) | r
}

// backward is the inverse of forward.
func (p *Permutation) backward(x uint64) uint64 {
	l, r := x>>(p.rightBits&63), x&p.rmask
	for rs := p.round[:p.rounds]; len(rs) >= 2; rs = rs[:len(rs)-2] {
		r ^= rs[len(rs)-1].Of(l) & p.rmask
		if p.version == 1 {
			l ^= rs[len(rs)-2].Of(r) & (p.radix - 1)
		} else {
			l = rs[len(rs)-2].Sub(l, r, p.radix)
		}
	}
	return l<<(p.rightBits&63) | r
}

// At returns the id at position i. It panics if i is not in [0, n).
func (p *Permutation) At(i int64) int64 {
	p.check(i)
	x := p.forward(uint64(i))
	for x >= uint64(p.n) {
		x = p.forward(x)
	}
	return int64(x)
}

// Inverse returns the position of id: Inverse(At(i)) == i. It panics if id is not in [0, n).
func (p *Permutation) Inverse(id int64) int64 {
	p.check(id)
	x := p.backward(uint64(id))
	for x >= uint64(p.n) {
		x = p.backward(x)
	}
	return int64(x)
}

func (p *Permutation) check(i int64) {
	if i < 0 || i >= p.n {
		panic(fmt.Sprintf("order: index %d out of range of a permutation of %d", i, p.n))
	}
}

// walkBlock is the number of indices that Fill maps together. It is large enough for the loops to
// pay off, and small enough for the first cache of the processor.
const walkBlock = 256

// Fill implements Order. It is several times faster than At, because it maps the indices of a block
// in parallel.
func (p *Permutation) Fill(pos int64, dst []int64) int {
	if pos < 0 || pos >= p.n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), p.n-pos)]
	for done := 0; done < len(dst); done += walkBlock {
		p.fillBlock(pos+int64(done), dst[done:min(done+walkBlock, len(dst))])
	}
	return len(dst)
}

// fillBlock maps at most walkBlock indices. It gathers results outside [0, n) without a branch,
// which would be mispredicted, and sends them through the network again. Above version 1 most
// blocks have no such results.
func (p *Permutation) fillBlock(pos int64, dst []int64) {
	for i := range dst {
		dst[i] = pos + int64(i)
	}
	p.forwardAll(dst)
	outside := uint64(0)
	for _, x := range dst {
		outside |= uint64(p.n) - 1 - uint64(x) // the highest bit is set where x >= n
	}
	if outside>>63 == 0 {
		return
	}
	var places [walkBlock]uint8
	var walkers [walkBlock]int64
	count := 0
	for i, x := range dst {
		places[count&(walkBlock-1)], walkers[count&(walkBlock-1)] = uint8(i), x
		count += beyond(uint64(x), p.n)
	}
	for count > 0 {
		p.forwardAll(walkers[:count])
		again := 0
		for i, x := range walkers[:count] {
			place := places[i]
			dst[place] = x
			places[again], walkers[again] = place, x
			again += beyond(uint64(x), p.n)
		}
		count = again
	}
}

// forwardAll applies forward to each element of x, in place.
func (p *Permutation) forwardAll(x []int64) {
	if p.version == 1 {
		feistel.Map(x, p.round[:p.rounds], p.rightBits, p.radix-1, p.rmask)
	} else {
		feistel.MapMixed(x, p.round[:p.rounds], p.rightBits, p.radix)
	}
}

// beyond returns 1 if x >= n, else 0. Both must be below 2^63.
func beyond(x uint64, n int64) int {
	return int((uint64(n) - 1 - x) >> 63)
}

// Len implements Order.
func (p *Permutation) Len() (n int64, ok bool) { return p.n, true }

// String implements Order.
func (p *Permutation) String() string {
	return fmt.Sprintf("permutation(v%d n=%d key=%016x)", p.version, p.n, p.key)
}
