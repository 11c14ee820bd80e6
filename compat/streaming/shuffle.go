package streaming

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Algorithm is the name of a shuffle, shuffle_algo.
type Algorithm string

// The shuffles. Naive shuffles all samples. The others give each canonical node a
// run of shards and shuffle these; then Py1s shuffles within pieces of shards,
// Py2s within shards and within the pieces, Py1br within blocks, and Py1e moves
// every sample by up to half a block.
const (
	Naive Algorithm = "naive"
	Py1s  Algorithm = "py1s"
	Py2s  Algorithm = "py2s"
	Py1br Algorithm = "py1br"
	Py1e  Algorithm = "py1e"
)

// Algorithms lists the shuffles.
func Algorithms() []Algorithm { return []Algorithm{Naive, Py1s, Py2s, Py1br, Py1e} }

// The largest numbers of samples in an epoch, and of nodes.
const (
	MaxSamples = 1 << 40
	MaxNodes   = 1 << 20
)

// Shuffle names the order of an epoch. Equal values mean equal orders.
type Shuffle struct {
	Algorithm      Algorithm
	Shards         []int64 // samples of each shard, in the order of index.json
	CanonicalNodes int64   // at least 1; see DefaultCanonicalNodes
	Seed, Epoch    int64   // not negative
	Block          int64   // of Py1br and Py1e, in samples; see DefaultBlock
	// KeepEmpty makes NewEpoch shuffle shards of 0 samples like the others, as
	// get_shuffle does. StreamingDataset leaves them out before it shuffles, and so
	// does NewEpoch without KeepEmpty. The two orders differ. Set KeepEmpty only to go
	// on in an order that NewEpoch made when it did not leave them out.
	KeepEmpty bool
}

// DefaultCanonicalNodes returns the default of num_canonical_nodes for the nodes on which the run
// begins.
func DefaultCanonicalNodes(a Algorithm, nodes int64) int64 {
	if a == Py1s || a == Py2s {
		return 64 * nodes
	}
	return nodes
}

// DefaultBlock returns the default of shuffle_block_size.
func DefaultBlock(canonicalNodes int64) int64 {
	return max(4_000_000/max(canonicalNodes, 1), 1<<18)
}

// Size returns the number of samples. The error, of kind errs.Invalid, tells that
// a field is out of its bounds.
func (s Shuffle) Size() (int64, error) {
	if !slices.Contains(Algorithms(), s.Algorithm) {
		return 0, invalid("streaming.Shuffle", "one of "+fmt.Sprint(Algorithms()), fmt.Sprintf("algorithm %q", s.Algorithm))
	}
	if s.Seed < 0 || s.Epoch < 0 || s.Seed > math.MaxInt64-s.Epoch {
		return 0, invalid("streaming.Shuffle", "a seed and an epoch from 0 on", fmt.Sprintf("%d and %d", s.Seed, s.Epoch))
	}
	if s.CanonicalNodes < 1 || s.CanonicalNodes > MaxNodes {
		return 0, invalid("streaming.Shuffle", fmt.Sprintf("1 to %d canonical nodes", MaxNodes), fmt.Sprint(s.CanonicalNodes))
	}
	var n int64
	for i, size := range s.Shards {
		if size < 0 || size > MaxSamples-n {
			return 0, invalid("streaming.Shuffle", fmt.Sprintf("shards of at most %d samples together", int64(MaxSamples)), fmt.Sprintf("shard %d of %d", i, size))
		}
		n += size
	}
	return n, nil
}

// String describes the shuffle with all its parameters, but of the shards only
// how many they are and a hash.
func (s Shuffle) String() string {
	h := uint64(14695981039346656037)
	for _, n := range s.Shards {
		h = (h ^ uint64(n)) * 1099511628211
	}
	return fmt.Sprintf("streaming-%s(shards=%d:%016x nodes=%d seed=%d epoch=%d block=%d)",
		s.Algorithm, len(s.Shards), h, s.CanonicalNodes, s.Seed, s.Epoch, s.Block)
}

// ofDataset returns the shuffle that a StreamingDataset calls get_shuffle with.
func (s Shuffle) ofDataset() Shuffle {
	if !s.KeepEmpty && slices.Contains(s.Shards, 0) {
		s.Shards = slices.DeleteFunc(slices.Clone(s.Shards), func(n int64) bool { return n == 0 })
	}
	return s
}

// Samples returns the sample at each position of the epoch, get_shuffle of all Shards, including
// shards of 0 samples. NewEpoch is the order of a dataset. Samples is linear in time and memory.
// The error is of kind errs.Invalid where streaming has one: a block too small to draw from, a
// canonical node of Py1e without samples; or where Size has one.
func (s Shuffle) Samples() ([]int64, error) {
	n, err := s.Size()
	if err != nil {
		return nil, err
	}
	epoch := numpy.DefaultRNG(uint64(s.Seed + s.Epoch))
	switch s.Algorithm {
	case Naive:
		return epoch.Permutation(n), nil
	case Py2s:
		return s.twice(n, epoch), nil
	case Py1br:
		return s.blocks(n, epoch)
	case Py1e:
		return s.expanded(n, epoch)
	}
	return s.once(n, epoch), nil
}

// once is Py1s.
func (s Shuffle) once(n int64, epoch *numpy.Generator) []int64 {
	ids := make([]int64, 0, n)
	nodes := divide(s.scattered(numpy.DefaultRNG(uint64(s.Seed))), n, s.CanonicalNodes)
	for _, spans := range nodes {
		numpy.Shuffle(epoch, spans)
	}
	for _, spans := range nodes {
		for _, sp := range spans {
			begin := len(ids)
			ids = sp.append(ids)
			numpy.Shuffle(epoch, ids[begin:])
		}
	}
	return ids
}

// twice is Py2s.
func (s Shuffle) twice(n int64, epoch *numpy.Generator) []int64 {
	run := numpy.DefaultRNG(uint64(s.Seed))
	shards := s.scattered(run)
	fixed := span{0, n}.append(make([]int64, 0, n))
	for _, sp := range shards {
		numpy.Shuffle(run, fixed[sp.begin:sp.end])
	}
	ids := make([]int64, 0, n)
	for _, spans := range divide(shards, n, s.CanonicalNodes) {
		numpy.Shuffle(epoch, spans)
		for _, sp := range spans {
			piece := fixed[sp.begin:sp.end]
			numpy.Shuffle(epoch, piece)
			ids = append(ids, piece...)
		}
	}
	return ids
}

// blockSizes are the bounds between which a block's size is drawn.
func (s Shuffle) blockSizes() (low, high int64, err error) {
	low, high = int64(0.75*float64(s.Block)), int64(1.25*float64(s.Block))
	if s.Block < 1 || s.Block > MaxSamples || low >= high {
		return 0, 0, invalid("streaming.Shuffle", "a block of 1 to 2^40 samples", fmt.Sprint(s.Block))
	}
	return low, high, nil
}

func invalid(op, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Want: want, Got: got}
}
