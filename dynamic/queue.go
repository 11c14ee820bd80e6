package dynamic

import (
	"sync"
	"weak"
)

// queue holds the eager calls that wait for the background goroutine of their EvalContext. The
// goroutine runs while calls wait. The context's mutex guards the queue.
type queue struct {
	waiting []*call // not a ring, which would keep finished calls alive
	first   int
	current *call
	running bool
	changed sync.Cond
}

// longestQueue is the most calls that wait. A goroutine that makes calls faster than they are
// computed waits for the background goroutine.
const longestQueue = 1024

// enqueue hands c to the background goroutine.
func (e *EvalContext) enqueue(c *call) {
	q := &e.queue
	e.mu.Lock()
	if c.number == 0 {
		c.number = e.next()
	}
	for len(q.waiting)-q.first >= longestQueue {
		q.changed.Wait()
	}
	if q.first > 0 && len(q.waiting) == cap(q.waiting) {
		n := copy(q.waiting, q.waiting[q.first:])
		clear(q.waiting[n:])
		q.waiting, q.first = q.waiting[:n], 0
	}
	q.waiting = append(q.waiting, c)
	start := !q.running
	q.running = true
	e.mu.Unlock()
	if start {
		go e.runQueue()
	}
}

// runQueue computes the waiting calls in their order, until no call waits.
func (e *EvalContext) runQueue() {
	q := &e.queue
	for {
		e.mu.Lock()
		q.current = nil
		full := len(q.waiting)-q.first >= longestQueue
		if q.first == len(q.waiting) {
			q.waiting, q.first, q.running = q.waiting[:0], 0, false
			q.changed.Broadcast()
			e.mu.Unlock()
			return
		}
		c := q.waiting[q.first]
		q.waiting[q.first] = nil
		q.first++
		q.current = c
		if full {
			q.changed.Broadcast()
		}
		e.mu.Unlock()
		c.evaluate()
		if !c.finished() { // another goroutine, which needs its value, computes it
			<-c.doneChannel()
		}
	}
}

// wait waits until the background goroutine has nothing to do.
func (q *queue) wait(e *EvalContext) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for q.running {
		q.changed.Wait()
	}
}

// calls returns the calls that wait or are under way.
func (q *queue) calls() []*call {
	var list []*call
	if q.current != nil {
		list = append(list, q.current)
	}
	return append(list, q.waiting[q.first:]...)
}

// deferred holds the calls whose values are not needed yet, in their order. A call whose values
// were garbage-collected is dropped, unless it has effects.
type deferred struct {
	calls []waiting
	prune int // the number of calls at which finished and collected calls are dropped
}

// waiting is a deferred call. kept keeps the call alive if it has effects.
type waiting struct {
	call weak.Pointer[call]
	kept *call
}

// deferCall leaves c until one of its values is needed.
func (e *EvalContext) deferCall(c *call) {
	e.mu.Lock()
	c.number = e.next()
	e.deferred.add(c)
	e.mu.Unlock()
}

func (d *deferred) add(c *call) {
	if len(d.calls) >= max(64, d.prune) {
		live := d.calls[:0]
		for _, w := range d.calls {
			if c := w.call.Value(); c != nil && !c.finished() {
				live = append(live, w)
			}
		}
		clear(d.calls[len(live):])
		d.calls, d.prune = live, 2*len(live)
	}
	w := waiting{call: weak.Make(c)}
	if c.operator.schema.Keep {
		w.kept = c
	}
	d.calls = append(d.calls, w)
}

// take removes and returns the calls that are not computed yet.
func (d *deferred) take() []*call {
	var list []*call
	for _, w := range d.calls {
		if c := w.call.Value(); c != nil && !c.finished() {
			list = append(list, c)
		}
	}
	d.calls = nil
	return list
}

// putBack puts back calls that take returned.
func (d *deferred) putBack(list []*call) {
	for _, c := range list {
		if !c.finished() && c.mode == Deferred {
			d.add(c)
		}
	}
}
