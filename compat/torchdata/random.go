package torchdata

import (
	"crypto/sha256"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// RandomOptions describe a RandomSampler.
type RandomOptions struct {
	// N is the length of the data set, 1 to MaxSamples.
	N int64
	// Generator is what the first epoch begins with; none is that of DefaultSeed.
	// It is copied.
	Generator *Generator
	// Replacement draws each sample from all of the data set.
	Replacement bool
	// NumSamples is the length of an epoch, 1 to MaxSamples; 0 is N. Without
	// replacement, one permutation follows the other if it is above N.
	NumSamples int64
	// Torch makes it the sampler of torch.utils.data with a generator: at the end
	// of each epoch it draws one more permutation, of which it takes the samples
	// that are missing, be it none. That of torchdata draws what it needs, with
	// replacement in chunks of 32.
	Torch bool
}

// Random is the order of a RandomSampler. It is immutable and safe for concurrent
// use.
type Random struct {
	n, num      int64
	replacement bool
	torch       bool
	words       *stream
	epochWords  uint64
	perm        last[uint64] // by the place of the first word
}

// chunk is how many samples torchdata draws at once with replacement.
const chunk = 32

// NewRandom returns the order. The error is of kind errs.Invalid.
func NewRandom(o RandomOptions) (*Random, error) {
	const op = "torchdata.NewRandom"
	if o.N < 1 || o.N > MaxSamples {
		return nil, badCount(op, "N", o.N, 1)
	}
	if o.NumSamples < 0 || o.NumSamples > MaxSamples {
		return nil, badCount(op, "NumSamples", o.NumSamples, 0)
	}
	r := &Random{n: o.N, num: o.NumSamples, replacement: o.Replacement, torch: o.Torch, words: newStream(startOf(o.Generator))}
	if r.num == 0 {
		r.num = r.n
	}
	var ok bool
	if r.epochWords, ok = r.wordsOfEpoch(); !ok {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "less than 2^63 random numbers in an epoch",
			Got: fmt.Sprintf("%d permutations of %d", r.num/r.n, r.n)}
	}
	return r, nil
}

// startOf returns the generator of an option.
func startOf(g *Generator) Generator {
	if g == nil {
		return NewGenerator(DefaultSeed)
	}
	return *g
}

func (r *Random) wordsOfEpoch() (words uint64, ok bool) {
	switch {
	case r.replacement && r.torch:
		return product(uint64(r.num), wordsOfInt63n(r.n))
	case r.replacement:
		chunks := (r.num + chunk - 1) / chunk
		return product(uint64(chunks*chunk), wordsOfInt63n(r.n))
	case r.torch:
		return product(uint64(r.num/r.n+1), wordsOfRandperm(r.n))
	default:
		return product(uint64((r.num+r.n-1)/r.n), wordsOfRandperm(r.n))
	}
}

// Fill implements order.Order. It ends, after 2^63 random numbers at the least,
// where these are too many to be counted.
func (r *Random) Fill(pos int64, dst []int64) int {
	return fillEpochs(r.num, pos, dst, func(epoch, i int64, part []int64) int {
		first, ok := product(uint64(epoch), r.epochWords)
		if !ok {
			return 0
		}
		if r.replacement {
			each := wordsOfInt63n(r.n)
			r.words.draw(first+uint64(i)*each, uint64(len(part))*each, func(g *Generator) {
				for k := range part {
					part[k] = g.Int63n(r.n)
				}
			})
			return len(part)
		}
		i, first = i%r.n, first+uint64(i/r.n)*wordsOfRandperm(r.n)
		return widen(part, r.permutation(first)[i:])
	})
}

// widen copies ids and returns how many.
func widen(dst []int64, ids []uint32) int {
	n := min(len(dst), len(ids))
	for i, id := range ids[:n] {
		dst[i] = int64(id)
	}
	return n
}

func (r *Random) permutation(word uint64) []uint32 {
	return r.perm.get(word, func() (ids []uint32) {
		r.words.draw(word, wordsOfRandperm(r.n), func(g *Generator) { ids = randperm(r.n, g) })
		return ids
	})
}

// Len implements order.Order: it never ends.
func (r *Random) Len() (n int64, ok bool) { return 0, false }

// EpochLen is the number of positions of an epoch.
func (r *Random) EpochLen() int64 { return r.num }

// Generator returns the generator as it is when an epoch (>= 0) begins, before
// anything of it is drawn: what torchdata saves, beside the samples delivered of
// that epoch. ok is false where its numbers are too many to be counted.
func (r *Random) Generator(epoch int64) (g Generator, ok bool) {
	return generatorAt(r.words, r.epochWords, epoch)
}

func generatorAt(words *stream, epochWords uint64, epoch int64) (g Generator, ok bool) {
	first, ok := product(uint64(epoch), epochWords)
	if !ok || epoch < 0 {
		return Generator{}, false
	}
	return words.at(first), true
}

// String implements order.Order.
func (r *Random) String() string {
	return fmt.Sprintf("torchdata.random(n=%d samples=%d replacement=%t torch=%t generator=%s)", r.n, r.num, r.replacement, r.torch, r.words.start.digest())
}

// digest tells generators apart.
func (g *Generator) digest() string {
	b, err := g.MarshalBinary()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))[:16]
}

// fillEpochs cuts a block of an endless order at the ends of epochs of num
// positions; fill is given the epoch, the first position in it and the part, of
// which it fills the beginning and returns its length, which is 0 at the end.
func fillEpochs(num, pos int64, dst []int64, fill func(epoch, i int64, part []int64) int) int {
	if num < 1 || pos < 0 {
		return 0
	}
	done := 0
	for done < len(dst) && pos >= 0 {
		part := dst[done:]
		if left := num - pos%num; int64(len(part)) > left {
			part = part[:left]
		}
		n := fill(pos/num, pos%num, part)
		if n == 0 {
			break
		}
		done, pos = done+n, pos+int64(n)
	}
	return done
}
