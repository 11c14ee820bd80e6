// Package feistel is the inner loop of shuffles. It applies Feistel networks to the halves of many
// indices at a time.
//
// An index is left<<shift | right, with both halves below 2^32. A round changes one half by a hash
// of the other half:
//
//	F(x)      h = (x ^ K) * M;  h = (h ^ h>>32) * 0x94D049BB133111EB;  bits 32 to 63 of h
//	Map       left ^= F(right) & lmask;            then right ^= F(left) & rmask; …
//	MapMixed  left = (left + f) mod radix, where f = F(right)*radix >> 32;
//	          then right ^= F(left) & rmask; …
//
// Map permutes [0, 2^bits). MapMixed permutes [0, radix<<shift). The end of this range can be
// chosen just above any number n, so that results for n samples are seldom out of range.
//
// The definition is in Go. On amd64 the package also has AVX2 and AVX-512 assembly, which
// tools/kernels/feistel generates and which gives the same bits. With the build tag purego only the
// Go code is left.
package feistel

// Round is the key of a round.
type Round struct{ K, M uint64 }

// Of returns the 32 bits of the round function F.
func (r *Round) Of(half uint64) uint64 {
	h := (half ^ r.K) * r.M
	return (h ^ h>>32) * mixer >> 32
}

const mixer = 0x94D049BB133111EB

// MaxRadix is the largest radix of MapMixed: the sum of two left halves fits 32 bits.
const MaxRadix = 1 << 31

// Add returns left + F(right) modulo radix, for a left half below radix.
func (r *Round) Add(left, right, radix uint64) uint64 {
	left += r.Of(right) * radix >> 32
	return min(left, left-radix) // left - radix wraps around if left is smaller
}

// Sub is the inverse of Add.
func (r *Round) Sub(left, right, radix uint64) uint64 {
	left -= r.Of(right) * radix >> 32
	return min(left, left+radix)
}

// Map maps indices in place, each below lmask<<shift | rmask, through an even number of rounds.
// lmask and rmask are the masks of the halves. shift is the number of bits of the right half.
func Map(x []int64, rounds []Round, shift uint, lmask, rmask uint64) {
	if len(rounds) < 2 {
		return
	}
	mapAll(x, rounds, shift, lmask, rmask)
}

// MapMixed maps indices in place, each below radix<<shift, through an even number of
// rounds. The radix of the left half is at most MaxRadix; shift, at most 32, is the
// number of bits of the right half.
func MapMixed(x []int64, rounds []Round, shift uint, radix uint64) {
	if len(rounds) < 2 {
		return
	}
	mixedAll(x, rounds, shift, radix, 1<<(shift&63)-1)
}

// mapGeneric takes all indices through two rounds at a time. The rounds of different indices are
// independent, so the processor runs them in parallel.
func mapGeneric(x []int64, rounds []Round, shift uint, lmask, rmask uint64) {
	shift &= 63
	for ; len(rounds) >= 2; rounds = rounds[2:] {
		a, b := rounds[0], rounds[1]
		for i, v := range x {
			l, r := uint64(v)>>shift, uint64(v)&rmask
			l ^= a.Of(r) & lmask
			r ^= b.Of(l) & rmask
			x[i] = int64(l<<shift | r)
		}
	}
}

// mixedGeneric does the same as mapGeneric for MapMixed.
func mixedGeneric(x []int64, rounds []Round, shift uint, radix, rmask uint64) {
	shift &= 63
	for ; len(rounds) >= 2; rounds = rounds[2:] {
		a, b := rounds[0], rounds[1]
		for i, v := range x {
			l, r := uint64(v)>>shift, uint64(v)&rmask
			l = a.Add(l, r, radix)
			r ^= b.Of(l) & rmask
			x[i] = int64(l<<shift | r)
		}
	}
}
