package flow

import (
	"sync"
	"time"
)

// Pool is a fixed number of goroutines that take tasks from one queue in the
// order in which they were given.
type Pool[T any] struct {
	run     func(worker int, task T)
	mu      sync.Mutex
	arrived sync.Cond
	queue   []T // a ring
	first   int
	count   int
	closed  bool
	workers sync.WaitGroup
}

// NewPool starts workers goroutines that call run, each with its own number
// from 0 on, for one task at a time. Close must be called.
func NewPool[T any](workers int, run func(worker int, task T)) *Pool[T] {
	p := &Pool[T]{run: run, queue: make([]T, 64)}
	p.arrived.L = &p.mu
	for w := range workers {
		p.start(w)
	}
	return p
}

// start begins a goroutine. One that a task ends (runtime.Goexit) has a successor.
func (p *Pool[T]) start(worker int) {
	p.workers.Go(func() {
		closed := false
		defer func() {
			if !closed {
				p.start(worker)
			}
		}()
		p.work(worker)
		closed = true
	})
}

// Submit queues tasks and returns at once. After Close it drops them.
func (p *Pool[T]) Submit(tasks ...T) {
	if len(tasks) == 0 {
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	for p.count+len(tasks) > len(p.queue) {
		longer := make([]T, 2*len(p.queue))
		for i := range p.count {
			longer[i] = p.queue[(p.first+i)%len(p.queue)]
		}
		p.queue, p.first = longer, 0
	}
	for _, t := range tasks {
		p.queue[(p.first+p.count)%len(p.queue)] = t
		p.count++
	}
	p.mu.Unlock()
	if len(tasks) == 1 {
		p.arrived.Signal()
	} else {
		p.arrived.Broadcast()
	}
}

func (p *Pool[T]) work(worker int) {
	for {
		p.mu.Lock()
		for p.count == 0 && !p.closed {
			p.arrived.Wait()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		var none T
		task := p.queue[p.first]
		p.queue[p.first] = none
		p.first = (p.first + 1) % len(p.queue)
		p.count--
		p.mu.Unlock()
		p.run(worker, task)
	}
}

// Close drops the tasks that nobody took, waits for those that run, and ends
// the goroutines. It may be called twice.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	p.count = 0
	p.mu.Unlock()
	p.arrived.Broadcast()
	p.workers.Wait()
}

// CloseWithin is Close that waits no longer than d. It reports false when tasks
// still run; their goroutines end with them.
func (p *Pool[T]) CloseWithin(d time.Duration) bool {
	closed := make(chan struct{})
	go func() {
		p.Close()
		close(closed)
	}()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-closed:
		return true
	case <-late.C:
		return false
	}
}
