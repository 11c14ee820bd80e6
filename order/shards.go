package order

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// Shards does the arithmetic of epochs over a list of samples that is cut into Count shards, as
// DALI counts. An epoch reads one shard. The first epoch reads shard ID, and each epoch reads the
// next shard. With Stick, every epoch reads shard ID. A Rank is different: it has a slice of every
// batch in every epoch.
//
//	list    │ shard 0 │ shard 1 │ shard 2 │      shard s begins at Samples*s/Count
//	ID 1               epoch 0   epoch 1
//	          epoch 2   epoch 3   …
type Shards struct {
	Samples   int64 // of the whole list, at least Count
	Count, ID int64 // 0 <= ID < Count
	Stick     bool
	// Pad makes every epoch as long as the epoch of the largest shard, in whole batches of Pad
	// samples, by repeating the last sample of the shard. With 0, epochs are as long as their shards.
	Pad int64
}

// First returns where a shard begins in the list. First(Count) is the end of the list.
func (s Shards) First(shard int64) int64 { return s.Samples * shard / s.Count }

// Of returns the shard of an epoch.
func (s Shards) Of(epoch int64) int64 {
	if s.Stick {
		return s.ID
	}
	return (s.ID + epoch%s.Count) % s.Count
}

// Size returns the number of samples that an epoch reads.
func (s Shards) Size(epoch int64) int64 {
	shard := s.Of(epoch)
	return s.First(shard+1) - s.First(shard)
}

// Largest returns the size of the largest shard.
func (s Shards) Largest() int64 { return (s.Samples + s.Count - 1) / s.Count }

// EpochLength returns the number of samples that an epoch delivers. With Pad, it is a whole number
// of batches, so that all epochs begin with a batch and are equally long.
func (s Shards) EpochLength(epoch int64) int64 {
	if s.Pad == 0 {
		return s.Size(epoch)
	}
	return (s.Largest() + s.Pad - 1) / s.Pad * s.Pad
}

// Locate returns the epoch of a position (>= 0), and the index of the position in the epoch.
func (s Shards) Locate(pos int64) (epoch, index int64) {
	if s.Pad > 0 || s.Stick {
		length := s.EpochLength(0)
		return pos / length, pos % length
	}
	read := uint64(pos) + uint64(s.First(s.ID)) // samples from the start of the list
	pass, at := int64(read/uint64(s.Samples)), int64(read%uint64(s.Samples))
	if s.Count == 1 {
		return pass, at
	}
	shard := ((at+1)*s.Count - 1) / s.Samples
	return pass*s.Count + shard - s.ID, at - s.First(shard)
}

// Begin returns the position of the first sample of an epoch. epoch must be below 2^31.
func (s Shards) Begin(epoch int64) int64 {
	if s.Pad > 0 || s.Stick {
		return epoch * s.EpochLength(0)
	}
	passes, shard := (s.ID+epoch)/s.Count, (s.ID+epoch)%s.Count
	return passes*s.Samples + s.First(shard) - s.First(s.ID)
}

// Sharded is the part of an endless order that Shards selects. Epoch e of the order has the
// positions [e*Samples, (e+1)*Samples). The shards of an epoch make up the epoch.
type Sharded struct {
	order  Order
	shards Shards
}

// NewSharded returns the samples of s. The error is of kind errs.Invalid unless
// 0 <= ID < Count <= Samples <= 2^31-1.
func NewSharded(o Order, s Shards) (*Sharded, error) {
	if s.ID < 0 || s.ID >= s.Count || s.Count > s.Samples || s.Samples > math.MaxInt32 || s.Pad < 0 || s.Pad > math.MaxInt32 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewSharded", Want: "0 <= shard < shards <= samples <= 2147483647",
			Got: fmt.Sprintf("shard %d, %d shards, %d samples", s.ID, s.Count, s.Samples)}
	}
	return &Sharded{order: o, shards: s}, nil
}

// Shards returns the arithmetic of the epochs of o.
func (o *Sharded) Shards() Shards { return o.shards }

// Fill implements Order.
func (o *Sharded) Fill(pos int64, dst []int64) int {
	if pos < 0 {
		return 0
	}
	if left := math.MaxInt64 - pos; int64(len(dst)) > left {
		dst = dst[:left]
	}
	for done := 0; done < len(dst); {
		epoch, index := o.shards.Locate(pos + int64(done))
		part := dst[done:]
		if left := o.shards.EpochLength(epoch) - index; int64(len(part)) > left {
			part = part[:left]
		}
		if !o.fillEpoch(epoch, index, part) {
			return done
		}
		done += len(part)
	}
	return len(dst)
}

// fillEpoch writes the ids of an epoch, from index on. It returns false if positions exceed an
// int64.
func (o *Sharded) fillEpoch(epoch, index int64, dst []int64) bool {
	s := o.shards
	if epoch > (math.MaxInt64-s.Samples)/s.Samples {
		return false
	}
	first, size := epoch*s.Samples+s.First(s.Of(epoch)), s.Size(epoch)
	own := int64(0)
	if index < size {
		own = min(size-index, int64(len(dst)))
		o.order.Fill(first+index, dst[:own])
	}
	for i := own; i < int64(len(dst)); i++ {
		o.order.Fill(first+size-1, dst[i:i+1])
	}
	return true
}

// Len implements Order. The order never ends.
func (o *Sharded) Len() (n int64, ok bool) { return 0, false }

// String implements Order.
func (o *Sharded) String() string {
	s := o.shards
	return fmt.Sprintf("sharded(shard=%d/%d pad=%d stick=%t of %s)", s.ID, s.Count, s.Pad, s.Stick, o.order)
}
