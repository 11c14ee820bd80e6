package dynamic

import (
	"context"
	"errors"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Root gives a compiled loop what each of its steps begins with: a reader of
// dynamic/readers, or a function, [From].
type Root interface {
	// Next returns the values of the next step: batches of one size, tensors, or both.
	// io.EOF ends an epoch, and the call after it begins another. Calls come one after the
	// other from a goroutine of the loop, ahead of what is delivered.
	Next(ctx context.Context) ([]Value, error)
}

// Resumable is a Root with a state that a checkpoint captures. Since it is asked
// ahead, it is told what to say of itself. Its methods are safe for concurrent use.
type Resumable interface {
	Root
	// Here returns where the root stands after the last Next.
	Here() any
	// Show sets the place whose state the root reports. Here returned that place.
	Show(place any)
}

// From returns the root that calls a function for every step.
func From(next func(ctx context.Context) ([]Value, error)) Root { return function(next) }

type function func(ctx context.Context) ([]Value, error)

// Next implements Root.
func (f function) Next(ctx context.Context) ([]Value, error) { return f(ctx) }

// rootItem is what a root gave once.
type rootItem struct {
	values  []Value
	samples [][]tensor.Tensor // of each value
	size    int               // of its batches; 1 without any
	place   any               // of a Resumable
	err     error
}

// feeder asks a root ahead, in the goroutine of its pool. All else is for the goroutine of the
// consumer.
type feeder struct {
	root    Root
	items   []*rootItem // that were given and not delivered
	depth   int         // how many there may be besides
	came    chan *rootItem
	pending int // were asked for and have not come
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

// next asks the root, and waits for what it gave.
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

// evaluate waits for the values and finds their size.
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

// heldSamples waits for a value and returns its samples. Their memory stays, even if the value is
// released: nobody drops the hold, so the garbage collector frees it.
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

// at returns the k-th item that was not delivered. When it is not there yet, it waits
// for it if wait is true, or until ctx ends.
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

// ask has items made until there are enough, including items of the next epoch.
func (f *feeder) ask() {
	for len(f.items)+f.pending <= f.depth {
		f.pending++
		f.pool.Submit(f.ctx)
	}
}

// delivered returns the first item and forgets it: what the root says of itself is from there.
func (f *feeder) delivered() *rootItem {
	it := f.items[0]
	f.items[0] = nil
	f.items = f.items[1:]
	if r, ok := f.root.(Resumable); ok {
		r.Show(it.place)
	}
	return it
}

// close ends the goroutine; what the root has been asked for is waited for.
func (f *feeder) close() {
	f.stop()
	f.pool.Close()
}
