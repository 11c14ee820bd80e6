package streaming

import (
	"fmt"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/rng/numpy"
)

// Algorithm is the name of a shuffle (shuffle_algo).
type Algorithm string

// The shuffles. Naive shuffles all samples. The others give each canonical node a run of shards and
// shuffle the shards. Then Py1s shuffles within pieces of shards, Py2s within shards and within the
// pieces, Py1br within blocks, and Py1e moves every sample by up to half a block.
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

// Shuffle describes the order of an epoch. Equal values mean equal orders.
type Shuffle struct {
	Algorithm      Algorithm
	Shards         []int64 // samples of each shard, in the order of index.json
	CanonicalNodes int64   // at least 1; see DefaultCanonicalNodes
	Seed, Epoch    int64   // not negative
	Block          int64   // block size of Py1br and Py1e, in samples; see DefaultBlock
	// KeepEmpty makes NewEpoch shuffle shards of 0 samples like all others, as get_shuffle does.
	// StreamingDataset leaves them out before it shuffles, and so does NewEpoch without KeepEmpty. The
	// two orders differ. Set KeepEmpty only to continue in an order from a NewEpoch that did not leave
	// them out.
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

// Size returns the number of samples. The error is of kind errs.Invalid if a field is out of
// bounds.
func (s Shuffle) Size() (int64, error) {
	if !slices.Contains(Algorithms(), s.Algorithm) {
		return 0, invalid("streaming.Shuffle", "one of "+fmt.Sprint(Algorithms()), fmt.Sprintf("algorithm %q", s.Algorithm))
	}
	if s.Seed < 0 || s.Epoch < 0 || s.Seed > math.MaxInt64-s.Epoch {
		return 0, invalid("streaming.Shuffle", "a seed and an epoch of at least 0",
			fmt.Sprintf("seed %d and epoch %d", s.Seed, s.Epoch))
	}
	if s.CanonicalNodes < 1 || s.CanonicalNodes > MaxNodes {
		return 0, invalid("streaming.Shuffle", fmt.Sprintf("from 1 to %d canonical nodes", MaxNodes),
			fmt.Sprint(s.CanonicalNodes))
	}
	var n int64
	for i, size := range s.Shards {
		if size < 0 || size > MaxSamples-n {
			return 0, invalid("streaming.Shuffle", fmt.Sprintf("at most %d samples in all shards together", int64(MaxSamples)),
				fmt.Sprintf("shard %d with %d samples", i, size))
		}
		n += size
	}
	return n, nil
}

// String describes the shuffle with all its parameters. For the shards it has only their number and
// a hash.
func (s Shuffle) String() string {
	h := uint64(14695981039346656037)
	for _, n := range s.Shards {
		h = (h ^ uint64(n)) * 1099511628211
	}
	return fmt.Sprintf("streaming-%s(shards=%d:%016x nodes=%d seed=%d epoch=%d block=%d)",
		s.Algorithm, len(s.Shards), h, s.CanonicalNodes, s.Seed, s.Epoch, s.Block)
}

// ofDataset returns the shuffle with which a StreamingDataset calls get_shuffle.
func (s Shuffle) ofDataset() Shuffle {
	if !s.KeepEmpty && slices.Contains(s.Shards, 0) {
		s.Shards = slices.DeleteFunc(slices.Clone(s.Shards), func(n int64) bool { return n == 0 })
	}
	return s
}

// Samples returns the sample at each position of the epoch: get_shuffle of all Shards, including
// shards of 0 samples. NewEpoch returns the order of a data set. Samples is linear in time and
// memory. The error is of kind errs.Invalid if streaming or Size has an error: a block too small to
// draw from, or a canonical node of Py1e without samples.
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

// once implements Py1s.
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

// twice implements Py2s.
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

// blockSizes returns the bounds between which the size of a block is drawn.
func (s Shuffle) blockSizes() (low, high int64, err error) {
	low, high = int64(0.75*float64(s.Block)), int64(1.25*float64(s.Block))
	if s.Block < 1 || s.Block > MaxSamples || low >= high {
		return 0, 0, invalid("streaming.Shuffle", "a block of at least 1 and at most 2^40 samples", fmt.Sprint(s.Block))
	}
	return low, high, nil
}

func invalid(op, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Want: want, Got: got}
}
