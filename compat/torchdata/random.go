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
	// Generator is the generator with which the first epoch begins. nil means a generator seeded with
	// DefaultSeed. It is copied.
	Generator *Generator
	// Replacement draws each sample from the whole data set.
	Replacement bool
	// NumSamples is the length of an epoch, 1 to MaxSamples. 0 means N. Without replacement, if
	// NumSamples is above N, one permutation follows the other.
	NumSamples int64
	// Torch makes it the sampler of torch.utils.data with a generator. At the end of each epoch that
	// sampler draws one more permutation and takes the missing samples from it, even if none are
	// missing. The sampler of torchdata draws only what it needs, with replacement in chunks of 32.
	Torch bool
	// BaseSeeds says when the loader draws base seeds from the same generator.
	BaseSeeds BaseSeeds
	// Resumed leaves out the first base seed, because a loader that has loaded a state draws it before
	// it restores the generator.
	Resumed bool
}

// BaseSeeds says when a loader draws the base seed of an epoch from the generator of its sampler.
// With shuffle=True and generator=g both use the same generator.
type BaseSeeds uint8

// The times at which loaders draw base seeds.
const (
	NoBaseSeeds     BaseSeeds = iota // the loader has another generator
	TorchLoader                      // before the samples
	StatefulLoader                   // without workers: after the first permutation or chunk
	StatefulWorkers                  // with workers: after one more permutation or chunk than is used
)

// Random is the order of a RandomSampler. It is immutable and safe for concurrent
// use.
type Random struct {
	o          RandomOptions
	num        int64
	words      *stream
	unit       int64  // samples drawn at once: a permutation or a chunk
	unitWords  uint64 // random numbers that a unit takes
	epochWords uint64
	perm       last[uint64] // keyed by the place of the first word
}

const (
	chunk     = 32 // how many samples are drawn at once with replacement
	seedWords = 2  // how many random numbers a base seed takes
)

// NewRandom returns the order. The error is of kind errs.Invalid.
func NewRandom(o RandomOptions) (*Random, error) {
	const op = "torchdata.NewRandom"
	if o.N < 1 || o.N > MaxSamples {
		return nil, badCount(op, "N", o.N, 1)
	}
	if o.NumSamples < 0 || o.NumSamples > MaxSamples {
		return nil, badCount(op, "NumSamples", o.NumSamples, 0)
	}
	r := &Random{o: o, num: o.NumSamples, words: newStream(startOf(o.Generator))}
	if r.num == 0 {
		r.num = r.o.N
	}
	r.unit, r.unitWords = o.N, wordsOfRandperm(o.N)
	if o.Replacement {
		r.unit, r.unitWords = chunk, chunk*wordsOfInt63n(o.N)
	}
	var ok bool
	if r.epochWords, ok = r.wordsOfEpoch(); !ok {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "fewer than 2^63 random numbers in an epoch",
			Got: fmt.Sprintf("%d permutations of %d", r.num/o.N, o.N)}
	}
	return r, nil
}

// startOf returns the generator of an option, or the default generator.
func startOf(g *Generator) Generator {
	if g == nil {
		return NewGenerator(DefaultSeed)
	}
	return *g
}

func (r *Random) wordsOfEpoch() (words uint64, ok bool) {
	units := uint64((r.num + r.unit - 1) / r.unit)
	if r.o.Torch {
		units = uint64(r.num/r.unit + 1)
	}
	words, ok = product(units, r.unitWords)
	if r.o.Torch && r.o.Replacement { // the last chunk is only as long as needed
		words = uint64(r.num) * wordsOfInt63n(r.o.N)
	}
	return words + r.extraWords(), ok
}

// extraWords returns how many words of an epoch are not used for samples.
func (r *Random) extraWords() uint64 {
	switch r.o.BaseSeeds {
	case NoBaseSeeds:
		return 0
	case StatefulWorkers:
		return r.unitWords + seedWords
	default:
		return seedWords
	}
}

