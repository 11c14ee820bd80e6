package nodes

import (
	"context"
	"io"
)

// Filter returns the node that yields the values for which keep returns true.
func Filter[T any](source Node[T], keep func(ctx context.Context, v T) (bool, error)) Node[T] {
	return &filter[T]{source: source, keep: keep}
}

type filter[T any] struct {
	source            Node[T]
	keep              func(context.Context, T) (bool, error)
	filtered, yielded int64
}

func (n *filter[T]) Reset(ctx context.Context, state []byte) error {
	n.filtered, n.yielded = 0, 0
	if state == nil {
		return n.source.Reset(ctx, nil)
	}
	d := parse("Filter", state, "source", "num_filtered", "num_yielded")
	filtered, yielded := d.count("num_filtered"), d.count("num_yielded")
	if d.err != nil {
		return d.err
	}
	if err := n.source.Reset(ctx, d.object("source")); err != nil {
		return err
	}
	n.filtered, n.yielded = filtered, yielded
	return nil
}

func (n *filter[T]) Next(ctx context.Context) (v T, err error) {
	for {
		v, err := n.source.Next(ctx)
		if err != nil {
			return v, err
		}
		good, err := call(ctx, n.keep, v)
		if err != nil {
			var zero T
			return zero, err
		}
		if good {
			n.yielded++
			return v, nil
		}
		n.filtered++
	}
}

func (n *filter[T]) AppendState(dst []byte) ([]byte, error) {
	dst, err := appendState(append(dst, '{'), "source", n.source)
	dst = appendCount(appendCount(dst, "num_filtered", n.filtered), "num_yielded", n.yielded)
	return append(dst, '}'), err
}

func (n *filter[T]) sketch(b *book) { sketched(n.source, b) }

func (n *filter[T]) Close() error { return n.source.Close() }

// Head returns the node that yields the first count values of an epoch. The error is of
// kind errs.Invalid.
func Head[T any](source Node[T], count int64) (Node[T], error) {
	if count < 0 {
		return nil, invalid("Head", "count", "at least 0", count)
	}
	return &head[T]{source: source, count: count}, nil
}

type head[T any] struct {
	source         Node[T]
	count, yielded int64
}

func (n *head[T]) Reset(ctx context.Context, state []byte) error {
	n.yielded = 0
	if state == nil {
		return n.source.Reset(ctx, nil)
	}
	d := parse("Head", state, "source", "num_yielded")
	yielded := d.count("num_yielded")
	if d.err != nil {
		return d.err
	}
	if err := n.source.Reset(ctx, d.object("source")); err != nil {
		return err
	}
	n.yielded = yielded
	return nil
}

func (n *head[T]) Next(ctx context.Context) (v T, err error) {
	if n.yielded >= n.count {
		return v, io.EOF
	}
	if v, err = n.source.Next(ctx); err == nil {
		n.yielded++
	}
	return v, err
}

func (n *head[T]) AppendState(dst []byte) ([]byte, error) {
	dst, err := appendState(append(dst, '{'), "source", n.source)
	return append(appendCount(dst, "num_yielded", n.yielded), '}'), err
}

func (n *head[T]) sketch(b *book) { sketched(n.source, b) }

func (n *head[T]) Close() error { return n.source.Close() }

// Cycle returns the node that begins again with its source whenever the source has ended. It never
// ends, unless the source is empty.
func Cycle[T any](source Node[T]) Node[T] { return &cycler[T]{source: source} }

type cycler[T any] struct {
	source          Node[T]
	cycles, yielded int64
	started         bool // a value was yielded
}

func (n *cycler[T]) Reset(ctx context.Context, state []byte) error {
	n.cycles, n.yielded, n.started = 0, 0, false
	if state == nil {
		return n.source.Reset(ctx, nil)
	}
	d := parse("Cycle", state, "source", "num_cycles", "has_started", "num_yielded")
	cycles, yielded, started := d.count("num_cycles"), d.count("num_yielded"), d.flag("has_started")
	if d.err != nil {
		return d.err
	}
	if err := n.source.Reset(ctx, d.object("source")); err != nil {
		return err
	}
	n.cycles, n.yielded, n.started = cycles, yielded, started
	return nil
}

func (n *cycler[T]) Next(ctx context.Context) (v T, err error) {
	v, err = n.source.Next(ctx)
	if err == io.EOF && n.started {
		n.cycles++
		if err = n.source.Reset(ctx, nil); err != nil {
			return v, err
		}
		v, err = n.source.Next(ctx)
	}
	if err == nil {
		n.started = true
		n.yielded++
	}
	return v, err
}

func (n *cycler[T]) AppendState(dst []byte) ([]byte, error) {
	dst, err := appendState(append(dst, '{'), "source", n.source)
	dst = appendFlag(appendCount(dst, "num_cycles", n.cycles), "has_started", n.started)
	return append(appendCount(dst, "num_yielded", n.yielded), '}'), err
}

func (n *cycler[T]) sketch(b *book) { sketched(n.source, b) }

func (n *cycler[T]) Close() error { return n.source.Close() }
