package exec

import "github.com/bivouac-ml/bivouac/internal/flow"

// Pool is a set of workers that many executors share, one call after the other, so that a graph
// that is made for one call starts no threads.
type Pool struct {
	threads int
	tasks   *flow.Pool[task]
}

// NewPool starts the goroutines of threads workers. The caller must Close the pool after all
// executors that use it.
func NewPool(threads int) *Pool {
	return &Pool{threads: threads, tasks: flow.NewPool(threads, func(w int, t task) {
		e := t.frame.e
		e.compute(e.worker(w), t)
	})}
}

// Close ends the goroutines.
func (p *Pool) Close() { p.tasks.Close() }

// worker returns the w-th worker, which is made when it is first needed.
func (e *Executor) worker(w int) *worker {
	if e.workers[w] == nil {
		e.workers[w] = newWorker(e)
	}
	return e.workers[w]
}
