package nodes

import (
	"context"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// Sampler yields ids, or lists of ids. It is opened once an epoch. If it is an [order.EpochSetter],
// SetEpoch is called before each Open.
type Sampler[T any] interface {
	Open() order.Cursor[T]
}

// SamplerOptions say how to count the epochs of a sampler.
type SamplerOptions struct {
	InitialEpoch int64
	// NextEpoch returns the number of the epoch after the given one; nil adds 1. It is called when an
	// epoch begins, if Next was called in the epoch before.
	NextEpoch func(epoch int64) int64
}

// sampler is the node of a sampler.
type sampler[T any] struct {
	reading[T]
	from      Sampler[T]
	epoch     int64
	nextEpoch func(int64) int64
	asked     bool // Next was called since the last Reset
}

// FromSampler returns the node that yields the items of a sampler. Unlike [FromIterable], it tells
// the sampler the epoch (see [order.EpochSetter]) and keeps the epoch in the state. If the sampler
// is a state.Stateful, its state must include the epoch.
func FromSampler[T any](from Sampler[T], o SamplerOptions) Node[T] {
	if o.NextEpoch == nil {
		o.NextEpoch = func(epoch int64) int64 { return epoch + 1 }
	}
	return &sampler[T]{reading: reading[T]{op: "FromSampler"}, from: from, epoch: o.InitialEpoch, nextEpoch: o.NextEpoch}
}

func (n *sampler[T]) Reset(ctx context.Context, saved []byte) error {
	if saved != nil {
		err := n.resume(ctx, saved)
		n.asked = n.count > 0
		return err
	}
	if n.asked {
		n.epoch = n.nextEpoch(n.epoch)
	}
	n.setEpoch()
	return n.open(ctx, 0)
}

func (n *sampler[T]) resume(ctx context.Context, saved []byte) error {
	s, stateful := n.from.(state.Stateful)
	names := []string{"_num_yielded", "_epoch"}
	if stateful {
		names = append(names, "_sampler")
	}
	d := parse(n.op, saved, names...)
	count, epoch := d.count("_num_yielded"), read[int64](d, "_epoch", "an integer", nil)
	if d.err != nil {
		return d.err
	}
	if !stateful {
		n.epoch = epoch
		n.setEpoch()
		return n.open(ctx, count)
	}
	if err := s.SetState(d.object("_sampler")); err != nil {
		return errs.Wrap("nodes."+n.op, "state: _sampler", err)
	}
	n.epoch = epoch
	if err := n.open(ctx, 0); err != nil {
		return err
	}
	n.count = count
	return nil
}

func (n *sampler[T]) open(ctx context.Context, skip int64) error {
	n.asked = false
	if err := n.close(); err != nil {
		return err
	}
	return n.begin(ctx, cursorIterator[T]{n.from.Open()}, skip)
}

func (n *sampler[T]) setEpoch() {
	if s, ok := n.from.(order.EpochSetter); ok {
		s.SetEpoch(n.epoch)
	}
}

func (n *sampler[T]) Next(ctx context.Context) (v T, err error) {
	if n.it == nil {
		if err := n.Reset(ctx, nil); err != nil {
			return v, err
		}
	}
	n.asked = true
	return n.next(ctx)
}

func (n *sampler[T]) AppendState(dst []byte) ([]byte, error) {
	dst = appendCount(append(dst, '{'), "_num_yielded", n.count)
	dst = appendCount(dst, "_epoch", n.epoch)
	if s, ok := n.from.(state.Stateful); ok {
		var err error
		if dst, err = appendState(dst, "_sampler", s); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (n *sampler[T]) Close() error { return n.close() }

// cursorIterator makes a Cursor an Iterator.
type cursorIterator[T any] struct{ order.Cursor[T] }

func (c cursorIterator[T]) Next(context.Context) (T, error) {
	v, ok, err := c.Cursor.Next()
	if err == nil && !ok {
		err = io.EOF
	}
	return v, err
}

func (c cursorIterator[T]) Skip(ctx context.Context, n int64) error {
	if s, ok := c.Cursor.(Skipper); ok {
		return s.Skip(ctx, n)
	}
	for ; n > 0; n-- {
		if _, err := c.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Ordered is a sampler with an order for each epoch. Seeking takes the time that the order needs.
type Ordered struct {
	// Of returns the order of an epoch.
	Of    func(epoch int64) order.Order
	epoch int64
}

// SetEpoch implements [order.EpochSetter].
func (s *Ordered) SetEpoch(epoch int64) { s.epoch = epoch }

// Open implements [Sampler].
func (s *Ordered) Open() order.Cursor[int64] { return &orderCursor{order: s.Of(s.epoch)} }

// orderCursor reads an order in blocks.
type orderCursor struct {
	order order.Order
	pos   int64 // position after the block
	ids   [64]int64
	block []int64 // rest of ids
}

func (c *orderCursor) Next() (id int64, ok bool, err error) {
	if len(c.block) == 0 {
		n := c.order.Fill(c.pos, c.ids[:])
		if n == 0 {
			return 0, false, nil
		}
		c.block = c.ids[:n]
		c.pos += int64(n)
	}
	id, c.block = c.block[0], c.block[1:]
	return id, true, nil
}

// Skip implements [Skipper].
func (c *orderCursor) Skip(_ context.Context, n int64) error {
	c.pos += n - int64(len(c.block))
	c.block = nil
	if length, ok := c.order.Len(); ok && c.pos > length {
		return io.EOF
	}
	return nil
}

// FromMap returns the node that yields at(id) for the ids of a sampler: [Map] over
// [FromSampler].
func FromMap[T any](at func(ctx context.Context, id int64) (T, error), ids Sampler[int64], o SamplerOptions) Node[T] {
	return Map(FromSampler(ids, o), at)
}
