package loader

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/state"
)

// lane is a copy of the data set with its position in a pass. Its tasks run in order, on one
// goroutine at a time.
type lane[S any] struct {
	index, of int
	start     protocol.LaneStart
	info      WorkerInfo
	ctx       context.Context

	data     source[S] // empty until the lane is opened
	cloned   bool      // data belongs to this lane only
	initial  []byte    // state of the data set before it was opened
	bulk     Bulk[S]
	iterator Iterator[S]
	self     bool  // the data set is its own iterator
	items    int64 // items read from the iterator in this pass
	ended    bool
	partial  []S // items of a batch that an end of the context cut short
}

func (l *lane[S]) name() string { return "worker " + strconv.Itoa(l.index) }

// keep takes over the data set that the same lane had in the pass before.
func (l *lane[S]) keep(before *lane[S]) {
	l.data, l.cloned = before.data, before.cloned
}

// open makes the lane ready to read. LaneStart has the order of its steps.
func (l *lane[S]) open(src source[S], alone bool, workerInit func(context.Context) error) error {
	l.info = WorkerInfo{ID: l.index, N: l.of, Seed: l.start.Seed}
	if l.start.N > 0 {
		l.info.ID, l.info.N = l.start.ID, l.start.N
	}
	if l.start.Context != nil {
		l.ctx = l.start.Context(l.ctx)
	}
	if l.data.mapped == nil && l.data.iterable == nil {
		l.data = src
		if !alone {
			var err error
			if l.data, l.cloned, err = src.clone(l.ctx); err != nil {
				l.data, l.cloned = source[S]{}, false
				return err
			}
		}
	}
	l.info.Dataset = l.data.dataset()
	if workerInit != nil {
		if err := workerInit(l.ctx); err != nil {
			return errs.Wrap("", "worker init", err)
		}
	}
	if l.start.Dataset != nil {
		if err := setState(l.data.dataset(), "data set", l.start.Dataset); err != nil {
			return err
		}
	}
	if d, ok := l.data.dataset().(state.Stateful); ok {
		var err error
		if l.initial, err = d.AppendState([]byte{}); err != nil {
			return errs.Wrap("", "state of the data set", err)
		}
	}
	l.bulk, _ = l.data.mapped.(Bulk[S])
	if l.data.iterable == nil {
		return nil
	}
	return l.openIterator()
}

func (l *lane[S]) openIterator() error {
	it, err := l.data.iterable.Open(l.ctx)
	if err != nil {
		return err
	}
	if it == nil {
		return &errs.Error{Kind: errs.Invalid, Subject: "data set", Want: "an iterator from Open", Got: "nil"}
	}
	l.iterator, l.items, l.ended = it, l.start.Items, l.start.Ended
	if l.self = same(it, l.data.iterable); l.self && l.of > 1 && !l.cloned {
		l.iterator = nil
		return &errs.Error{Kind: errs.Invalid, Subject: "data set",
			Want: "a data set with a Clone method, for several streams",
			Got:  "a data set that is its own iterator and has no Clone"}
	}
	if l.start.Iterator != nil {
		if err := setState(it, "iterator", l.start.Iterator); err != nil {
			return err
		}
	}
	return l.skip(l.start.Skip)
}

// skip reads n items and drops them.
func (l *lane[S]) skip(n int64) error {
	for range n {
		if _, err := l.iterator.Next(l.ctx); errors.Is(err, io.EOF) {
			return &errs.Error{Kind: errs.Mismatch, Subject: "data set",
				Want: "at least " + strconv.FormatInt(n, 10) + " items, as in the state",
				Got:  "an end before", Remedy: "the data set has fewer items than before: use the one that the state is of"}
		}
		if err := l.ctx.Err(); err != nil {
			return context.Cause(l.ctx)
		}
	}
	return nil
}

func setState(v any, what string, b []byte) error {
	s, ok := v.(state.Stateful)
	if !ok {
		return &errs.Error{Kind: errs.Mismatch, Subject: what, Want: "one with a state, as before",
			Got: "one without a state"}
	}
	return errs.Wrap("", "state of the "+what, s.SetState(b))
}

// state returns the state of the lane.
func (l *lane[S]) state() (s protocol.LaneState, err error) {
	s.Items, s.Ended = l.items, l.ended
	if d, ok := l.data.dataset().(state.Stateful); ok && !l.self {
		if s.Dataset, err = d.AppendState([]byte{}); err != nil {
			return s, errs.Wrap("", "state of the data set", err)
		}
	}
	if it, ok := l.iterator.(state.Stateful); ok {
		if s.Iterator, err = it.AppendState([]byte{}); err != nil {
			return s, errs.Wrap("", "state of the iterator", err)
		}
	}
	return s, nil
}

// closeIterator ends the pass of the lane.
func (l *lane[S]) closeIterator() error {
	it := l.iterator
	l.iterator = nil
	if it == nil || l.self {
		return nil
	}
	return closeIfCloser(it)
}

// discard drops the lane and the data set that belongs to it only.
func (l *lane[S]) discard() error {
	err := l.closeIterator()
	if l.cloned {
		err = errors.Join(err, closeIfCloser(l.data.dataset()))
	}
	l.data, l.cloned = source[S]{}, false
	return err
}
