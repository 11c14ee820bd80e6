package flow

import (
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

// Turn notices that a method is called while another one of the same value is under way, where
// methods are for one goroutine at a time. It is a check and no lock: nobody waits. It also knows
// whether the value was closed.
type Turn struct {
	taken  atomic.Bool
	closed bool // read and written within a call
}

// Take begins a call of method what. The error is of kind errs.Busy if another call is under way.
// After nil, Leave must be called.
func (t *Turn) Take(what string) error {
	if t.taken.CompareAndSwap(false, true) {
		return nil
	}
	return &errs.Error{Kind: errs.Busy, Op: what, Want: "one call at a time", Got: "a call while another goroutine is in one",
		Remedy: "call from one goroutine, or hold a mutex around the calls and the use of what they return"}
}

// Enter is Take for a method that does not work after Close: the error is then of kind errs.Closed.
func (t *Turn) Enter(what string) error {
	err := t.Take(what)
	if err == nil && t.closed {
		t.Leave()
		err = &errs.Error{Kind: errs.Closed, Op: what}
	}
	return err
}

// Close says, within a call, that the value is closed. It reports whether it was open.
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
