package grain

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/libstdcxx"
)

// DefaultRounds is the number of rounds with which Grain's data sets shuffle.
const DefaultRounds = 4

// Permutation is the order of n samples from index_shuffle. It is immutable.
type Permutation struct {
	n    int64
	word int // bits of half a block
	keys []uint32
}

// NewPermutation returns the permutation of n >= 1 samples. The error is of kind
// errs.Invalid unless rounds is an even number from 4 to 1024, as in Grain.
func NewPermutation(n int64, seed uint32, rounds int) (*Permutation, error) {
	if n < 1 {
		return nil, invalid("grain.NewPermutation", "at least 1 sample", fmt.Sprint(n))
	}
	if rounds < 4 || rounds > 1024 || rounds%2 != 0 {
		return nil, invalid("grain.NewPermutation", "an even number of rounds from 4 to 1024", fmt.Sprint(rounds))
	}
	p := makePermutation(n, seed, make([]uint32, rounds))
	return &p, nil
}

// makePermutation fills keys, one for each round, and keeps the slice.
func makePermutation(n int64, seed uint32, keys []uint32) Permutation {
	libstdcxx.SeedSeq{seed}.Generate(keys)
	block := int(math.Ceil(math.Log2(float64(max(n-1, 1)))))
	return Permutation{n: n, word: max(block+block%2, 16) / 2, keys: keys}
}

// At returns the sample at an index in [0, n).
func (p *Permutation) At(index int64) int64 {
	if p.n == 1 {
		return 0
	}
	mask := uint64(1)<<p.word - 1
	for x := uint64(index); ; {
		left, right := x>>p.word&mask, x&mask
		for i := 0; i < len(p.keys); i += 2 {
			left ^= p.mangle(right, mask) ^ uint64(p.keys[i])&mask
			right ^= p.mangle(left, mask) ^ uint64(p.keys[i+1])&mask
		}
		if x = left<<p.word | right; x < uint64(p.n) {
			return int64(x)
		}
	}
}

// mangle is the function of a round of the cipher Simon.
func (p *Permutation) mangle(x, mask uint64) uint64 {
	rotated := func(by int) uint64 { return (x<<by | x>>(p.word-by)) & mask }
	return rotated(1)&rotated(8) ^ rotated(2)
}

// Bijective reports whether every sample comes once. It is false if the last index needs one bit
// more than a block has.
func (p *Permutation) Bijective() bool { return bits.Len64(uint64(p.n-1)) <= 2*p.word }

// IndexShuffle is Grain's index_shuffle: the sample at an index of the permutation of most+1
// samples. For several samples, make a Permutation. The error is of kind errs.Invalid if Grain
// refuses the arguments.
func IndexShuffle(index, most int64, seed uint32, rounds int) (int64, error) {
	if index < 0 || index > most || most == math.MaxInt64 {
		return 0, invalid("grain.IndexShuffle", fmt.Sprintf("an index from 0 to %d", most), fmt.Sprint(index))
	}
	p, err := NewPermutation(most+1, seed, rounds)
	if err != nil {
		return 0, err
	}
	return p.At(index), nil
}

func invalid(op, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Want: want, Got: got}
}
