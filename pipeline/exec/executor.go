// Package exec runs graphs. It is the executor of pipelines, dynamic calls and compiled loops.
//
// An iteration is a [Frame]. Its samples are fetched by a pool of I/O goroutines, which may hold a
// limited number of bytes, and computed by a pool of Config.Threads workers. A task is one sample
// through a whole segment of the graph: values between its operators lie in the worker's memory and
// stay in its cache. Only values that leave the segment are written to the frame, whose memory is
// laid out once and used again.
//
//	I/O pool        CPU pool                        frame
//	fetch sample ─▶ decode ─▶ crop ─▶ normalise ─▶ slab of outputs
//	(largest first)      (worker's memory)          (one a frame)
//
// Iterations overlap if the engine starts several; internal/flow decides how far it runs ahead.
// Graphs without readers whose iterations take less time than waking a worker run on the caller.
//
// No result depends on the worker, the time, or the other samples. Every sample
// of a frame is tried, and the error of the first failed sample is reported, so that the error does
// not depend on the workers either.
package exec

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/flow"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Config says how a graph is run. Only Keyers change results, and if a sample fails also OnError
// and Limits.
type Config struct {
	BatchSize int             // the most samples of a frame
	Workers   int             // workers
	Fetchers  int             // I/O goroutines, when there are readers
	ReadAhead int64           // bytes that fetched samples may take
	Keyers    []rng.Keyer     // of the graph's nodes
	Counted   []bool          // of the graph's nodes: see count.go; their Keyer gets a sample's number at the node; nil: none is counted
	OnError   []faults.Action // of its readers: Fail, Skip, Replace or Zero; nil: Fail
	Limits    op.Limits       // of a sample, and of all samples in flight
	InFlight  int             // the most frames at a time, for Limits.MaxTotalBytes; 0: 1
	Overdue   func(error)     // called by the waiting goroutine for an operator that exceeds Limits.MaxTime; may be nil

	BytesPerSample int  // of an output whose size is not known, set aside before the data comes
	Timing         bool // the time of nodes is counted
	Memory         bool // the memory of outputs is counted
	Affinity       bool // each worker stays on a processor

	// Made keeps what late nodes have made; nil if the graph has none.
	Made *Made

	// Pool is a pool of Threads workers that other executors share. If nil, the executor starts its
	// own.
	Pool *Pool
	// Take means that the caller takes the outputs of every frame (see Frame.Take); Frame.Outputs is
	// empty.
	Take bool
	// Allocate returns memory for outputs, aligned to 8. Several goroutines call it. If nil, the
	// executor allocates it.
	Allocate func(n int) []byte
	// Free takes memory of Allocate back that a frame replaces by larger memory. It may be nil.
	Free func([]byte)
}

// Executor runs one graph. Start, Wait, Err and Abandon make it a flow.Stage;
// they are for one goroutine at a time.
type Executor struct {
	plan     *plan
	config   Config
	sources  []reader.Source     // of plan.readers
	ahead    []func(ids []int64) // of sources: begins to read samples; nil for local files
	workers  []*worker           // one a thread, and one for the caller; with a shared pool made when needed
	fetchers []*fetcher
	cpu      *flow.Pool[task]
	io       *flow.Pool[task]
	budget   *flow.Budget
	shares   shares
	memory   buffers
	chain    sync.Mutex   // of frames that follow each other
	direct   bool         // fetched samples go straight into frames: see place.go
	learned  []learned    // of plan.outputs, if direct
	uniform  []uniform    // of plan.outputs
	usage    []usage      // of plan.values, when memory is counted
	current  [][]byte     // what kernels remember now, between frames; shorter: it is not known
	underWay int          // frames that were started and not abandoned
	cost     atomic.Int64 // nanoseconds of work of an iteration without readers, smoothed
}

// inlineBelow is the cost of an iteration below which handing it to a worker and
// waiting for it costs more than it saves.
const inlineBelow = int64(20 * time.Microsecond)

// New returns an executor for a graph whose i-th reader is sources[i]. Close must be called.
func New(g *graph.Graph, sources []reader.Source, c Config) *Executor {
	c.Limits = c.Limits.WithDefaults()
	e := &Executor{plan: newPlan(restaged(g, c.Counted), &c), config: c, sources: sources, shares: newShares(&c)}
	e.budget, e.memory.most = flow.NewBudget(e.readAhead()), e.shares.fetch
	if c.Memory {
		e.usage = make([]usage, len(e.plan.values))
	}
	e.current = make([][]byte, 0, len(e.plan.minds))
	e.directs()
	e.foretells()
	e.workers = make([]*worker, c.Workers+1)
	if c.Pool != nil {
		e.cpu = c.Pool.tasks
	} else {
		e.cpu = e.ownPool()
	}
	for _, source := range sources {
		e.ahead = append(e.ahead, reader.AheadOf(source))
	}
	if len(sources) > 0 {
		for range c.Fetchers {
			e.fetchers = append(e.fetchers, newFetcher(e))
		}
		e.io = flow.NewPool(c.Fetchers, func(w int, t task) { e.fetchers[w].fetch(t) })
	}
	return e
}

