package nodes

import (
	"context"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// ahead runs a source, and a function over its values, ahead of the consumer. One goroutine reads
// the source. With workers, other goroutines call the function.
//
// The state is a snapshot of the source and the number of its values that were delivered since. A
// snapshot is taken at a fixed interval of values and travels with its value. It counts once this
// value is delivered.
type ahead[S, T any] struct {
	op      string
	source  Node[S]
	fn      func(context.Context, S) (T, error)
	workers int // with 0 the reader calls fn
	depth   int // most values in progress
	every   int // values from one snapshot to the next; 0: only at the beginning

	ring    *flow.Ring[*slot[S, T], int64]
	readers *flow.Pool[*slot[S, T]]
	callers *flow.Pool[*slot[S, T]]
	ctx     context.Context // the context of values in progress
	cancel  context.CancelFunc

	// Fields of the reader.
	read  int
	ended bool

	// Fields of the consumer.
	snapshot snapshot
	steps    int64 // values passed since the snapshot
	failed   int64 // values for which fn failed since the value delivered last

	// The book belongs to the reader while the reader runs.
	keeper
}

// slot is a value in progress.
type slot[S, T any] struct {
	in       S
	out      T
	err      error // io.EOF after the last value
	consumed bool  // the source gave a value
	taken    bool  // snapshot holds the source's state after this value
	snapshot snapshot
	done     chan struct{}
	pending  bool // the consumer must still receive done
}

// stage starts the slots of the ring.
type stage[S, T any] struct{ a *ahead[S, T] }

func (s stage[S, T]) Start(_ context.Context, f *slot[S, T], at int64, _ bool) (int64, flow.Outcome) {
	f.pending = true
	s.a.readers.Submit(f)
	return at + 1, flow.Started
}

func (s stage[S, T]) Wait(ctx context.Context, f *slot[S, T]) error {
	if !f.pending {
		return nil
	}
	select {
	case <-f.done:
		f.pending = false
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Err returns nil: failures are delivered at their position, because a source cannot be asked for
// the same value again.
func (s stage[S, T]) Err(*slot[S, T]) error { return nil }

func (s stage[S, T]) Abandon(f *slot[S, T]) {
	if f.pending {
		<-f.done
	}
	*f = slot[S, T]{done: f.done, snapshot: snapshot{text: f.snapshot.text[:0]}}
}

// Reset implements [Node]. It reads the values delivered since the snapshot again.
func (a *ahead[S, T]) Reset(ctx context.Context, state []byte) error {
	a.stop()
	snapshot, steps := []byte(nil), int64(0)
	if state != nil {
		d := parse(a.op, state, "snapshot", "steps_since_snapshot")
		snapshot, steps = d.object("snapshot"), d.count("steps_since_snapshot")
		if d.err != nil {
			return d.err
		}
	}
	run, cancel := context.WithCancel(ctx)
	if err := a.begin(run, snapshot, steps); err != nil {
		cancel()
		return err
	}
	if a.readers == nil {
		a.readers = flow.NewPool(1, func(_ int, f *slot[S, T]) { a.make(f) })
		if a.workers > 0 {
			a.callers = flow.NewPool(a.workers, func(_ int, f *slot[S, T]) { a.apply(f) })
		}
		a.ring = flow.NewRing(stage[S, T]{a}, a.depth,
			func() *slot[S, T] { return &slot[S, T]{done: make(chan struct{}, 1)} }, 0)
	}
	a.ctx, a.cancel = run, cancel
	return nil
}

// begin moves the source to a snapshot and skips the given number of its values.
func (a *ahead[S, T]) begin(ctx context.Context, snapshot []byte, steps int64) (err error) {
	sketched(a.source, &a.book)
	if err = a.source.Reset(ctx, snapshot); err != nil {
		return err
	}
	if err = a.take(&a.snapshot, a.source); err != nil {
		return err
	}
	a.read, a.ended, a.steps, a.failed = 0, false, 0, 0
	for passed := range steps {
		_, err := a.source.Next(ctx)
		if err == io.EOF {
			return &errs.Error{Kind: errs.Mismatch, Op: "nodes." + a.op, Subject: "state: steps_since_snapshot",
				Want: fmt.Sprint("a source with at least ", steps, " more values"), Got: fmt.Sprint(passed)}
		}
		if err != nil {
			return err
		}
		a.read++
		a.steps++
		if err := a.passSnapshot(); err != nil {
			return err
		}
	}
	return nil
}

// passSnapshot takes the snapshot that is due after a skipped value.
func (a *ahead[S, T]) passSnapshot() (err error) {
	if a.due() {
		err = a.take(&a.snapshot, a.source)
		a.steps = 0
	}
	return err
}

// due reports whether a snapshot is taken after the value that was read last.
func (a *ahead[S, T]) due() bool { return a.every > 0 && a.read%a.every == 0 }

// make reads the value of a slot. It runs in the reader.
func (a *ahead[S, T]) make(f *slot[S, T]) {
	switch {
	case a.ctx.Err() != nil:
		f.err = a.ctx.Err()
	case a.ended:
		f.err = io.EOF
	default:
		a.readInto(f)
	}
	switch {
	case f.err != nil:
		f.done <- struct{}{}
	case a.callers != nil:
		a.callers.Submit(f)
	default:
		a.apply(f)
	}
}

func (a *ahead[S, T]) readInto(f *slot[S, T]) {
	f.in, f.err = a.source.Next(a.ctx)
	if f.err != nil {
		a.ended = f.err == io.EOF
		return
	}
	f.consumed = true
	a.read++
	if a.due() {
		f.err = a.take(&f.snapshot, a.source)
		f.taken = f.err == nil
	}
}

// apply calls the function and completes the slot.
func (a *ahead[S, T]) apply(f *slot[S, T]) {
	if f.err = a.ctx.Err(); f.err == nil {
		if f.out, f.err = call(a.ctx, a.fn, f.in); f.err != nil {
			f.err = errs.Wrap("nodes."+a.op, "", f.err)
		}
	}
	f.done <- struct{}{}
}

// Next implements [Node].
func (a *ahead[S, T]) Next(ctx context.Context) (v T, err error) {
	if a.cancel == nil {
		if err := a.Reset(ctx, nil); err != nil {
			return v, err
		}
	}
	f, _, err := a.ring.Next(ctx)
	if err != nil {
		return v, err
	}
	if f.err != nil {
		if f.consumed {
			a.failed++
		}
		return v, f.err
	}
	a.steps += 1 + a.failed
	a.failed = 0
	if f.taken {
		a.snapshot, f.snapshot = f.snapshot, a.snapshot
		a.steps = 0
	}
	return f.out, nil
}

// AppendState implements [Node].
func (a *ahead[S, T]) AppendState(dst []byte) ([]byte, error) {
	dst = appendKey(append(dst, '{'), "snapshot")
	var err error
	if a.cancel == nil {
		dst, err = a.appendNow(dst, a.source)
	} else {
		dst, err = a.keeper.append(dst, &a.snapshot)
	}
	return append(appendCount(dst, "steps_since_snapshot", a.steps), '}'), err
}

// stop drops the values in progress and waits for their goroutines.
func (a *ahead[S, T]) stop() {
	if a.cancel != nil {
		a.cancel()
		a.ring.Reset(0)
		a.cancel = nil
	}
}

// Close implements [Node].
func (a *ahead[S, T]) Close() error {
	a.stop()
	if a.readers != nil {
		a.readers.Close()
		if a.callers != nil {
			a.callers.Close()
		}
		a.readers, a.callers = nil, nil
	}
	return a.source.Close()
}
