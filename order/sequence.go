package order

import (
	"fmt"
	"math"
	"strconv"
)

// Sequential is the order 0, 1, …, n-1, where n is its value. It yields each id once.
type Sequential int64

// Fill implements Order.
func (s Sequential) Fill(pos int64, dst []int64) int {
	if pos < 0 || pos >= int64(s) {
		return 0
	}
	n := min(int64(len(dst)), int64(s)-pos)
	for i := range dst[:n] {
		dst[i] = pos + int64(i)
	}
	return int(n)
}

// Len implements Order.
func (s Sequential) Len() (n int64, ok bool) { return max(int64(s), 0), true }

// String implements Order.
func (s Sequential) String() string { return fmt.Sprintf("sequential(n=%d)", int64(s)) }

// Cycle is the order 0, 1, …, n-1, 0, 1, … without end.
type Cycle struct{ n int64 }

// NewCycle returns the endless order of n samples, one epoch after the other. It is empty if n < 1.
func NewCycle(n int64) Cycle { return Cycle{n: max(n, 0)} }

// Fill implements Order.
func (c Cycle) Fill(pos int64, dst []int64) int {
	return fillEpochs(c.n, pos, dst, func(_, i int64, part []int64) { Sequential(c.n).Fill(i, part) })
}

// Len implements Order. The order never ends, except if n = 0.
func (c Cycle) Len() (n int64, ok bool) { return 0, c.n == 0 }

// EpochLen implements Epochs.
func (c Cycle) EpochLen() int64 { return c.n }

// String implements Order.
func (c Cycle) String() string { return fmt.Sprintf("cycle(n=%d)", c.n) }

// Shuffled is an endless order in which each epoch has its own permutation.
type Shuffled struct {
	version int
	n       int64
	seed    uint64
	domain  string
	base    uint64
}

// NewShuffled returns the endless shuffled order of n samples. The permutation of an epoch has the
// key Key(seed, epoch, domain). The order is empty if n < 1.
func NewShuffled(n int64, seed uint64, domain string) *Shuffled {
	return newShuffled(Version, n, seed, domain)
}

func newShuffled(version int, n int64, seed uint64, domain string) *Shuffled {
	return &Shuffled{version: version, n: max(n, 0), seed: seed, domain: domain, base: base(seed, domain)}
}

// Fill implements Order. It allocates nothing.
func (s *Shuffled) Fill(pos int64, dst []int64) int {
	return fillEpochs(s.n, pos, dst, func(epoch, i int64, part []int64) {
		p := makePermutation(s.version, s.n, epochKey(s.base, epoch))
		p.Fill(i, part)
	})
}

// Len implements Order. The order never ends, except if n = 0.
func (s *Shuffled) Len() (n int64, ok bool) { return 0, s.n == 0 }

// EpochLen implements Epochs.
func (s *Shuffled) EpochLen() int64 { return s.n }

// String implements Order.
func (s *Shuffled) String() string {
	return fmt.Sprintf("shuffled(v%d n=%d seed=%d domain=%s)", s.version, s.n, s.seed, strconv.Quote(s.domain))
}

// Epoch returns the permutation of an epoch (>= 0). The id at position epoch*n + i is
// Epoch(epoch).At(i). Its Inverse tells where in the epoch a sample is seen.
func (s *Shuffled) Epoch(epoch int64) *Permutation {
	p := makePermutation(s.version, s.n, epochKey(s.base, epoch))
	return &p
}

// fillEpochs cuts a block of an endless order of n samples at the ends of epochs. It calls fill
// with the epoch, the first position in the epoch and the part of the block. It stops at the
// largest position.
func fillEpochs(n, pos int64, dst []int64, fill func(epoch, i int64, part []int64)) int {
	if n == 0 || pos < 0 {
		return 0
	}
	if left := math.MaxInt64 - pos; int64(len(dst)) > left {
		dst = dst[:left]
	}
	done := 0
	for epoch, i := pos/n, pos%n; done < len(dst); epoch, i = epoch+1, 0 {
		part := dst[done:]
		if int64(len(part)) > n-i {
			part = part[:n-i]
		}
		fill(epoch, i, part)
		done += len(part)
	}
	return done
}
