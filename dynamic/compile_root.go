package dynamic

import (
	"context"
	"errors"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Root provides the input values of each step of a compiled loop. It is a reader of
// dynamic/readers, or a function; see [From].
type Root interface {
	// Next returns the values of the next step: batches of one size, tensors, or both. io.EOF ends an
	// epoch; the call after it begins the next epoch. One goroutine of the loop calls Next, ahead of
	// the delivered steps.
	Next(ctx context.Context) ([]Value, error)
}

// Resumable is a Root with a state that a checkpoint captures. The loop reads ahead from it, so the
// loop tells it with Show which state to report. Its methods are safe for concurrent use.
type Resumable interface {
	Root
	// Here returns the place of the root after the last Next.
	Here() any
	// Show sets the place whose state the root reports. The place is a result of Here.
	Show(place any)
}

// From returns a root that calls next for every step.
func From(next func(ctx context.Context) ([]Value, error)) Root { return function(next) }

type function func(ctx context.Context) ([]Value, error)

// Next implements Root.
func (f function) Next(ctx context.Context) ([]Value, error) { return f(ctx) }

// rootItem is the result of one call of a root.
type rootItem struct {
	values  []Value
	samples [][]tensor.Tensor // of each value
	size    int               // of its batches; 1 if there are no batches
	place   any               // of a Resumable
	err     error
}

// feeder calls a root ahead, in the goroutine of its pool. The consumer's goroutine does everything
// else.
type feeder struct {
	root    Root
	items   []*rootItem // items that are ready and not delivered
	depth   int         // the number of further items to call ahead
	came    chan *rootItem
	pending int // calls that have not returned
	pool    *flow.Pool[context.Context]
	stop    context.CancelFunc
	ctx     context.Context
}

func newFeeder(ctx context.Context, root Root, depth int) *feeder {
	f := &feeder{root: root, depth: depth, came: make(chan *rootItem, depth+1)}
	f.ctx, f.stop = context.WithCancel(context.WithoutCancel(ctx))
	f.pool = flow.NewPool(1, func(_ int, ctx context.Context) { f.came <- f.next(ctx) })
	return f
}

// next calls the root, and waits for its values.
func (f *feeder) next(ctx context.Context) *rootItem {
	it := &rootItem{}
	if it.values, it.err = f.root.Next(ctx); it.err == nil {
		it.err = it.evaluate(ctx)
	}
	if it.err != nil && !errors.Is(it.err, io.EOF) {
		it.err = errs.Wrap("", "root", it.err)
	}
	if r, ok := f.root.(Resumable); ok {
		it.place = r.Here()
	}
	return it
}

// evaluate waits for the values and determines their batch size.
func (it *rootItem) evaluate(ctx context.Context) error {
	batches := 0
	for _, v := range it.values {
		if absent(v) {
			return &errs.Error{Kind: errs.Invalid, Want: "values", Got: "nil"}
		}
		samples, err := heldSamples(ctx, v)
		if err != nil {
			return err
		}
		it.samples = append(it.samples, samples)
		if !v.core().batch {
			continue
		}
		if batches++; batches > 1 && len(samples) != it.size {
			return sizeError(it.size, len(samples))
		}
		it.size = len(samples)
	}
	if batches == 0 {
		it.size = 1
	}
	return nil
}

// heldSamples waits for a value and returns its samples. Their memory stays valid even if the value
// is released. The hold is never dropped; the garbage collector frees the memory.
func heldSamples(ctx context.Context, v Value) ([]tensor.Tensor, error) {
	r := v.core()
	if err := r.hold(); err != nil {
		return nil, err
	}
	if err := r.Evaluate(ctx); err != nil {
		r.drop()
		return nil, err
	}
	return r.list(), nil
}

// at returns the k-th item that is not delivered. If the item is not ready and wait is true, at
// waits for it until ctx ends.
func (f *feeder) at(ctx context.Context, k int, wait bool) (*rootItem, flow.Outcome) {
	for {
		f.ask()
		switch {
		case k < len(f.items) && errors.Is(f.items[k].err, io.EOF):
			return nil, flow.Ended
		case k < len(f.items):
			return f.items[k], flow.Started
		case !wait && len(f.came) == 0:
			return nil, flow.Starved
		}
		select {
		case it := <-f.came:
			f.items = append(f.items, it)
			f.pending--
		case <-ctx.Done():
			return nil, flow.Starved
		}
	}
}

// ask requests items until enough are requested, including items of the next epoch.
func (f *feeder) ask() {
	for len(f.items)+f.pending <= f.depth {
		f.pending++
		f.pool.Submit(f.ctx)
	}
}

// delivered removes the first item and returns it. From then on the root reports the state after
// this item.
func (f *feeder) delivered() *rootItem {
	it := f.items[0]
	f.items[0] = nil
	f.items = f.items[1:]
	if r, ok := f.root.(Resumable); ok {
		r.Show(it.place)
	}
	return it
}

// close waits for the running calls of the root and ends the goroutine.
func (f *feeder) close() {
	f.stop()
	f.pool.Close()
}
