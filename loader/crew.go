package loader

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
)

// crew holds the goroutines of a loader.
type crew[T any] struct {
	size int
	run  func(worker int, task T)
	now  *shift[T]
	lost []*shift[T] // shifts in which workers were abandoned
}

// shift is a pool of workers with a record of what they are doing.
type shift[T any] struct {
	pool  *flow.Pool[T]
	busy  []atomic.Bool
	given atomic.Int64 // tasks that were given and are not done
}

func newCrew[T any](size int, run func(worker int, task T)) *crew[T] {
	c := &crew[T]{size: size, run: run}
	c.now = c.hire()
	return c
}

func (c *crew[T]) hire() *shift[T] {
	s := &shift[T]{busy: make([]atomic.Bool, c.size)}
	s.pool = flow.NewPool(c.size, func(worker int, task T) {
		s.busy[worker].Store(true)
		defer func() {
			s.busy[worker].Store(false)
			s.given.Add(-1)
		}()
		c.run(worker, task)
	})
	return s
}

// submit gives a task to one worker.
func (c *crew[T]) submit(worker int, task T) {
	c.now.given.Add(1)
	c.now.pool.SubmitTo(worker, task)
}

// offer gives a task to the worker that is free first.
func (c *crew[T]) offer(task T) {
	c.now.given.Add(1)
	c.now.pool.Submit(task)
}

// settle drops all tasks and waits until none runs. If workers take longer than grace, settle
// abandons them, replaces all workers and returns the numbers of the abandoned ones.
func (c *crew[T]) settle(grace time.Duration) (lost []int) {
	s := c.now
	if s.given.Load() == 0 {
		return nil
	}
	if !s.pool.CloseWithin(grace) {
		lost = s.working()
		c.lost = append(c.lost, s)
	}
	c.now = c.hire()
	return lost
}

func (s *shift[T]) working() (workers []int) {
	for i := range s.busy {
		if s.busy[i].Load() {
			workers = append(workers, i)
		}
	}
	return workers
}

// close ends all goroutines. The error is of kind errs.Busy and names those that did not end in
// time.
func (c *crew[T]) close(grace time.Duration) error {
	until := time.Now().Add(grace)
	var busy error
	for _, s := range append(c.lost, c.now) {
		if s.pool.CloseWithin(max(0, time.Until(until))) || busy != nil {
			continue
		}
		busy = &errs.Error{Kind: errs.Busy, Subject: fmt.Sprintf("workers %v", s.working()),
			Want: "an end within " + grace.String(), Got: "a data set that blocks"}
	}
	c.lost, c.now = nil, &shift[T]{pool: flow.NewPool[T](0, nil)}
	return busy
}
