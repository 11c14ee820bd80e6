// Package flow runs ahead of a consumer: it is the only place that does.
//
// A [Ring] keeps a number of values in the making and hands them out in order.
// Each slot carries the token of the stream after its value, so that the state
// of the ring is that of the value delivered last, however far production is:
//
//	           produced ──────────────────────────▶
//	┌───────────┬───────────┬───────────┬─────────┐
//	│ delivered │ in flight │ in flight │  free   │
//	│ token t   │ token t+1 │ token t+2 │         │
//	└───────────┴───────────┴───────────┴─────────┘
//	      ▲ Token
//
// A [Pool] is a fixed set of goroutines with one queue; a [Budget] bounds the
// bytes that they may hold. Pools own their goroutines, and Close waits for them.
package flow

import (
	"context"
)

// Stage makes the values of a ring. F is a slot, which it fills again and
// again; T is the token that says where a stream stands.
type Stage[F, T any] interface {
	// Start begins to make the value after at, in slot f, and returns at once with
	// the token after it. ok is false when there is none: the stream has ended.
	Start(f F, at T) (next T, ok bool)
	// Wait returns nil when the value in f is made, or failed; or the error of ctx.
	Wait(ctx context.Context, f F) error
	// Err says why the value in f failed. It is called after Wait.
	Err(f F) error
	// Abandon stops what Start began, waits until nothing touches f any more and
	// leaves f as new. It may be called after Wait too.
	Abandon(f F)
}

// Ring hands out the values of a stage in order. Its methods are for one
// goroutine at a time; it starts none.
type Ring[F, T any] struct {
	stage    Stage[F, T]
	slots    []F
	tokens   []T // after the value of each slot
	first    int // slot of the oldest value in flight
	inFlight int
	held     bool // the slot before first holds the value delivered last
	ended    bool
	produced T // token after the newest value in flight
	token    T // token after the value delivered last
}

// NewRing returns a ring over slots, of which one holds the delivered value and
// the others run ahead; a single slot makes each value when it is asked for.
func NewRing[F, T any](stage Stage[F, T], slots []F, at T) *Ring[F, T] {
	return &Ring[F, T]{stage: stage, slots: slots, tokens: make([]T, len(slots)), produced: at, token: at}
}

// Next returns the next value, which is the caller's until the next Next or
// Reset. ok is false at the end of the stream. An error keeps the position: what
// is in flight goes on when it is that of ctx, and is made again, by the next
// Next, when the value itself failed.
func (r *Ring[F, T]) Next(ctx context.Context) (f F, ok bool, err error) {
	r.release()
	r.fill()
	if r.inFlight == 0 {
		return f, false, nil
	}
	f = r.slots[r.first]
	if err := r.stage.Wait(ctx, f); err != nil {
		return f, false, err
	}
	if err := r.stage.Err(f); err != nil {
		r.Reset(r.token)
		return f, false, err
	}
	r.token = r.tokens[r.first]
	r.first = (r.first + 1) % len(r.slots)
	r.inFlight--
	r.held = true
	return f, true, nil
}

// release takes the delivered value back.
func (r *Ring[F, T]) release() {
	if r.held {
		r.held = false
		r.stage.Abandon(r.slots[(r.first+len(r.slots)-1)%len(r.slots)])
	}
}

// fill starts values until all slots but the delivered one are in flight.
func (r *Ring[F, T]) fill() {
	ahead := max(1, len(r.slots)-1)
	for !r.ended && r.inFlight < ahead {
		i := (r.first + r.inFlight) % len(r.slots)
		next, ok := r.stage.Start(r.slots[i], r.produced)
		if !ok {
			r.ended = true
			return
		}
		r.tokens[i], r.produced = next, next
		r.inFlight++
	}
}

// Token returns where the stream stands after the value delivered last.
func (r *Ring[F, T]) Token() T { return r.token }

// InFlight returns how many values are in the making or wait to be delivered.
func (r *Ring[F, T]) InFlight() int { return r.inFlight }

// Reset drops what is in flight, waits until nothing works on it and moves the stream to at.
func (r *Ring[F, T]) Reset(at T) {
	r.release()
	for ; r.inFlight > 0; r.inFlight-- {
		r.stage.Abandon(r.slots[(r.first+r.inFlight-1)%len(r.slots)])
	}
	r.first, r.ended, r.produced, r.token = 0, false, at, at
}
