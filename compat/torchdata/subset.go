package torchdata

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// SubsetRandom is the order of a SubsetRandomSampler: the given samples, in each epoch in the order
// of a randperm of their number. It is immutable and safe for concurrent use.
type SubsetRandom struct {
	ids    []int64
	places *Random
}

// NewSubsetRandom returns the order of ids, which it copies. Without ids the order has no
// positions. nil for g means a generator seeded with DefaultSeed. The error is of kind errs.Invalid
// if an id is below 0.
func NewSubsetRandom(ids []int64, g *Generator) (*SubsetRandom, error) {
	const op = "torchdata.NewSubsetRandom"
	for i, id := range ids {
		if id < 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: fmt.Sprint("index ", i), Want: "at least 0",
				Got: fmt.Sprint(id)}
		}
	}
	s := &SubsetRandom{ids: slices.Clone(ids)}
	if len(ids) == 0 {
		return s, nil
	}
	var err error
	if s.places, err = NewRandom(RandomOptions{N: int64(len(ids)), Generator: g}); err != nil {
		return nil, errs.Wrap(op, "", err)
	}
	return s, nil
}

// Fill implements order.Order.
func (s *SubsetRandom) Fill(pos int64, dst []int64) int {
	if s.places == nil {
		return 0
	}
	n := s.places.Fill(pos, dst)
	for i, place := range dst[:n] {
		dst[i] = s.ids[place]
	}
	return n
}

// Len implements order.Order. The order never ends, except if it has no samples.
func (s *SubsetRandom) Len() (n int64, ok bool) { return 0, s.places == nil }

// EpochLen returns the number of positions of an epoch.
func (s *SubsetRandom) EpochLen() int64 { return int64(len(s.ids)) }

// Generator returns the generator at the beginning of an epoch (>= 0). ok is false if the number of
// its random numbers is too large, or without samples.
func (s *SubsetRandom) Generator(epoch int64) (g Generator, ok bool) {
	if s.places == nil {
		return Generator{}, false
	}
	return s.places.Generator(epoch)
}

// String implements order.Order.
func (s *SubsetRandom) String() string {
	if s.places == nil {
		return "torchdata.subset(n=0)"
	}
	h := sha256.New()
	for _, id := range s.ids {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(id)))
	}
	return fmt.Sprintf("torchdata.subset(n=%d ids=%x generator=%s)", len(s.ids), h.Sum(nil)[:8],
		s.places.words.start.digest())
}