// first returns the place of the first word of an epoch.
func (r *Random) first(epoch int64) (word uint64, ok bool) {
	word, ok = product(uint64(epoch), r.epochWords)
	if r.o.Resumed && epoch > 0 {
		word -= r.extraWords()
	}
	return word, ok && epoch >= 0
}

// extraBefore returns how many of the extra words of an epoch come before its sample i.
func (r *Random) extraBefore(epoch, i int64) uint64 {
	if !r.hasSeed(epoch) || r.o.BaseSeeds == StatefulLoader && i < r.unit {
		return 0
	}
	return r.extraWords()
}

func (r *Random) hasSeed(epoch int64) bool {
	return r.o.BaseSeeds != NoBaseSeeds && !(r.o.Resumed && epoch == 0)
}

// Fill implements order.Order. The order ends if there are too many random numbers to count, at the
// earliest after 2^63.
func (r *Random) Fill(pos int64, dst []int64) int {
	return fillEpochs(r.num, pos, dst, func(epoch, i int64, part []int64) int {
		word, ok := r.first(epoch)
		if !ok {
			return 0
		}
		word += uint64(i/r.unit)*r.unitWords + r.extraBefore(epoch, i)
		if !r.o.Replacement {
			return widen(part, r.permutation(word)[i%r.unit:])
		}
		if i < r.unit { // the seed comes next
			part = part[:min(int64(len(part)), r.unit-i)]
		}
		each := wordsOfInt63n(r.o.N)
		r.words.draw(word+uint64(i%r.unit)*each, uint64(len(part))*each, func(g *Generator) {
			for k := range part {
				part[k] = g.Int63n(r.o.N)
			}
		})
		return len(part)
	})
}

// widen copies ids and returns how many it copied.
func widen(dst []int64, ids []uint32) int {
	n := min(len(dst), len(ids))
	for i, id := range ids[:n] {
		dst[i] = int64(id)
	}
	return n
}

func (r *Random) permutation(word uint64) []uint32 {
	return r.perm.get(word, func() (ids []uint32) {
		r.words.draw(word, r.unitWords, func(g *Generator) { ids = randperm(r.o.N, g) })
		return ids
	})
}

// Len implements order.Order. The order never ends.
func (r *Random) Len() (n int64, ok bool) { return 0, false }

// EpochLen returns the number of positions of an epoch.
func (r *Random) EpochLen() int64 { return r.num }

// Generator returns the generator before the samples of an epoch (>= 0) are drawn. torchdata saves
// it beside the number of delivered samples of that epoch. ok is false if there are too many random
// numbers to count.
func (r *Random) Generator(epoch int64) (g Generator, ok bool) {
	first, ok := r.first(epoch)
	if !ok {
		return Generator{}, false
	}
	return r.words.at(first + r.extraBefore(epoch, 0)), true
}

// BaseSeed returns the base seed that the loader draws for an epoch (>= 0). ok is false if it draws
// none from this generator.
func (r *Random) BaseSeed(epoch int64) (seed int64, ok bool) {
	word, ok := r.first(epoch)
	if !ok || !r.hasSeed(epoch) {
		return 0, false
	}
	if r.o.BaseSeeds != TorchLoader {
		word += r.unitWords
	}
	g := r.words.at(word)
	return BaseSeed(&g), true
}

// String implements order.Order.
func (r *Random) String() string {
	return fmt.Sprintf("torchdata.random(n=%d samples=%d replacement=%t torch=%t seeds=%d resumed=%t generator=%s)",
		r.o.N, r.num, r.o.Replacement, r.o.Torch, r.o.BaseSeeds, r.o.BaseSeeds != NoBaseSeeds && r.o.Resumed,
		r.words.start.digest())
}

// digest returns a text that differs for different generators.
func (g *Generator) digest() string {
	b, err := g.MarshalBinary()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))[:16]
}

// fillEpochs cuts a block of an endless order at the ends of epochs of num positions. It calls fill
// with the epoch, the first position in the epoch and the part of the block. fill fills the
// beginning of the part and returns how much it filled, which is 0 at the end.
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