// Graph returns the graph that the executor runs. It is safe for concurrent use.
func (e *Executor) Graph() *graph.Graph { return e.plan.graph }

// ownPool starts workers that are the executor's alone.
func (e *Executor) ownPool() *flow.Pool[task] {
	for w := range e.workers {
		e.workers[w] = newWorker(e)
	}
	return flow.NewPool(e.config.Workers, func(w int, t task) {
		if e.config.Affinity && !e.workers[w].pinned {
			e.workers[w].pinned = true
			pin(w)
		}
		e.compute(e.workers[w], t)
	})
}

// Close ends all goroutines except the workers of a shared pool. Every frame must have been
// abandoned.
func (e *Executor) Close() {
	if e.io != nil {
		e.io.Close()
	}
	if e.config.Pool == nil {
		e.cpu.Close()
	}
}

// Start begins to compute a frame whose positions and ids are set, and returns at once.
func (e *Executor) Start(f *Frame) {
	n := f.Len()
	f.stage, f.started, f.finished, f.err = 0, true, false, nil
	e.underWay++
	f.inline = len(e.sources) == 0 && !e.plan.late && (e.cost.Load() < inlineBelow || n == 1 && e.config.Take)
	e.open(f)
	f.provide()
	f.layUniform()
	e.checkFed(f)
	if n > 0 && len(e.sources) > 0 {
		f.ctx, f.cancel = context.WithCancel(context.Background())
	}
	if !f.waits() {
		e.launch(f)
	}
}

// launch begins the work on a frame that was started.
func (e *Executor) launch(f *Frame) {
	n := f.Len()
	e.recallAll(f)
	if f.inline {
		return
	}
	if n == 0 || len(e.sources) == 0 {
		e.submit(f)
		return
	}
	f.sizes = f.sizes[:n]
	for i := range f.sizes {
		f.sizes[i] = e.size(f, i)
	}
	for i, ahead := range e.ahead {
		if ahead != nil {
			ahead(f.IDs[i])
		}
	}
	e.divide(f)
	e.lay(f)
	f.pending.Store(int64(n))
	e.io.Submit(f.tasks...)
}

// submit hands the frame's stage to the workers, in blocks that leave each some to claim.
func (e *Executor) submit(f *Frame) {
	n := f.Len()
	if n == 0 {
		e.finish(f)
		return
	}
	e.count(f)
	if perBatch(f.stage) {
		f.pending.Store(1)
		e.cpu.Submit(task{frame: f, hi: 1})
		return
	}
	step := e.step(n)
	f.tasks = f.tasks[:0]
	for lo := 0; lo < n; lo += step {
		f.tasks = append(f.tasks, task{frame: f, lo: int32(lo), hi: int32(min(lo+step, n))})
	}
	f.pending.Store(int64(n))
	e.cpu.Submit(f.tasks...)
}

// step returns how many of n samples make a block: enough to be worth handing over, and few enough
// that at the end no worker waits long for the last block of another.
func (e *Executor) step(n int) int {
	const blocksPerWorker, worthHanding = 4, int64(50 * time.Microsecond)
	step := max(1, n/(e.config.Workers*blocksPerWorker))
	if cost := e.cost.Load(); e.config.Take && cost > 0 {
		step = min(step, int(max(1, worthHanding*int64(n)/cost)))
	}
	return step
}

// compute runs a task. After the last task of a stage it continues with the next stage.
func (e *Executor) compute(w *worker, t task) {
	f, done := t.frame, int64(t.hi-t.lo)
	if done == 0 { // a frame whose samples all went straight into it
		e.advance(f)
		return
	}
	start := time.Now()
	if perBatch(f.stage) {
		w.batchThrough(f, f.stage)
		f.work.Add(int64(time.Since(start)))
		e.completed(f, done)
		return
	}
	w.block(f, f.stage, int(t.lo), int(t.hi))
	f.work.Add(int64(time.Since(start)))
	for s := int(t.lo); s < int(t.hi); s++ {
		e.settleFetched(f, s)
		if f.errs[s] != nil && e.excuse(f, s) {
			done--
		}
	}
	if done > 0 { // else the frame is in other hands
		e.completed(f, done)
	}
}

// completed counts samples of the stage that are done.
func (e *Executor) completed(f *Frame, n int64) {
	if f.pending.Add(-n) == 0 {
		e.advance(f)
	}
}

// advance continues with the next stage of a frame, or finishes the frame.
func (e *Executor) advance(f *Frame) {
	if f.stage+1 < e.plan.graph.Stages && !f.failed.Load() && !f.cancelled.Load() {
		f.stage++
		e.submit(f)
		return
	}
	e.finish(f)
}

// finish makes the outputs and wakes the waiting caller.
func (e *Executor) finish(f *Frame) {
	e.conclude(f)
	f.done <- struct{}{}
}

