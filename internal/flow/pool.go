package flow

import (
	"sync"
	"time"
)

// Pool is a fixed number of goroutines that take tasks from one queue, in the order in which they
// were given. A worker does tasks that were given to it alone first, in their order.
type Pool[T any] struct {
	run     func(worker int, task T)
	mu      sync.Mutex
	arrived sync.Cond
	shared  queue[T]
	own     []queue[T] // nil until there is a task for one worker
	size    int
	closed  bool
	workers sync.WaitGroup
}

// NewPool starts workers goroutines that call run for one task at a time, each with its own number
// from 0 on. Close must be called.
func NewPool[T any](workers int, run func(worker int, task T)) *Pool[T] {
	p := &Pool[T]{run: run, size: workers}
	p.arrived.L = &p.mu
	for w := range workers {
		p.start(w)
	}
	return p
}

// start begins a goroutine. If a task ends it (runtime.Goexit), another one takes its place.
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
	p.shared.push(tasks...)
	p.mu.Unlock()
	if len(tasks) == 1 {
		p.arrived.Signal()
	} else {
		p.arrived.Broadcast()
	}
}

// SubmitTo queues a task for one worker. After Close it drops the task.
func (p *Pool[T]) SubmitTo(worker int, task T) {
	p.mu.Lock()
	if !p.closed {
		if p.own == nil {
			p.own = make([]queue[T], p.size)
		}
		p.own[worker].push(task)
	}
	p.mu.Unlock()
	p.arrived.Broadcast()
}

func (p *Pool[T]) work(worker int) {
	for {
		p.mu.Lock()
		task, ok := p.take(worker)
		for !ok && !p.closed {
			p.arrived.Wait()
			task, ok = p.take(worker)
		}
		closed := p.closed
		p.mu.Unlock()
		if closed {
			return
		}
		p.run(worker, task)
	}
}

// take returns the next task of a worker. The caller holds the mutex.
func (p *Pool[T]) take(worker int) (task T, ok bool) {
	if p.own != nil && p.own[worker].count > 0 {
		return p.own[worker].pop()
	}
	return p.shared.pop()
}

// Close drops tasks that were not started, waits for running tasks, and ends the goroutines. It may
// be called twice.
func (p *Pool[T]) Close() {
	p.mu.Lock()
	p.closed = true
	p.shared, p.own = queue[T]{}, nil
	p.mu.Unlock()
	p.arrived.Broadcast()
	p.workers.Wait()
}

// CloseWithin works like Close but waits at most d. It returns false if tasks still run; their
// goroutines end with them.
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

// queue is a ring that grows.
type queue[T any] struct {
	items []T
	first int
	count int
}

func (q *queue[T]) push(tasks ...T) {
	for q.count+len(tasks) > len(q.items) {
		longer := make([]T, max(64, 2*len(q.items)))
		for i := range q.count {
			longer[i] = q.items[(q.first+i)%len(q.items)]
		}
		q.items, q.first = longer, 0
	}
	for _, t := range tasks {
		q.items[(q.first+q.count)%len(q.items)] = t
		q.count++
	}
}

func (q *queue[T]) pop() (task T, ok bool) {
	if q.count == 0 {
		return task, false
	}
	var none T
	task, q.items[q.first] = q.items[q.first], none
	q.first = (q.first + 1) % len(q.items)
	q.count--
	return task, true
}
