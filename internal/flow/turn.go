package flow

import (
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

// Turn detects a call of a method during another call on the same value, for methods that are for
// one goroutine at a time. It is a check and not a lock: no call waits. It also knows whether the
// value was closed.
type Turn struct {
	taken  atomic.Bool
	closed bool // read and written within a call
}

// Take begins a call of method what. The error is of kind errs.Busy if another call is in progress.
// If the error is nil, the caller must call Leave.
func (t *Turn) Take(what string) error {
	if t.taken.CompareAndSwap(false, true) {
		return nil
	}
	return &errs.Error{Kind: errs.Busy, Op: what, Want: "one call at a time",
		Got:    "a call during a call of another goroutine",
		Remedy: "call from one goroutine, or hold a mutex during the calls and while you use their results"}
}

// Enter works like Take for a method that does not work after Close. Then the error is of kind
// errs.Closed.
func (t *Turn) Enter(what string) error {
	err := t.Take(what)
	if err == nil && t.closed {
		t.Leave()
		err = &errs.Error{Kind: errs.Closed, Op: what}
	}
	return err
}

// Close marks the value as closed, within a call. It reports whether the value was open.
func (t *Turn) Close() bool {
	open := !t.closed
	t.closed = true
	return open
}

// Leave ends a call.
func (t *Turn) Leave() { t.taken.Store(false) }

// Callback calls f, which may call methods itself, in the middle of a call.
func (t *Turn) Callback(f func()) {
	defer t.taken.Store(t.taken.Swap(false))
	f()
}
