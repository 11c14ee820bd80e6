package torchdata

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// MaxSamples is the largest number of samples of an order, 2^32.
const MaxSamples = 1 << 32

// largePermutation is the length from which on randperm draws two words for each element.
const largePermutation = math.MaxUint32 / 20

// Randperm returns torch.randperm(n, generator=g). The error is of kind errs.Invalid if n is below
// 0 or above MaxSamples.
func Randperm(n int64, g *Generator) ([]int64, error) {
	if n < 0 || n > MaxSamples {
		return nil, badCount("torchdata.Randperm", "n", n, 0)
	}
	ids := make([]int64, n)
	for i, id := range randperm(n, g) {
		ids[i] = int64(id)
	}
	return ids, nil
}

// badCount returns the error for a number of samples that is out of range.
func badCount(op, subject string, got, least int64) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: subject,
		Want: fmt.Sprintf("a number from %d to %d", least, int64(MaxSamples)), Got: fmt.Sprint(got)}
}

func randperm(n int64, g *Generator) []uint32 {
	if n >= largePermutation {
		return shuffledInsideOut(n, g)
	}
	return shuffledForward(n, g)
}

func shuffledForward(n int64, g *Generator) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = uint32(i)
	}
	for i := 0; i+1 < len(ids); i++ {
		z := i + int(g.Uint32()%uint32(len(ids)-i))
		ids[i], ids[z] = ids[z], ids[i]
	}
	return ids
}

// shuffledInsideOut draws two words for each element, including the first.
func shuffledInsideOut(n int64, g *Generator) []uint32 {
	ids := make([]uint32, n)
	for i := range ids {
		z := g.Uint64() % uint64(i+1)
		ids[i] = ids[z]
		ids[z] = uint32(i)
	}
	return ids
}

// wordsOfRandperm returns the number of words that randperm draws.
func wordsOfRandperm(n int64) uint64 {
	if n >= largePermutation {
		return 2 * uint64(n)
	}
	return uint64(max(n-1, 0))
}
