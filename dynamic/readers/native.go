package readers

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
)

// native is Bivouac's own mode.
type native struct{}

// String implements Compat.
func (native) String() string { return "" }

// Check implements Compat.
func (native) Check(text string) error {
	_, err := parseDocument(text)
	return err
}

// Arrange implements Compat.
func (native) Arrange(r Request) (*Arrangement, error) {
	whole, shards, err := nativeOrder(r)
	if err != nil {
		return nil, err
	}
	m := Metadata{
		EpochSize: shards.Samples, EpochSizePadded: shards.Samples, NumberOfShards: shards.Count, ShardID: shards.ID,
		PadLastBatch: shards.Pad > 0, StickToShard: shards.Stick,
	}
	if m.PadLastBatch {
		m.EpochSizePadded = shards.Largest() * shards.Count
	}
	o := &sharded{whole: whole, shards: shards}
	return o.arrangement(documents{order: o, meta: m, kind: r.Node.Schema.FullName(),
		fingerprint: r.Info.Fingerprint}), nil
}

// nativeOrder returns the order of all samples, and its shards.
func nativeOrder(r Request) (order.Order, order.Shards, error) {
	c := r.Node.Config
	s := order.Shards{
		Samples: r.Info.Samples,
		Count:   int64(op.Get[int](c, "num_shards")),
		ID:      int64(op.Get[int](c, "shard_id")),
		Stick:   op.Get[bool](c, "stick_to_shard") || op.Get[bool](c, "shuffle_after_epoch"),
	}
	if s.Count > s.Samples {
		return nil, s, c.Invalid("num_shards", fmt.Sprintf("at most the %d samples", s.Samples), fmt.Sprint(s.Count), "")
	}
	if op.Get[bool](c, "pad_last_batch") {
		s.Pad = int64(r.BatchSize)
	}
	if !r.Node.Shuffled() {
		return order.NewCycle(s.Samples), s, nil
	}
	seed := r.Node.SeedOr(r.Seed)
	if op.Get[bool](c, "shuffle_after_epoch") && c.Given("shuffle_after_epoch_seed") {
		seed = uint64(op.Get[int](c, "shuffle_after_epoch_seed"))
	}
	return order.NewShuffled(s.Samples, seed, r.Node.Name), s, nil
}

// sharded is the order of one shard. After a resume from a state with other shards, the rest of the
// state's epoch comes first, and then the later epochs.
//
//	position  0 … rest-1        rest …
//	sample    of the remainder  of epoch first+1, first+2, … of the shards
type sharded struct {
	whole  order.Order // epoch after epoch of all samples
	shards order.Shards
	rest   remainder
	first  int64 // the epoch of the remainder
	length int64 // positions of the remainder, with padding; 0 without a remainder
}

// arrangement returns the arrangement of a reader with this order.
func (o *sharded) arrangement(codec documents) *Arrangement {
	a := &Arrangement{Order: o, Codec: codec, Meta: codec.meta, Period: 1, Length: o.epochLength}
	if !o.shards.Stick {
		a.Period = o.shards.Count
	}
	return a
}

// epochLength returns the number of samples of an epoch.
func (o *sharded) epochLength(epoch int64) int64 {
	if o.length > 0 && epoch == o.first {
		return o.length
	}
	return o.shards.EpochLength(epoch)
}

// locate returns the epoch of a position, and the index of the position in this epoch.
func (o *sharded) locate(pos int64) (epoch, index int64) {
	if o.length == 0 {
		return o.shards.Locate(pos)
	}
	if pos < o.length {
		return o.first, pos
	}
	return o.shards.Locate(o.shards.Begin(o.first+1) + pos - o.length)
}

// begin returns the position of the first sample of an epoch.
func (o *sharded) begin(epoch int64) int64 {
	switch {
	case o.length == 0:
		return o.shards.Begin(epoch)
	case epoch == o.first:
		return 0
	}
	return o.shards.Begin(epoch) - o.shards.Begin(o.first+1) + o.length
}

// Fill implements order.Order.
func (o *sharded) Fill(pos int64, dst []int64) int {
	for done := range dst {
		epoch, index := o.locate(pos + int64(done))
		at := epoch*o.shards.Samples + o.within(epoch, index)
		if o.whole.Fill(at, dst[done:done+1]) == 0 {
			return done
		}
	}
	return len(dst)
}

// within returns the place of a sample of this shard in the whole epoch.
func (o *sharded) within(epoch, index int64) int64 {
	shard := o.shards.Of(epoch)
	if o.length > 0 && epoch == o.first {
		lo, hi := o.rest.part(shard, o.shards.Count)
		return o.rest.at(min(lo+index, max(lo, hi-1)))
	}
	return o.shards.First(shard) + min(index, o.shards.Size(epoch)-1)
}

// Len implements order.Order. The order never ends.
func (o *sharded) Len() (n int64, ok bool) { return 0, false }

// String implements order.Order. It leaves out the shards, because states fit other numbers of
// shards.
func (o *sharded) String() string { return o.whole.String() }

// goOn returns the order that continues in an epoch of which rest is left. Every shard has a part
// of the rest.
func (o *sharded) goOn(epoch int64, rest remainder) *sharded {
	next := *o
	next.rest, next.first = rest, epoch
	lo, hi := rest.part(o.shards.Of(epoch), o.shards.Count)
	next.length = hi - lo
	if pad := o.shards.Pad; pad > 0 {
		largest := (rest.size + o.shards.Count - 1) / o.shards.Count
		next.length = (largest + pad - 1) / pad * pad
	}
	return &next
}
