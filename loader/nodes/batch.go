package nodes

import (
	"context"
	"io"

	"github.com/bivouac-ml/bivouac/order"
)

// Batch returns the node that yields slices of size values. tail is Short or Drop: the last slice
// of an epoch has fewer values, or is left out. The consumer owns the slices. The error is of kind
// errs.Invalid.
func Batch[T any](source Node[T], size int, tail order.Tail) (Node[[]T], error) {
	if size < 1 {
		return nil, invalid("Batch", "size", "at least 1", size)
	}
	if tail != order.Short && tail != order.Drop {
		return nil, invalid("Batch", "tail", "order.Short or order.Drop", tail)
	}
	return &batcher[T]{source: source, size: size, tail: tail}, nil
}

type batcher[T any] struct {
	source Node[T]
	size   int
	tail   order.Tail
	part   []T      // values of a batch that an error interrupted
	before snapshot // state of the source before these values
	keeper
}

func (n *batcher[T]) Reset(ctx context.Context, state []byte) error {
	n.part = nil
	sketched(n.source, &n.book)
	return resetSource(ctx, "Batch", n.source, state)
}

func (n *batcher[T]) Next(ctx context.Context) (batch []T, err error) {
	if batch, n.part = n.part, nil; batch == nil {
		if err = n.take(&n.before, n.source); err != nil {
			return nil, err
		}
		batch = make([]T, 0, n.size)
	}
	for len(batch) < n.size {
		v, err := n.source.Next(ctx)
		if err == io.EOF {
			if len(batch) == 0 || n.tail == order.Drop {
				return nil, io.EOF
			}
			return batch, nil
		}
		if err != nil {
			n.part = batch
			return nil, err
		}
		batch = append(batch, v)
	}
	return batch, nil
}

func (n *batcher[T]) AppendState(dst []byte) ([]byte, error) {
	dst = appendKey(append(dst, '{'), "source")
	var err error
	if n.part == nil {
		dst, err = n.appendNow(dst, n.source)
	} else {
		dst, err = n.keeper.append(dst, &n.before)
	}
	return append(dst, '}'), err
}

func (n *batcher[T]) Close() error { return n.source.Close() }

// Unbatch returns the node that yields the values of slices one by one. To resume, it reads the
// slice again.
func Unbatch[T any](source Node[[]T]) Node[T] { return &unbatcher[T]{source: source} }

type unbatcher[T any] struct {
	source Node[[]T]
	batch  []T
	index  int      // index of the next value in batch
	before snapshot // state of the source before batch; empty if not known yet
	keeper
}

func (n *unbatcher[T]) Reset(ctx context.Context, state []byte) error {
	n.batch, n.index, n.before = nil, 0, snapshot{}
	sketched(n.source, &n.book)
	if state == nil {
		return n.source.Reset(ctx, nil)
	}
	d := parse("Unbatch", state, "source", "batch_idx")
	index := d.count("batch_idx")
	if d.err != nil {
		return d.err
	}
	if err := n.source.Reset(ctx, d.object("source")); err != nil {
		return err
	}
	if err := n.pull(ctx); err != nil && err != io.EOF {
		return err
	}
	n.index = int(min(index, int64(len(n.batch))))
	return nil
}

// pull reads the next slice. After an error the position is the beginning of the slice.
func (n *unbatcher[T]) pull(ctx context.Context) (err error) {
	if err = n.take(&n.before, n.source); err != nil {
		return err
	}
	batch, err := n.source.Next(ctx)
	if err == io.EOF {
		return err // the index stays, as in torchdata
	}
	n.batch, n.index = batch, 0
	return err
}

func (n *unbatcher[T]) Next(ctx context.Context) (v T, err error) {
	for n.index >= len(n.batch) {
		if err := n.pull(ctx); err != nil {
			return v, err
		}
	}
	n.index++
	return n.batch[n.index-1], nil
}

func (n *unbatcher[T]) AppendState(dst []byte) ([]byte, error) {
	dst = appendKey(append(dst, '{'), "source")
	var err error
	if len(n.before.text) == 0 {
		dst, err = n.appendNow(dst, n.source)
	} else {
		dst, err = n.keeper.append(dst, &n.before)
	}
	return append(appendCount(dst, "batch_idx", int64(n.index)), '}'), err
}

func (n *unbatcher[T]) Close() error { return n.source.Close() }
