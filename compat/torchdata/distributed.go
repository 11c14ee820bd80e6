package torchdata

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// DistributedOptions describe a DistributedSampler.
type DistributedOptions struct {
	// N is the length of the data set, 0 to MaxSamples.
	N int64
	// Replicas is the number of ranks, 1 to MaxSamples. Rank is the rank of this order.
	Replicas, Rank int64
	// Sequential does not shuffle: shuffle=False.
	Sequential bool
	// Seed is added to the epoch to seed the shuffle. It is at least 0.
	Seed int64
	// DropLast drops samples at the end that are too few for all ranks. Without it the first samples
	// are repeated.
	DropLast bool
	// Fixed uses the shuffle of epoch 0 for all epochs: set_epoch is never called.
	Fixed bool
}

// Distributed is the order of a DistributedSampler whose set_epoch is called with 0, 1, … before
// each epoch. It is immutable and safe for concurrent use. Each epoch has a generator of its own,
// so no epoch depends on earlier ones.
type Distributed struct {
	o    DistributedOptions
	num  int64
	perm last[int64] // by the epoch
}

// NewDistributed returns the order. The error is of kind errs.Invalid.
func NewDistributed(o DistributedOptions) (*Distributed, error) {
	const op = "torchdata.NewDistributed"
	if o.N < 0 || o.N > MaxSamples {
		return nil, badCount(op, "N", o.N, 0)
	}
	if o.Rank < 0 || o.Rank >= o.Replicas || o.Replicas > MaxSamples {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Want: "0 <= rank < replicas <= 2^32",
			Got: fmt.Sprintf("rank %d, replicas %d", o.Rank, o.Replicas)}
	}
	if o.Seed < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: "Seed", Want: "at least 0", Got: fmt.Sprint(o.Seed)}
	}
	d := &Distributed{o: o, num: (o.N + o.Replicas - 1) / o.Replicas}
	if o.DropLast {
		d.num = o.N / o.Replicas
	}
	return d, nil
}

// Fill implements order.Order.
func (d *Distributed) Fill(pos int64, dst []int64) int {
	return fillEpochs(d.num, pos, dst, func(epoch, i int64, part []int64) int {
		var perm []uint32
		if !d.o.Sequential {
			perm = d.permutation(epoch)
		}
		for k := range part {
			id := (d.o.Rank + (i+int64(k))*d.o.Replicas) % d.o.N
			if perm != nil {
				id = int64(perm[id])
			}
			part[k] = id
		}
		return len(part)
	})
}

func (d *Distributed) permutation(epoch int64) []uint32 {
	if d.o.Fixed {
		epoch = 0
	}
	return d.perm.get(epoch, func() []uint32 {
		g := NewGenerator(uint64(d.o.Seed) + uint64(epoch))
		return randperm(d.o.N, &g)
	})
}

// Len implements order.Order. The order never ends, except if the rank has no samples.
func (d *Distributed) Len() (n int64, ok bool) { return 0, d.num == 0 }

// EpochLen returns the number of positions of an epoch.
func (d *Distributed) EpochLen() int64 { return d.num }

// String implements order.Order.
func (d *Distributed) String() string {
	return fmt.Sprintf("torchdata.distributed(n=%d rank=%d/%d shuffle=%t seed=%d drop=%t fixed=%t)",
		d.o.N, d.o.Rank, d.o.Replicas, !d.o.Sequential, d.o.Seed, d.o.DropLast, d.o.Fixed)
}
