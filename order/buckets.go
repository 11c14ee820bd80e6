package order

import (
	"fmt"
	"slices"
	"sort"

	"github.com/bivouac-ml/bivouac/errs"
)

// Buckets is an order in which the samples of a batch have similar lengths. As in Packs, samples
// change places only within a block of positions. A block is a whole number of batches:
//
//   - The samples of a block are sorted by the bucket of their length. Within a bucket they
//     keep the order below.
//   - The sorted samples are cut into batches. If a bucket ends within a batch, samples of the
//     next longer bucket fill the batch.
//   - The batches come in the order of their first sample.
//
// Buckets is immutable except for the cached block, and safe for concurrent use.
type Buckets struct {
	planned
	lengths *Lengths
	bounds  []int64
	batch   int64
}

// NewBuckets sorts the samples of an order into buckets. Bucket i has the lengths from bounds[i-1]
// to below bounds[i]. block is the number of positions of a block, a multiple of batch; 0 means 64
// batches. The error is of kind errs.Invalid if block is not a multiple of batch, or if the bounds
// do not rise.
func NewBuckets(o Order, lengths *Lengths, bounds []int64, batch, block int64) (*Buckets, error) {
	if block == 0 && batch <= maxBlock/64 {
		block = 64 * batch
	}
	rise := slices.IsSorted(bounds) && len(slices.Compact(slices.Clone(bounds))) == len(bounds)
	if batch < 1 || block%max(batch, 1) != 0 || !rise {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewBuckets",
			Want: "rising bounds and blocks of whole batches", Got: fmt.Sprintf("bounds %v, blocks of %d, batches of %d", bounds, block, batch)}
	}
	b := &Buckets{lengths: lengths, bounds: slices.Clone(bounds), batch: batch}
	var err error
	b.planned, err = makePlanned("order.NewBuckets", o, block, batch, b.sort)
	return b, err
}

// over returns the same buckets over another order.
func (b *Buckets) over(o Order) *Buckets {
	next := &Buckets{lengths: b.lengths, bounds: b.bounds, batch: b.batch}
	next.order, next.epoch, next.block, next.plan = o, b.epoch, b.block, next.sort
	return next
}

// Bucket returns the bucket of a length.
func (b *Buckets) Bucket(length int64) int {
	return sort.Search(len(b.bounds), func(i int) bool { return b.bounds[i] > length })
}

// sort plans a block. A short batch stays at the end of its epoch.
func (b *Buckets) sort(ids []int64) []int32 {
	places := make([]int32, len(ids))
	buckets := make([]int, len(ids))
	for i, id := range ids {
		places[i], buckets[i] = int32(i), b.Bucket(b.lengths.Of(id))
	}
	slices.SortStableFunc(places, func(x, y int32) int { return buckets[x] - buckets[y] })
	var batches [][]int32
	for batch := range slices.Chunk(places, int(b.batch)) {
		batches = append(batches, batch)
	}
	return arrange(ids, batches, len(ids)/int(b.batch))
}

// Fill implements Order.
func (b *Buckets) Fill(pos int64, dst []int64) int { return b.fill(pos, dst) }

// Len implements Order.
func (b *Buckets) Len() (n int64, ok bool) { return b.order.Len() }

// EpochLen implements Epochs.
func (b *Buckets) EpochLen() int64 { return b.epoch }

// String implements Order.
func (b *Buckets) String() string { return b.describe(b.lengths, b.order.String()) }

// describe returns the String of these buckets over an order with the description below and these
// lengths.
func (b *Buckets) describe(lengths *Lengths, below string) string {
	return fmt.Sprintf("buckets(v%d batch=%d block=%d bounds=%v %s of %s)", plannedVersion, b.batch, b.block, b.bounds, lengths, below)
}
