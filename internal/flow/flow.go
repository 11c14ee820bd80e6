// Package flow runs ahead of a consumer.
//
// A [Ring] keeps a number of values in progress and hands them out in order. Each slot carries the
// token of the stream after its value. So the state of the ring belongs to the value delivered
// last, however far production is:
//
//	           produced ──────────────────────────▶
//	┌───────────┬───────────┬───────────┬─────────┐
//	│ delivered │ in flight │ in flight │  free   │
//	│ token t   │ token t+1 │ token t+2 │         │
//	└───────────┴───────────┴───────────┴─────────┘
//	      ▲ Token
//
// [Ring.Next] keeps a fixed number of values in flight. With [Ring.Schedule], [Ring.Share] and
// [Ring.Release] the consumer decides when each value is begun, handed out and given back.
//
// A [Pool] is a fixed set of goroutines with one queue. A [Budget] bounds the bytes that they may
// hold. Pools own their goroutines, and Close waits for them. A [Turn] returns an error for a call
// of a method during another call.
//
// Pipelines, the readers and compiled loops of package dynamic, and the nodes of loader/nodes that
// run ahead use a Ring. Package loader does not: it may hand out batches in order of completion, so
// its engine keeps its own list of tasks in flight. It takes only Pool and Turn from here.
package flow

import (
	"context"

	"github.com/bivouac-ml/bivouac/internal/loan"
)

// Outcome is the result of an attempt to begin a value.
type Outcome uint8

// The outcomes.
const (
	Started Outcome = iota // the value is in progress
	Starved                // the input of the value is not there yet
	Ended                  // the stream has ended
)

// Stage makes the values of a ring. F is a slot, which the ring reuses. T is a token for a position
// of the stream.
type Stage[F, T any] interface {
	// Start begins to make the value after at, in slot f, and returns at once with the token after it.
	// If its input is not there yet and wait is true, Start waits until the input is there or ctx
	// ends.
	Start(ctx context.Context, f F, at T, wait bool) (next T, o Outcome)
	// Wait waits for the value in f. It returns nil once the value is made or has failed, and the
	// error of ctx if ctx ends first.
	Wait(ctx context.Context, f F) error
	// Err returns why the value in f failed, or nil. It is called after Wait.
	Err(f F) error
	// Abandon stops what Start began, waits until no goroutine uses f any more, and resets f. It may
	// be called after Wait too.
	Abandon(f F)
}

// Ring hands out the values of a stage in order. Its methods are for one goroutine at a time. It
// starts no goroutine.
type Ring[F, T any] struct {
	stage    Stage[F, T]
	slot     func() F
	depth    int
	free     []F
	flight   []made[F, T] // oldest first
	held     []F          // oldest first
	outcome  Outcome      // of the last attempt to begin a value
	produced T            // token after the newest value in flight
	token    T            // token after the value delivered last
}

// made is a value in progress and the token after it.
type made[F, T any] struct {
	slot  F
	token T
}

// NewRing returns a ring whose Next keeps depth values in flight while one is in use; with depth 0
// Next makes each value when it is called. slot makes a slot. It is called once for each value that
// is in flight or held at the same time.
func NewRing[F, T any](stage Stage[F, T], depth int, slot func() F, at T) *Ring[F, T] {
	return &Ring[F, T]{stage: stage, slot: slot, depth: depth, produced: at, token: at}
}

// Next releases the held values and returns the next value, which the caller may use until the next
// call of Next, Release or Reset. ok is false if there is no next value; Outcome says why. An error
// keeps the position. If the error comes from ctx, the values in flight continue. If the value
// itself failed, the next call of Next makes it again.
func (r *Ring[F, T]) Next(ctx context.Context) (f F, ok bool, err error) {
	r.releaseAll()
	r.fill(ctx, max(1, r.depth), true)
	if f, ok, err = r.Share(ctx); ok && err == nil {
		r.fill(ctx, r.depth, false)
	}
	return f, ok, err
}

