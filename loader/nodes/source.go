package nodes

import (
	"context"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
)

// Skipper is implemented by iterators that can skip values without reading them. Skip returns
// io.EOF if there are fewer than n values.
type Skipper interface {
	Skip(ctx context.Context, n int64) error
}

// reading reads one epoch after the other.
type reading[T any] struct {
	op    string
	it    loader.Iterator[T] // nil if not opened
	count int64              // values passed in this epoch
}

// begin reads an iterator from its beginning, or from after its first skip values.
func (r *reading[T]) begin(ctx context.Context, it loader.Iterator[T], skip int64) (err error) {
	r.it, r.count = it, 0
	if s, ok := it.(Skipper); ok && skip > 0 {
		if err = s.Skip(ctx, skip); err == nil {
			r.count = skip
		}
	} else {
		for r.count < skip && err == nil {
			_, err = r.next(ctx)
		}
	}
	if err == io.EOF {
		return &errs.Error{Kind: errs.Mismatch, Op: "nodes." + r.op, Subject: "state: _num_yielded",
			Want: fmt.Sprint("a source of at least ", skip, " values"), Got: fmt.Sprint("the end after ", r.count, " values"),
			Remedy: "use the source that the state is of, with all its values"}
	}
	return err
}

// next returns the next value. A value that fails counts too.
func (r *reading[T]) next(ctx context.Context) (v T, err error) {
	if err := ctx.Err(); err != nil {
		return v, err
	}
	if v, err = r.it.Next(ctx); err != io.EOF {
		r.count++
	}
	return v, err
}

func (r *reading[T]) close() (err error) {
	if c, ok := r.it.(io.Closer); ok {
		err = c.Close()
	}
	r.it = nil
	return err
}

// iterable is the node of an Iterable.
type iterable[T any] struct {
	reading[T]
	from loader.Iterable[T]
}

// FromIterable returns the node that yields the values of an iterable.
//
// from is opened once an epoch. If it is also a state.Stateful, SetState is called before Open, and
// its state is JSON. Any other source is resumed by skipping the delivered values, with [Skipper]
// if the iterator implements it, else one by one. An iterator must continue after an error. It is
// closed if it is an io.Closer.
func FromIterable[T any](from loader.Iterable[T]) Node[T] {
	return &iterable[T]{reading: reading[T]{op: "FromIterable"}, from: from}
}

func (n *iterable[T]) Reset(ctx context.Context, saved []byte) error {
	if saved == nil {
		return n.open(ctx, 0)
	}
	s, stateful := n.from.(state.Stateful)
	names := []string{"_num_yielded"}
	if stateful {
		names = append(names, "iterable")
	}
	d := parse(n.op, saved, names...)
	count := d.count("_num_yielded")
	if d.err != nil {
		return d.err
	}
	if !stateful {
		return n.open(ctx, count)
	}
	if err := n.close(); err != nil {
		return err
	}
	if err := s.SetState(d.object("iterable")); err != nil {
		return errs.Wrap("nodes."+n.op, "state: iterable", err)
	}
	if err := n.open(ctx, 0); err != nil {
		return err
	}
	n.count = count
	return nil
}

func (n *iterable[T]) open(ctx context.Context, skip int64) error {
	if err := n.close(); err != nil {
		return err
	}
	it, err := n.from.Open(ctx)
	if err != nil {
		return err
	}
	return n.begin(ctx, it, skip)
}

func (n *iterable[T]) Next(ctx context.Context) (v T, err error) {
	if n.it == nil {
		if err := n.Reset(ctx, nil); err != nil {
			return v, err
		}
	}
	return n.next(ctx)
}

func (n *iterable[T]) AppendState(dst []byte) ([]byte, error) {
	dst = appendCount(append(dst, '{'), "_num_yielded", n.count)
	if s, ok := n.from.(state.Stateful); ok {
		var err error
		if dst, err = appendState(dst, "iterable", s); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func (n *iterable[T]) Close() error { return n.close() }

// FromSlice returns the node that yields the values of a slice. It does not copy the slice.
func FromSlice[T any](values []T) Node[T] { return FromIterable[T](slice[T](values)) }

type slice[T any] []T

func (s slice[T]) Open(context.Context) (loader.Iterator[T], error) { return &sliceIterator[T]{s}, nil }

type sliceIterator[T any] struct{ rest []T }

func (i *sliceIterator[T]) Next(context.Context) (v T, err error) {
	if len(i.rest) == 0 {
		return v, io.EOF
	}
	v, i.rest = i.rest[0], i.rest[1:]
	return v, nil
}

func (i *sliceIterator[T]) Skip(_ context.Context, n int64) error {
	if n > int64(len(i.rest)) {
		return io.EOF
	}
	i.rest = i.rest[n:]
	return nil
}
