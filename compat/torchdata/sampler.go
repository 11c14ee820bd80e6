package torchdata

import (
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// Samples is the part of a data set that a sampler uses. Samplers call Len in each epoch, because
// data sets may grow.
type Samples interface{ Len() int64 }

// Range is the Samples 0 to n-1, where n is its value.
type Range int64

// Len implements Samples.
func (n Range) Len() int64 { return int64(n) }

// SequentialSampler is torch's SequentialSampler: the samples in order. It has no state.
type SequentialSampler struct{ samples Samples }

// NewSequentialSampler returns the sampler of a data set.
func NewSequentialSampler(s Samples) *SequentialSampler { return &SequentialSampler{s} }

// Open implements order.Sampler.
func (s *SequentialSampler) Open() order.Cursor[int64] { return &counting{end: s.samples.Len()} }

// Len implements order.Sampler.
func (s *SequentialSampler) Len() int64 { return s.samples.Len() }

type counting struct{ next, end int64 }

func (c *counting) Next() (int64, bool, error) {
	if c.next >= c.end {
		return 0, false, nil
	}
	c.next++
	return c.next - 1, true, nil
}

// ListSampler yields its elements, ids or batches of ids, in each epoch, like a list or an iterable
// without a state. With T int64 it is an order.Sampler, and with T []int64 an order.BatchSampler.
type ListSampler[T any] []T

// Open implements order.Sampler or order.BatchSampler.
func (s ListSampler[T]) Open() order.Cursor[T] { return &listing[T]{rest: s} }

// Len implements order.Sampler or order.BatchSampler.
func (s ListSampler[T]) Len() int64 { return int64(len(s)) }

type listing[T any] struct{ rest []T }

func (l *listing[T]) Next() (v T, ok bool, err error) {
	if len(l.rest) == 0 {
		return v, false, nil
	}
	v, l.rest = l.rest[0], l.rest[1:]
	return v, true, nil
}

// lazy is like a generator function of Python: its beginning runs when the first value is
// requested, and after its end or an error no value follows.
type lazy[T any] struct {
	begin func() (next func() (T, bool, error), err error)
	next  func() (T, bool, error)
	ended bool
}

func (l *lazy[T]) Next() (v T, ok bool, err error) {
	if l.ended {
		return v, false, nil
	}
	if l.next == nil {
		if l.next, err = l.begin(); err != nil {
			l.ended = true
			return v, false, err
		}
	}
	if v, ok, err = l.next(); !ok || err != nil {
		l.ended = true
	}
	return v, ok, err
}

// skipping skips the first n values when the first value is requested.
func skipping[T any](c order.Cursor[T], n int64) order.Cursor[T] {
	return &lazy[T]{begin: func() (func() (T, bool, error), error) {
		for range n {
			if _, ok, err := c.Next(); !ok || err != nil {
				return c.Next, err
			}
		}
		return c.Next, nil
	}}
}

// stateOf returns the state of a value, or null if it has none.
func stateOf(v any) (json.RawMessage, error) {
	s, ok := v.(state.Stateful)
	if !ok {
		return nil, nil
	}
	b, err := s.AppendState(nil)
	if err != nil {
		return nil, err
	}
	return embed(b), nil
}

// isStateful reports whether a value has a state.
func isStateful(v any) bool {
	_, ok := v.(state.Stateful)
	return ok
}

// restore sets the state of a value, if the value has one.
func restore(v any, raw json.RawMessage) error {
	s, ok := v.(state.Stateful)
	if !ok {
		return nil
	}
	b, err := extract(raw)
	if err != nil {
		return err
	}
	return s.SetState(b)
}

// restoreAt works like restore for a sampler of which drawn samples were drawn in the epoch. At the
// beginning of an epoch torchdata's distributed sampler still has the state of the epoch before,
// which would be skipped again.
func restoreAt(v any, raw json.RawMessage, drawn int64) error {
	if err := restore(v, raw); err != nil {
		return err
	}
	if d, ok := v.(*StatefulDistributedSampler); ok && drawn == 0 {
		d.resumed = nil
	}
	return nil
}

// badSampler returns the error for a state from which a sampler cannot continue.
func badSampler(op, subject, want string, got any) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: subject, Want: want, Got: fmt.Sprint(got)}
}
