package torchdata

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
)

// maxWeights is the largest number of weights, torch's limit.
const maxWeights = 1 << 24

// WeightedOptions describe a WeightedRandomSampler.
type WeightedOptions struct {
	// Weights has one weight for each sample, and at most 2^24. They are finite and at least 0, and
	// their sum is finite and above 0.
	Weights []float64
	// NumSamples is the length of an epoch, at least 1. Without replacement it is at most the number
	// of weights above 0.
	NumSamples int64
	// WithoutReplacement delivers no sample twice in an epoch. The default is with replacement, as in
	// torch.
	WithoutReplacement bool
	// Generator is the generator with which the first epoch begins. nil means a generator seeded with
	// DefaultSeed. It is copied.
	Generator *Generator
}

// Weighted is the order of a WeightedRandomSampler. It is immutable and safe for concurrent use.
// With replacement it keeps 8 bytes a weight. Without replacement, and for epochs of one sample, as
// in torch.multinomial, an epoch draws two words of the generator for each weight and is sorted
// when it is entered.
type Weighted struct {
	weights    []float64
	num        int64
	sorted     bool
	sums       []float64 // the cumulative distribution, unless epochs are sorted
	words      *stream
	epochWords uint64
	chosen     last[int64] // keyed by the epoch, if epochs are sorted
}

// NewWeighted returns the order. The error is of kind errs.Invalid.
func NewWeighted(o WeightedOptions) (*Weighted, error) {
	sum, positive, err := checkWeights(o.Weights)
	if err != nil {
		return nil, err
	}
	most, n := int64(MaxSamples), uint64(len(o.Weights))
	if o.WithoutReplacement {
		most = positive
	}
	if o.NumSamples < 1 || o.NumSamples > most {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "torchdata.NewWeighted", Subject: "NumSamples",
			Want: fmt.Sprint("a number from 1 to ", most), Got: fmt.Sprint(o.NumSamples)}
	}
	w := &Weighted{weights: slices.Clone(o.Weights), num: o.NumSamples, words: newStream(startOf(o.Generator))}
	w.sorted, w.epochWords = o.WithoutReplacement || w.num == 1, 2*uint64(w.num)
	if w.sorted {
		w.epochWords = 2 * n
		return w, nil
	}
	w.sums = make([]float64, n)
	total := 0.0
	for i, weight := range w.weights {
		total += weight
		w.sums[i] = total / sum
	}
	w.sums[n-1] = 1
	return w, nil
}

// checkWeights returns the sum of the weights, added from the left, and the number of weights above
// 0.
func checkWeights(weights []float64) (sum float64, positive int64, err error) {
	const op = "torchdata.NewWeighted"
	if len(weights) > maxWeights {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "Weights", Want: "at most 2^24",
			Got: fmt.Sprint(len(weights))}
	}
	for i, w := range weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			return 0, 0, &errs.Error{Kind: errs.Invalid, Op: op, Subject: fmt.Sprint("weight ", i),
				Want: "a finite number of at least 0", Got: fmt.Sprint(w)}
		}
		sum += w
		if w > 0 {
			positive++
		}
	}
	if !(sum > 0) || math.IsInf(sum, 1) {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "sum of the weights", Want: "a finite number above 0",
			Got: fmt.Sprint(sum)}
	}
	return sum, positive, nil
}

// Fill implements order.Order.
func (w *Weighted) Fill(pos int64, dst []int64) int {
	return fillEpochs(w.num, pos, dst, func(epoch, i int64, part []int64) int {
		first, ok := product(uint64(epoch), w.epochWords)
		if !ok {
			return 0
		}
		if w.sorted {
			return widen(part, w.chosen.get(epoch, func() []uint32 { return w.choose(first) })[i:])
		}
		w.words.draw(first+2*uint64(i), 2*uint64(len(part)), func(g *Generator) {
			for k := range part {
				part[k] = int64(sort.SearchFloat64s(w.sums, g.Float64()))
			}
		})
		return len(part)
	})
}

// choose draws an epoch without replacement: the samples with the largest
// quotients of their weight and an exponentially distributed number.
func (w *Weighted) choose(word uint64) []uint32 {
	type scored struct {
		score float64
		id    uint32
	}
	all := make([]scored, len(w.weights))
	w.words.draw(word, w.epochWords, func(g *Generator) {
		for i, weight := range w.weights {
			all[i] = scored{weight / -math.Log1p(-g.Float64()), uint32(i)}
		}
	})
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	ids := make([]uint32, w.num)
	for i := range ids {
		ids[i] = all[i].id
	}
	return ids
}

// Len implements order.Order. The order never ends.
func (w *Weighted) Len() (n int64, ok bool) { return 0, false }

// EpochLen returns the number of positions of an epoch.
func (w *Weighted) EpochLen() int64 { return w.num }

// Generator returns the generator at the beginning of an epoch (>= 0). ok is false if there are too
// many random numbers to count.
func (w *Weighted) Generator(epoch int64) (g Generator, ok bool) {
	first, ok := product(uint64(epoch), w.epochWords)
	if !ok || epoch < 0 {
		return Generator{}, false
	}
	return w.words.at(first), true
}

// String implements order.Order.
func (w *Weighted) String() string {
	h := sha256.New()
	for _, weight := range w.weights {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(weight)))
	}
	return fmt.Sprintf("torchdata.weighted(n=%d samples=%d replacement=%t weights=%x generator=%s)",
		len(w.weights), w.num, !w.sorted, h.Sum(nil)[:8], w.words.start.digest())
}