// conclude makes the outputs, or the error.
func (e *Executor) conclude(f *Frame) {
	if e.usage != nil {
		e.tally(f)
	}
	if len(e.sources) == 0 {
		cost := e.cost.Load()
		e.cost.Store(cost + (f.work.Swap(0)-cost)/8)
	}
	if f.refused != nil {
		f.err = f.refused
	} else if over := f.over.Load(); over != nil {
		f.err = over.err
	} else if f.failed.Load() {
		for _, err := range f.errs[:f.Len()] {
			if err != nil {
				f.err = err
				break
			}
		}
	} else if e.plan.begins {
		f.err = &op.Redescribed{}
	} else if !f.cancelled.Load() && !e.config.Take {
		f.err = f.collect(e.plan)
	}
	e.handOn(f)
}

// Wait returns nil once the frame is computed or has failed, and ctx's error as an errs.Canceled if
// ctx ends before.
func (e *Executor) Wait(ctx context.Context, f *Frame) error {
	if f.finished {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return canceled(err)
	}
	if f.inline {
		e.runInline(f)
		f.finished = true
		return nil
	}
	tick, stop := e.watch()
	defer stop()
	for {
		select {
		case <-f.done:
			f.finished = true
			return nil
		case <-ctx.Done():
			return canceled(context.Cause(ctx))
		case <-tick:
			e.tellOverdue()
		}
	}
}

// Ready reports whether Wait would return at once because the frame is computed.
func (e *Executor) Ready(f *Frame) bool { return f.finished || len(f.done) > 0 }

func canceled(err error) error { return &errs.Error{Kind: errs.Canceled, Op: "pipeline", Err: err} }

// runInline computes the frame on the caller.
func (e *Executor) runInline(f *Frame) {
	w, n := e.worker(e.config.Workers), f.Len()
	var start time.Time
	timed := n > 1 || !e.config.Take // one sample always runs here
	if timed {
		start = time.Now()
	}
	for stage := range e.plan.graph.Stages {
		f.stage = stage
		if f.failed.Load() || n == 0 {
			break
		}
		e.count(f)
		if perBatch(stage) {
			w.batchThrough(f, stage)
			continue
		}
		w.block(f, stage, 0, n)
		for s := range n {
			if f.errs[s] != nil {
				f.failed.Store(true)
			}
		}
	}
	if timed {
		f.work.Store(int64(time.Since(start)))
	}
	e.conclude(f)
}

// Err returns why the frame failed: the error of its first sample that did.
func (e *Executor) Err(f *Frame) error { return f.err }

// Abandon stops work on the frame, waits until no goroutine touches it and resets it.
func (e *Executor) Abandon(f *Frame) {
	if parked := e.unchain(f); f.started && !f.finished && !f.inline && !parked {
		f.cancelled.Store(true)
		if f.cancel != nil {
			f.cancel()
		}
		e.budget.Wake()
		<-f.done
	}
	if f.cancel != nil {
		f.cancel()
		f.ctx, f.cancel = nil, nil
	}
	if f.started {
		e.underWay--
	}
	f.forget()
	for i := range f.Outputs {
		f.handBack(i)
	}
	clear(f.whole)
	if e.config.Take {
		e.release(f)
	}
	f.started, f.finished, f.err = false, false, nil
	f.cancelled.Store(false)
}

// fail makes err the result of sample s, with operator, origin and place. In a tolerant graph the
// failure of a node that no output needs is noted beside the results.
func (e *Executor) fail(f *Frame, s int, n *graph.Node, err error) {
	if named := e.named(f, s, n, err); f.tolerance.tolerates(n, err) {
		f.tolerance.note(n, s, named)
	} else {
		f.fail(s, e.plan.origin[n.Index], named)
	}
}

// named returns err with operator, origin and place.
func (e *Executor) named(f *Frame, s int, n *graph.Node, err error) error {
	if n.Refused != nil {
		return err // of any sample, and it names the node
	}
	where, reader := "", e.plan.origin[n.Index]
	if n.Name != n.Schema.FullName() {
		where = "node " + n.Name + ", "
	}
	if reader >= 0 {
		where += e.sources[reader].Describe(f.IDs[reader][s]) + ", "
	}
	if e.config.Take { // a batch that belongs to no stream
		where += fmt.Sprintf("sample %d", s)
	} else {
		where += fmt.Sprintf("position %d", f.Positions[s])
	}
	return errs.Wrap(n.Schema.FullName(), where, err)
}

// ReadAhead returns the bytes of fetched samples that are held now, and the most that were ever
// held.
func (e *Executor) ReadAhead() (now, peak int64) { return e.budget.Used() }

// Specs describes the outputs.
func (e *Executor) Specs() []tensor.Spec {
	specs := make([]tensor.Spec, len(e.plan.outputs))
	for i, id := range e.plan.outputs {
		specs[i] = e.plan.values[id].spec
	}
	return specs
}
