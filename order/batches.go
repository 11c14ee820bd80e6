package order

import (
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// Epochs is an order whose epochs have equal length. Epoch e has the positions [e*EpochLen(),
// (e+1)*EpochLen()).
type Epochs interface {
	Order
	EpochLen() int64
}

// epochLen returns the length of the epochs of an order. For an order without epochs it returns the
// length of the order, or math.MaxInt64 if the order does not end.
func epochLen(o Order) int64 {
	if e, ok := o.(Epochs); ok {
		return e.EpochLen()
	}
	if n, ok := o.Len(); ok {
		return n
	}
	return math.MaxInt64
}

// Batches are the global batches of an order, by number. They do not depend on ranks or on the
// world size. Batches are immutable, and all methods take constant time.
type Batches struct {
	order    Order
	size     int64
	tail     Tail
	epoch    int64 // positions of an epoch, or of the whole order if batches span epochs
	perEpoch int64 // batches of an epoch
	epochs   int64 // 0 if they never end
	most     int64 // the last epoch whose positions fit into an int64
}

// NewBatches cuts an order into batches of size samples. If the order has no epochs, the whole
// order is one epoch. The error is of kind errs.Invalid if size < 1, or if Drop leaves no batch in
// an epoch.
func NewBatches(o Order, size int64, tail Tail) (*Batches, error) {
	b := &Batches{order: o, size: size, tail: tail, epoch: epochLen(o), epochs: 1}
	total, ends := o.Len()
	switch {
	case size < 1 || tail > Pad:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewBatches", Want: "a size of at least 1 and a known tail",
			Got: fmt.Sprintf("size %d, tail %s", size, tail)}
	case tail == Span && ends:
		b.epoch = total
	case tail == Span:
		b.epoch = math.MaxInt64
	case !ends && b.epoch < math.MaxInt64:
		b.epochs = 0
	case ends && b.epoch > 0:
		b.epochs = total / b.epoch
	}
	b.most = math.MaxInt64/max(b.epoch, 1) - 1
	b.perEpoch = b.epoch / size
	if tail != Drop && b.epoch%size > 0 {
		b.perEpoch++
	}
	if b.perEpoch == 0 && b.epoch > 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewBatches",
			Want: fmt.Sprintf("a size of at most %d, the samples of an epoch (the tail drop leaves no batch)", b.epoch), Got: fmt.Sprint(size)}
	}
	return b, nil
}

// Batch is a global batch of Len samples. The first Own samples are at the positions from First on.
// The remaining samples come from the start of the epoch.
type Batch struct {
	Epoch           int64 // 0 if batches span epochs
	First, Own, Len int64
}

// At returns batch t, counted from 0. ok is false after the last batch.
func (b *Batches) At(t int64) (batch Batch, ok bool) {
	if t < 0 || b.perEpoch == 0 {
		return Batch{}, false
	}
	epoch, k := int64(0), t
	if t >= b.perEpoch {
		epoch, k = t/b.perEpoch, t%b.perEpoch
	}
	if b.epochs > 0 && epoch >= b.epochs || epoch > b.most {
		return Batch{}, false
	}
	own := min(b.size, b.epoch-k*b.size)
	batch = Batch{Epoch: epoch, First: epoch*b.epoch + k*b.size, Own: own, Len: own}
	if b.tail == Pad {
		batch.Len = b.size
	}
	return batch, true
}

// Len returns the number of batches. ok is false if they never end.
func (b *Batches) Len() (n int64, ok bool) {
	if b.epochs == 0 || b.epoch == math.MaxInt64 {
		return 0, b.epoch == 0
	}
	return b.epochs * b.perEpoch, true
}

// PerEpoch returns the number of batches in an epoch, or in the whole order if batches span epochs.
func (b *Batches) PerEpoch() int64 { return b.perEpoch }

// Fill writes the samples of batch t into dst, from the given place in the batch on. It returns how
// many it wrote.
func (b *Batches) Fill(t, place int64, dst []int64) int {
	batch, ok := b.At(t)
	if !ok || place < 0 || place >= batch.Len {
		return 0
	}
	return b.fill(batch, place, dst)
}

// fill works like Fill for a batch that exists.
func (b *Batches) fill(batch Batch, place int64, dst []int64) int {
	if place+int64(len(dst)) <= batch.Own {
		return b.order.Fill(batch.First+place, dst)
	}
	dst = dst[:min(int64(len(dst)), batch.Len-place)]
	done := 0
	if place < batch.Own {
		done = b.order.Fill(batch.First+place, dst[:min(int64(len(dst)), batch.Own-place)])
	}
	for done < len(dst) && place+int64(done) >= batch.Own {
		again := (place + int64(done) - batch.Own) % b.epoch
		got := b.order.Fill(batch.Epoch*b.epoch+again, dst[done:min(int64(len(dst)), int64(done)+b.epoch-again)])
		if got == 0 {
			break
		}
		done += got
	}
	return done
}

// String describes the batches with all their parameters.
func (b *Batches) String() string {
	return fmt.Sprintf("batches(size=%d tail=%s of %s)", b.size, b.tail, b.order)
}

