package streaming

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// Epoch holds the samples of an epoch by position, before they are divided among ranks. It is an
// order.Order, immutable and safe for concurrent use.
type Epoch struct {
	name string
	n    int64
	ids  []int64 // nil if the id is the position
}

// NewEpoch shuffles an epoch as a StreamingDataset does, which leaves out shards of 0 samples. See
// Shuffle.Samples for time, memory and errors.
func NewEpoch(s Shuffle) (*Epoch, error) {
	s = s.ofDataset()
	ids, err := s.Samples()
	if err != nil {
		return nil, err
	}
	return &Epoch{name: s.String(), n: int64(len(ids)), ids: ids}, nil
}

// Unshuffled returns an epoch of n samples in their order (shuffle=False). It holds nothing.
func Unshuffled(n int64) *Epoch {
	n = max(n, 0)
	return &Epoch{name: fmt.Sprintf("streaming-unshuffled(n=%d)", n), n: n}
}

func (e *Epoch) at(position int64) int64 {
	if e.ids == nil {
		return position
	}
	return e.ids[position]
}

// Fill implements order.Order. It seeks in constant time.
func (e *Epoch) Fill(pos int64, dst []int64) int {
	if pos < 0 || pos >= e.n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), e.n-pos)]
	for i := range dst {
		dst[i] = e.at(pos + int64(i))
	}
	return len(dst)
}

// Len implements order.Order.
func (e *Epoch) Len() (n int64, ok bool) { return e.n, true }

// String implements order.Order.
func (e *Epoch) String() string { return e.name }

// Order is the rest of an epoch as one rank, or all ranks, see it: the batches of the rank's
// workers in turn, without the places that have no sample. Samples that streaming repeats to make
// ranks equal are repeated. It is an order.Order that seeks in constant time, immutable and safe
// for concurrent use.
type Order struct {
	name         string
	epoch        *Epoch
	part         *Partition
	first, share int64 // places of a global batch
	full, n      int64 // global batches without gaps; samples
}

// Rank returns the order of one rank of a node. split.Samples may be 0, which means the samples of
// the epoch. It fails in the same cases as NewPartition, with errs.Mismatch if split has another
// number of samples, and with errs.Invalid if there is no such rank.
func (e *Epoch) Rank(split Split, node, rank int64) (*Order, error) {
	if node < 0 || node >= split.Nodes || rank < 0 || rank >= split.Ranks {
		return nil, invalid("streaming.Epoch.Rank", fmt.Sprintf("a rank below %d on a node below %d", split.Ranks, split.Nodes),
			fmt.Sprintf("rank %d on node %d", rank, node))
	}
	return e.order(split, (node*split.Ranks+rank)*split.Batch, split.Batch)
}

// Global returns the order of all ranks together: one global batch after the other, each by node
// and then by rank. It fails in the same cases as Rank.
func (e *Epoch) Global(split Split) (*Order, error) {
	return e.order(split, 0, split.Nodes*split.Ranks*split.Batch)
}

func (e *Epoch) order(split Split, first, share int64) (*Order, error) {
	if split.Samples == 0 {
		split.Samples = e.n
	}
	if split.Samples != e.n {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "streaming.Epoch", Want: fmt.Sprintf("a split of %d samples", e.n),
			Got: fmt.Sprintf("%d samples", split.Samples)}
	}
	part, err := NewPartition(split)
	if err != nil {
		return nil, err
	}
	o := &Order{epoch: e, part: part, first: first, share: share, full: part.rank / part.plain.batch}
	o.n = o.full*share + o.ahead(first+share) - o.ahead(first)
	o.name = fmt.Sprintf("streaming-split(places=%d+%d of %+v of %s)", first, share, split, e)
	return o, nil
}

// ahead returns the number of samples before a place of the last global batch, which has gaps.
func (o *Order) ahead(place int64) int64 {
	batch := o.part.plain.batch
	rest := o.part.rank % batch
	return place/batch*rest + min(place%batch, rest)
}

// position returns the position in the epoch of sample i of the order.
func (o *Order) position(i int64) int64 {
	turn, place := i/o.share, o.first+i%o.share
	if turn >= o.full {
		batch := o.part.plain.batch
		rest := o.part.rank % batch
		k := o.ahead(o.first) + i - o.full*o.share
		turn, place = o.full, k/rest*batch+k%rest
	}
	return o.part.of(turn, place)
}

// Fill implements order.Order. Position 0 is the first sample after the dropped ones.
func (o *Order) Fill(pos int64, dst []int64) int {
	if pos < 0 || pos >= o.n {
		return 0
	}
	dst = dst[:min(int64(len(dst)), o.n-pos)]
	for i := range dst {
		dst[i] = o.epoch.at(o.position(pos + int64(i)))
	}
	return len(dst)
}

// Len implements order.Order.
func (o *Order) Len() (n int64, ok bool) { return o.n, true }

// String implements order.Order.
func (o *Order) String() string { return o.name }
