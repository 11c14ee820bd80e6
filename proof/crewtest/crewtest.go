// Package crewtest is processes for tests: goroutines, and a barrier in memory.
package crewtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Barrier has n processes wait for each other. A key may be used again.
type Barrier struct {
	n int

	mu     sync.Mutex
	rounds map[string]*round
	broken error
	down   chan struct{}
	keys   []string
	before func(process int, key string) error
}

type round struct {
	arrived int
	open    chan struct{}
}

// watchdog ends a test that hangs.
const watchdog = 10 * time.Second

// ErrGone is what the others are told when a process is gone.
var ErrGone = errors.New("a process is gone")

// NewBarrier returns a barrier of n processes. before, when not nil, is asked when one
// of them arrives; its error breaks the barrier.
func NewBarrier(n int, before func(process int, key string) error) *Barrier {
	return &Barrier{n: n, rounds: map[string]*round{}, down: make(chan struct{}), before: before}
}

// Of returns the barrier as a process has it.
func (b *Barrier) Of(process int) func(ctx context.Context, key string) error {
	return func(ctx context.Context, key string) error { return b.wait(ctx, process, key) }
}

// Break has all wait no more, from now on.
func (b *Barrier) Break(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.broken = err
		close(b.down)
	}
}

// Keys returns the keys of the complete rounds, in their order.
func (b *Barrier) Keys() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.keys...)
}

func (b *Barrier) wait(ctx context.Context, process int, key string) error {
	if b.before != nil {
		if err := b.before(process, key); err != nil {
			b.Break(ErrGone)
			return err
		}
	}
	b.mu.Lock()
	if b.broken != nil {
		b.mu.Unlock()
		return b.broken
	}
	r := b.rounds[key]
	if r == nil {
		r = &round{open: make(chan struct{})}
		b.rounds[key] = r
	}
	if r.arrived++; r.arrived == b.n {
		close(r.open)
		delete(b.rounds, key)
		b.keys = append(b.keys, key)
	}
	b.mu.Unlock()
	select {
	case <-r.open:
		return nil
	case <-ctx.Done():
		b.Break(ErrGone)
		return ctx.Err()
	case <-time.After(watchdog):
		b.Break(fmt.Errorf("not all processes came to %s", key))
		return b.broken
	case <-b.down:
	}
	select {
	case <-r.open: // before it went down
		return nil
	default:
		return b.broken
	}
}

// Run has n processes run at once, and returns what each of them returned.
func Run(n int, process func(p int) error) []error {
	out := make([]error, n)
	var wg sync.WaitGroup
	for p := range n {
		wg.Go(func() { out[p] = process(p) })
	}
	wg.Wait()
	return out
}
