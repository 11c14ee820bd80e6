package dynamic

import (
	"context"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
)

// Options are the options of NewEvalContext. The zero Options suit most programs.
type Options struct {
	// Workers is the number of goroutines that compute calls. 0 or less means one per processor that
	// the program may use.
	Workers int
	// Limits bound what a sample may cost, in calls and in compiled loops. The zero Limits suit
	// images. Readers have their own Limits, in readers.Options.
	Limits Limits
}

// Limits bound what a sample may cost; see op.Limits.
type Limits = op.Limits

// NoLimit as a field of Limits lifts the limit.
const NoLimit = op.NoLimit

// EvalContext computes calls. It holds the workers, the prepared operators of earlier calls, and
// the waiting calls. Each call runs a graph of one operator. The graph is reused for calls with
// equal arguments and with inputs of the same dtypes, numbers of axes and layouts, for batches up
// to the same power of two. [With] attaches an EvalContext to a context.Context; otherwise
// [Default] is used. It is safe for concurrent use.
type EvalContext struct {
	threads int
	limits  Limits
	seed    maphash.Seed
	memory  memory
	lasting bool      // the default context, which Close does not end
	free    sync.Pool // of finished *call

	mu        sync.Mutex
	idle      sync.Cond // no call is being computed
	pool      *exec.Pool
	operators map[operatorKey]*operator
	plans     plans
	joints    []*joint // the graphs of several calls that were used last, the newest first
	active    int      // calls that are being computed
	closed    bool
	closing   bool
	queue     queue
	calls     uint64        // made so far, without the calls in Sync mode
	evaluated atomic.Uint64 // the number of the last call that EvaluateAll has waited for
	deferred  deferred
	failed    failure
	attached  map[any]any
}

// NewEvalContext returns a new EvalContext. The caller must Close it.
func NewEvalContext(o Options) *EvalContext {
	e := &EvalContext{threads: o.Workers, limits: o.Limits, seed: maphash.MakeSeed(),
		operators: map[operatorKey]*operator{},
		attached:  map[any]any{}}
	if e.threads < 1 {
		e.threads = runtime.GOMAXPROCS(0)
	}
	e.idle.L = &e.mu
	e.queue.changed.L = &e.mu
	return e
}

var defaultContext = sync.OnceValue(func() *EvalContext {
	e := NewEvalContext(Options{})
	e.lasting = true
	return e
})

// Default returns the EvalContext of calls whose ctx has none. The process has one.
func Default() *EvalContext { return defaultContext() }

// Workers returns the number of goroutines that compute calls.
func (e *EvalContext) Workers() int { return e.threads }

// Limits returns the limits of a sample, with defaults filled in.
func (e *EvalContext) Limits() Limits { return e.limits.WithDefaults() }

// Close waits for the calls under way and ends the goroutines. Computed values stay valid. Deferred
// values that are not computed, and later calls, fail with errs.Closed. The default context only
// releases what it holds, and continues to work. Close may be called more than once.
func (e *EvalContext) Close() {
	e.queue.wait(e)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || e.closing {
		return
	}
	e.closing = true
	for e.active > 0 {
		e.idle.Wait()
	}
	if e.pool != nil {
		e.pool.Close()
		e.pool = nil
	}
	e.plans, e.joints = plans{}, nil
	for _, o := range e.operators {
		o.last = nil
	}
	e.closing, e.closed = false, !e.lasting
	e.idle.Broadcast()
}

// EvaluateAll computes all calls made so far and waits for them. It returns the error of the first
// deferred or eager call, in the order of calls, that failed since the last EvaluateAll, or
// errs.Canceled if ctx ends before.
func (e *EvalContext) EvaluateAll(ctx context.Context) error {
	e.mu.Lock()
	list, made := append(e.deferred.take(), e.queue.calls()...), e.calls
	e.mu.Unlock()
	var calls, later []*call
	for _, c := range list {
		if c.mode == Deferred && c.ahead() {
			later = append(later, c)
		} else {
			calls = append(calls, c)
		}
	}
	e.mu.Lock()
	e.deferred.putBack(later)
	e.mu.Unlock()
	for i, c := range calls {
		if err := c.wait(ctx); err != nil {
			e.mu.Lock()
			e.deferred.putBack(calls[i:])
			e.mu.Unlock()
			return err
		}
		calls[i] = nil // a computed call keeps its values
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.failed.err
	e.failed = failure{}
	e.evaluated.Store(max(made, e.evaluated.Load()))
	return err
}

// Attach returns the value that is attached to the context under key. The first call makes the
// value with make, which must not use the context. Each package uses its own types as keys.
func (e *EvalContext) Attach(key any, make func() any) any {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, ok := e.attached[key]
	if !ok {
		v = make()
		e.attached[key] = v
	}
	return v
}

// failure is the first failed call since the last EvaluateAll.
type failure struct {
	number uint64
	err    error
}

// note keeps err if its call came before the call whose error is kept.
func (f *failure) note(number uint64, err error) {
	if f.err == nil || number < f.number {
		*f = failure{number, err}
	}
}

// workers returns the pool of workers. The first call starts it.
func (e *EvalContext) workers() *exec.Pool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.pool == nil {
		e.pool = exec.NewPool(e.threads)
	}
	return e.pool
}

// next returns the number of the next call. The caller holds the lock.
func (e *EvalContext) next() uint64 {
	e.calls++
	return e.calls
}
