package loader

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// crew is the goroutines of a loader, each with a queue of its own.
type crew[T any] struct {
	run     func(T)
	workers []*worker[T]
	lost    []*worker[T] // those that were given up
}

type worker[T any] struct {
	number  int
	pool    *flow.Pool[T]
	running atomic.Int64 // tasks given and not done
}

func newCrew[T any](n int, run func(T)) *crew[T] {
	c := &crew[T]{run: run}
	for i := range n {
		c.workers = append(c.workers, c.hire(i))
	}
	return c
}

func (c *crew[T]) hire(number int) *worker[T] {
	w := &worker[T]{number: number}
	w.pool = flow.NewPool(1, func(_ int, task T) {
		defer w.running.Add(-1)
		c.run(task)
	})
	return w
}

func (c *crew[T]) submit(worker int, task T) {
	w := c.workers[worker]
	w.running.Add(1)
	w.pool.Submit(task)
}

// settle drops all tasks and waits until none runs. Workers that take longer than
// grace are given up and replaced; their numbers are returned.
func (c *crew[T]) settle(grace time.Duration) (lost []int) {
	until := time.Now().Add(grace)
	for i, w := range c.workers {
		if w.running.Load() == 0 {
			continue
		}
		if !w.pool.CloseWithin(time.Until(until)) {
			c.lost = append(c.lost, w)
			lost = append(lost, i)
		}
		c.workers[i] = c.hire(i)
	}
	return lost
}

// close ends all goroutines. The error, of kind errs.Busy, names those that did
// not end in time.
func (c *crew[T]) close(grace time.Duration) error {
	until := time.Now().Add(grace)
	var busy error
	for _, w := range append(c.lost, c.workers...) {
		if !w.pool.CloseWithin(max(0, time.Until(until))) && busy == nil {
			busy = &errs.Error{Kind: errs.Busy, Subject: fmt.Sprintf("worker %d", w.number), Want: "an end within " + grace.String(), Got: "a data set that blocks"}
		}
	}
	c.lost, c.workers = nil, nil
	return busy
}
