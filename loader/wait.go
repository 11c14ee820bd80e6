package loader

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// wait returns when a slot is done. If ctx ends or the wait takes too long, it returns an error,
// and the slot stays in flight.
func (e *engine[S, B]) wait(ctx context.Context, s *slot[S, B]) error {
	if e.setup.Workers == 0 {
		e.caller.set(ctx)
		if err := ctx.Err(); err != nil {
			return canceled(ctx)
		}
		e.fill(s)
		if ctx.Err() != nil && s.outcome.Err != nil {
			s.outcome = protocol.Outcome{}
			return canceled(ctx)
		}
		return nil
	}
	if s.done.Load() {
		return nil
	}
	return e.waitFor(ctx, func() (*slot[S, B], bool) { return s, s.done.Load() })
}

// waitAny waits until a slot is done and returns the index of the oldest one. Slots of one lane are
// handed out in their order.
func (e *engine[S, B]) waitAny(ctx context.Context) (at int, err error) {
	err = e.waitFor(ctx, func() (*slot[S, B], bool) {
		i, ok := oldestDone(len(e.flight), func(i int) int { return e.flight[i].task.Lane },
			func(i int) bool { return e.flight[i].done.Load() })
		at = i
		return e.flight[i], ok
	})
	return at, err
}

// oldestDone returns the first of n slots that is done, or ok = false if no slot is. Slots
// become done while it looks: a slot may be done now although it was not done when oldestDone
// looked at it, and so may a later slot of the same lane. The state of a stream is its state after
// the batch that was handed out last. So oldestDone then takes the first slot of the lane, because
// a lane makes its slots one after the other.
func oldestDone(n int, lane func(i int) int, done func(i int) bool) (at int, ok bool) {
	for i := range n {
		if !done(i) {
			continue
		}
		if own := lane(i); own != protocol.AnyLane {
			for k := range i {
				if lane(k) == own {
					return k, true
				}
			}
		}
		return i, true
	}
	return 0, false
}

// waitFor returns when ready returns true. The slot that ready returns otherwise is named in an
// error.
func (e *engine[S, B]) waitFor(ctx context.Context, ready func() (*slot[S, B], bool)) error {
	var late <-chan time.Time
	if e.options.Timeout > 0 {
		if e.timer == nil {
			e.timer = time.NewTimer(e.options.Timeout)
		} else {
			e.timer.Reset(e.options.Timeout)
		}
		defer e.timer.Stop()
		late = e.timer.C
	}
	for {
		if _, ok := ready(); ok {
			return nil
		}
		select {
		case <-e.bell:
		case <-ctx.Done():
			return canceled(ctx)
		case <-late:
			if s, ok := ready(); !ok {
				return e.late(s)
			}
			return nil
		}
	}
}

func canceled(ctx context.Context) error {
	return &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
}

// late returns the error of a wait that took longer than Options.Timeout.
func (e *engine[S, B]) late(s *slot[S, B]) error {
	name, what := "workers", "no worker has begun it"
	if s.begun.Load() {
		name, what = s.lane.name(), "the worker is still busy with it"
	}
	return &errs.Error{Kind: errs.Exhausted, Subject: name, Want: fmt.Sprintf("a batch within %v", e.options.Timeout),
		Got:    "no batch: " + what,
		Remedy: "the next call waits again", Err: context.DeadlineExceeded}
}

// callContext is the context of lanes that run in the caller: the context of the call of Next in
// progress, with the values of the pass.
type callContext struct {
	call atomic.Pointer[context.Context]
}

func (c *callContext) set(ctx context.Context) {
	if p := c.call.Load(); p == nil || (*p).Done() != ctx.Done() {
		c.store(ctx)
	}
}

func (c *callContext) store(ctx context.Context) { c.call.Store(&ctx) }

func (c *callContext) now() context.Context {
	if p := c.call.Load(); p != nil {
		return *p
	}
	return context.Background()
}

// Deadline implements context.Context.
func (c *callContext) Deadline() (time.Time, bool) { return c.now().Deadline() }

// Done implements context.Context.
func (c *callContext) Done() <-chan struct{} { return c.now().Done() }

// Err implements context.Context.
func (c *callContext) Err() error { return c.now().Err() }

// Value implements context.Context.
func (c *callContext) Value(key any) any { return c.now().Value(key) }
