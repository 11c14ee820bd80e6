package nodes

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
)

// Map returns the node that yields fn of each value. fn runs in the goroutine that calls Next.
func Map[S, T any](source Node[S], fn func(ctx context.Context, v S) (T, error)) Node[T] {
	return &enveloped[T]{&mapper[S, T]{source, fn}}
}

// mapper calls its function in Next.
type mapper[S, T any] struct {
	source Node[S]
	fn     func(context.Context, S) (T, error)
}

func (n *mapper[S, T]) Reset(ctx context.Context, state []byte) error {
	return resetSource(ctx, "Map", n.source, state)
}

func (n *mapper[S, T]) Next(ctx context.Context) (v T, err error) {
	in, err := n.source.Next(ctx)
	if err != nil {
		return v, err
	}
	if v, err = call(ctx, n.fn, in); err != nil {
		var zero T
		return zero, errs.Wrap("nodes.Map", "", err)
	}
	return v, nil
}

func (n *mapper[S, T]) AppendState(dst []byte) ([]byte, error) { return appendSource(dst, n.source) }

func (n *mapper[S, T]) sketch(b *book) { sketched(n.source, b) }

func (n *mapper[S, T]) Close() error { return n.source.Close() }

// enveloped is a node whose state has one field, it_state, with the state of another node.
type enveloped[T any] struct{ inner Node[T] }

func (n *enveloped[T]) Reset(ctx context.Context, state []byte) error {
	if state == nil {
		return n.inner.Reset(ctx, nil)
	}
	d := parse("Map", state, "it_state")
	if d.err != nil {
		return d.err
	}
	return n.inner.Reset(ctx, d.object("it_state"))
}

func (n *enveloped[T]) Next(ctx context.Context) (T, error) { return n.inner.Next(ctx) }

func (n *enveloped[T]) AppendState(dst []byte) ([]byte, error) {
	dst, err := appendState(append(dst, '{'), "it_state", n.inner)
	return append(dst, '}'), err
}

func (n *enveloped[T]) sketch(b *book) { sketched(n.inner, b) }

func (n *enveloped[T]) Close() error { return n.inner.Close() }

// resetSource resets the source of a node whose state is {"source": …}.
func resetSource[S any](ctx context.Context, op string, source Node[S], state []byte) error {
	if state == nil {
		return source.Reset(ctx, nil)
	}
	d := parse(op, state, "source")
	if d.err != nil {
		return d.err
	}
	return source.Reset(ctx, d.object("source"))
}

// appendSource appends {"source": …}.
func appendSource(dst []byte, source appender) ([]byte, error) {
	dst, err := appendState(append(dst, '{'), "source", source)
	return append(dst, '}'), err
}