// Rank is one rank's part of global batches. If a batch has n samples, rank r of world size w has
// the samples from r*n/w up to but not including (r+1)*n/w, both rounded down. For every w the
// parts of all ranks make up the batch. So a run can continue from the same batch with another
// world size, and no sample is lost or repeated. Rank is an Order of the rank's samples.
type Rank struct {
	batches     *Batches
	rank, world int64
	first, full int64 // the rank's slice of a whole batch
	last        int64 // the rank's samples of the last batch of an epoch
	epoch       int64 // the rank's samples of an epoch; the samples of all epochs may exceed an int64
	shard       bool  // NewShard made it
}

// NewRank returns a rank's part of b. The error is of kind errs.Invalid unless 0 <= rank < world <=
// the size of a batch.
func NewRank(b *Batches, rank, world int64) (*Rank, error) {
	if rank < 0 || rank >= world || world > b.size || b.size > math.MaxInt64/world {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewRank", Want: fmt.Sprintf("0 <= rank < world <= %d, the size of a batch", b.size),
			Got: fmt.Sprintf("rank %d, world %d", rank, world)}
	}
	return newRank(b, rank, world, false), nil
}

// NewShard returns a rank's part of batches of o that span epochs. The last batch may be short
// because o ends. Then each rank has the samples that lie in its slice of a whole batch. NewRank
// instead divides the remaining samples among the ranks. With batch = world a rank has every
// world-th sample. The error is of kind errs.Invalid unless 0 <= rank < world <= batch.
func NewShard(o Order, batch, rank, world int) (*Rank, error) {
	if rank < 0 || rank >= world || batch < world || batch > math.MaxInt/world {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "order.NewShard", Want: "0 <= rank < world <= batch",
			Got: fmt.Sprintf("rank %d, world %d, batch %d", rank, world, batch)}
	}
	b, err := NewBatches(o, int64(batch), Span)
	if err != nil {
		return nil, err
	}
	return newRank(b, int64(rank), int64(world), true), nil
}

func newRank(b *Batches, rank, world int64, shard bool) *Rank {
	first, end := Slice(b.size, rank, world)
	r := &Rank{batches: b, rank: rank, world: world, first: first, full: end - first, last: end - first, shard: shard}
	if b.tail == Short || b.tail == Span {
		if rest := b.epoch % b.size; rest > 0 {
			_, r.last = r.slice(rest)
		}
	}
	r.epoch = max(b.perEpoch-1, 0)*r.full + min(b.perEpoch, 1)*r.last
	return r
}

// slice returns the part of a batch of n samples that belongs to the rank.
func (r *Rank) slice(n int64) (first, length int64) {
	switch {
	case n == r.batches.size:
		return r.first, r.full
	case r.shard:
		return min(r.first, n), min(max(n-r.first, 0), r.full)
	}
	first, end := Slice(n, r.rank, r.world)
	return first, end - first
}

// Slice returns the range [lo, hi) of n samples, or packs, of a global batch that belongs to a rank
// of world ranks. The ranges of all ranks make up the batch, for every world.
func Slice[T int | int64](n, rank, world T) (lo, hi T) {
	return rank * n / world, (rank + 1) * n / world
}

// Batch returns the positions [first, first+n) of the rank that belong to batch t. ok is false
// after the last batch.
func (r *Rank) Batch(t int64) (first, n int64, ok bool) {
	batch, ok := r.batches.At(t)
	if !ok {
		return 0, 0, false
	}
	_, n = r.slice(batch.Len)
	per := r.batches.perEpoch
	return t/per*r.epoch + t%per*r.full, n, true
}

// Fill implements Order. Positions count the samples of the rank.
func (r *Rank) Fill(pos int64, dst []int64) int {
	if pos < 0 || r.epoch == 0 {
		return 0
	}
	per := r.batches.perEpoch
	epoch, i := pos/r.epoch, pos%r.epoch
	if epoch > r.batches.most {
		return 0
	}
	k := min(i/r.full, per-1)
	done := 0
	for t, skip := epoch*per+k, i-k*r.full; done < len(dst); t, skip = t+1, 0 {
		batch, ok := r.batches.At(t)
		if !ok {
			break
		}
		first, n := r.slice(batch.Len)
		want := min(n-skip, int64(len(dst)-done))
		got := r.batches.fill(batch, first+skip, dst[done:int64(done)+want])
		done += got
		if int64(got) < want {
			break
		}
	}
	return done
}

// Len implements Order.
func (r *Rank) Len() (n int64, ok bool) {
	if _, ok := r.batches.Len(); !ok {
		return 0, r.epoch == 0
	}
	return r.batches.epochs * r.epoch, true
}

// String implements Order.
func (r *Rank) String() string {
	if r.shard {
		return fmt.Sprintf("shard(batch=%d rank=%d/%d of %s)", r.batches.size, r.rank, r.world, r.batches.order)
	}
	return fmt.Sprintf("rank(%d/%d of %s)", r.rank, r.world, r.batches)
}