// fill begins values until n are in flight. If wait is true, it waits for the input of the first
// value.
func (r *Ring[F, T]) fill(ctx context.Context, n int, wait bool) {
	for len(r.flight) < n {
		if r.Schedule(ctx, wait && len(r.flight) == 0) != Started {
			return
		}
	}
}

// Schedule begins one more value.
func (r *Ring[F, T]) Schedule(ctx context.Context, wait bool) Outcome {
	if r.outcome == Ended {
		return Ended
	}
	var s F
	if n := len(r.free); n > 0 {
		s = r.free[n-1]
		r.free = r.free[:n-1]
	} else {
		s = r.slot()
	}
	var next T
	if next, r.outcome = r.stage.Start(ctx, s, r.produced, wait); r.outcome != Started {
		r.free = append(r.free, s)
		return r.outcome
	}
	r.flight = append(r.flight, made[F, T]{s, next})
	r.produced = next
	return Started
}

// Share waits for the oldest value in flight and hands it out; the caller may use it until it is
// released. ok is false if nothing is in flight.
func (r *Ring[F, T]) Share(ctx context.Context) (f F, ok bool, err error) {
	if f, ok, err = r.Peek(ctx, 0); !ok || err != nil {
		return f, false, err
	}
	r.token = r.flight[0].token
	r.flight = r.flight[:copy(r.flight, r.flight[1:])]
	r.held = append(r.held, f)
	return f, true, nil
}

// Peek waits for the i-th value in flight, where 0 is the oldest, and returns it without handing it
// out: Token stays where it is, and Share returns the value in its turn. ok is false if fewer are
// in flight. If the oldest value failed, all are made again, as in Share. If another one failed,
// nothing changes.
func (r *Ring[F, T]) Peek(ctx context.Context, i int) (f F, ok bool, err error) {
	if len(r.flight) <= i {
		return f, false, nil
	}
	at := r.flight[i].slot
	if err := r.stage.Wait(ctx, at); err != nil {
		return f, false, err
	}
	if err := r.stage.Err(at); err != nil {
		if i == 0 {
			r.rewind(r.token)
		}
		return f, false, err
	}
	return at, true, nil
}

// At returns the i-th value in flight, which may be in the making. ok is false if fewer are in
// flight.
func (r *Ring[F, T]) At(i int) (f F, ok bool) {
	if len(r.flight) <= i {
		return f, false
	}
	return r.flight[i].slot, true
}

// Release takes back the value that has been held longest, if any.
func (r *Ring[F, T]) Release() {
	if len(r.held) > 0 {
		s := r.held[0]
		r.held = r.held[:copy(r.held, r.held[1:])]
		r.stage.Abandon(s)
		if !loan.Debug { // slots that were handed out are reused
			r.free = append(r.free, s)
		}
	}
}

func (r *Ring[F, T]) releaseAll() {
	for len(r.held) > 0 {
		r.Release()
	}
}

// Token returns the position of the stream after the value delivered last.
func (r *Ring[F, T]) Token() T { return r.token }

// InFlight returns how many values are in progress or wait to be delivered.
func (r *Ring[F, T]) InFlight() int { return len(r.flight) }

// Outcome returns the outcome of the last attempt to begin a value.
func (r *Ring[F, T]) Outcome() Outcome { return r.outcome }

// Produced returns the position of the stream after the newest value in flight.
func (r *Ring[F, T]) Produced() T { return r.produced }

// Reopen lets an ended stream go on behind the values in flight.
func (r *Ring[F, T]) Reopen() { r.outcome = Started }

// Reset drops the values in flight and held, waits until no goroutine works on them and moves the
// stream to at.
func (r *Ring[F, T]) Reset(at T) {
	r.releaseAll()
	r.rewind(at)
}

// rewind drops the values in flight, the newest first, and moves the stream to at.
func (r *Ring[F, T]) rewind(at T) {
	for i := len(r.flight) - 1; i >= 0; i-- {
		r.stage.Abandon(r.flight[i].slot)
		r.free = append(r.free, r.flight[i].slot)
	}
	r.flight = r.flight[:0]
	r.outcome, r.produced, r.token = Started, at, at
}
