package torchdata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// workersPass is a pass with workers, each with a data set of its own. The workers get tasks in
// turn, ahead of the delivered batches. The state is the state of the last snapshot.
type workersPass struct {
	p         *books
	index     drawing
	base      int64
	announced *int64
	workers   []*Worker
	keep      bool

	saved  []protocol.LaneState // states with which the workers begin; nil for the beginning
	skip   []int64              // items that they skip
	active []bool               // workers that are not known to have ended
	turn   int                  // whose turn is next
	busy   []int                // tasks in flight

	sent    int64 // tasks, including those that were delivered ahead
	given   int64 // tasks given to workers
	settled int64 // tasks that are settled
	closing bool  // results are dropped
	yielded int64
	failed  int64 // failed tasks
	last    int   // the worker that delivered last
	mains   []mainAt
	lanes   []protocol.LaneState // for each worker, the state of its last delivered batch that had one
	current []bool               // for each worker, whether that was its last delivered batch
	shot    snapshot
	order   outOfOrder
	over    bool
	fault   error // error of the task that was settled last
	err     error // error of the sampler
	dead    error // error of a worker that ended, after which no batch comes
}

// mainAt is the state of the samplers when a task was sent.
type mainAt struct {
	seq   int64
	state json.RawMessage
}

// snapshot holds the values of a state.
type snapshot struct {
	step  int64
	last  int
	main  json.RawMessage
	lanes []protocol.LaneState
}

func (w *workersPass) open(ctx context.Context, saved []byte) error {
	if w.p.setup.Prefetch < 1 {
		return &errs.Error{Kind: errs.Invalid, Op: "torchdata.Begin", Subject: "prefetch_factor",
			Want: "at least 1 with workers", Got: fmt.Sprint(w.p.setup.Prefetch)}
	}
	w.index = drawing{of: w.p.index}
	w.index.restart()
	w.base = BaseSeed(w.p.generator)
	if saved == nil {
		return w.start(ctx)
	}
	d, m, err := parseWorkers(saved, w.p.setup.Workers)
	if err != nil {
		return err
	}
	return w.resume(ctx, d, m)
}

// start begins without a state.
func (w *workersPass) start(ctx context.Context) error {
	w.clear()
	if err := w.take(); err != nil {
		return err
	}
	if err := w.p.engine.Open(ctx, w); err != nil {
		return err
	}
	return w.err
}

// clear begins an iteration of the samplers and forgets the delivered batches.
func (w *workersPass) clear() {
	n := w.p.setup.Workers
	w.index.restart()
	w.announced = w.p.lenCalled()
	w.active, w.current, w.busy = make([]bool, n), make([]bool, n), make([]int, n)
	for i := range n {
		w.active[i], w.current[i] = true, true
	}
	w.lanes = make([]protocol.LaneState, n)
	w.turn, w.sent, w.yielded, w.failed, w.last = 0, 0, 0, 0, n-1
	w.given, w.settled, w.closing = 0, 0, false
	w.mains, w.over, w.fault, w.err, w.dead = nil, false, nil, nil, nil
	w.order = outOfOrder{}
	if !w.keep {
		w.workers = make([]*Worker, n)
		for i := range n {
			w.workers[i] = NewWorker(w.base, i)
		}
	}
}

// take sets the state to the state of the beginning.
func (w *workersPass) take() error {
	main, err := w.main()
	w.shot, w.order.begin = snapshot{step: w.yielded, last: w.last, main: main}, main
	return err
}

// reset begins again with the same workers. They first finish the tasks that they were given, as
// torchdata's workers do, because their data sets may remember them.
func (w *workersPass) reset(ctx context.Context) error {
	for w.closing = true; w.settled < w.given && w.dead == nil; {
		if err := w.p.engine.Skip(ctx, 1); ctx.Err() != nil || errors.Is(err, io.EOF) {
			break
		}
	}
	w.keep, w.saved, w.skip = true, nil, nil
	return w.start(ctx)
}

// resume continues from a state.
func (w *workersPass) resume(ctx context.Context, d *workersDoc, m *mainDoc) (err error) {
	w.base = *m.BaseSeed
	w.clear()
	w.saved = make([]protocol.LaneState, len(w.lanes))
	for i := range w.saved {
		if w.saved[i], err = d.Snapshot.Workers[workerKey(i)].laneOf(); err != nil {
			return err
		}
	}
	replay := w.p.setup.Iterable && w.saved[0].Dataset == nil && w.saved[0].Iterator == nil
	if err := w.order.resume(w, d.OutOfOrder, replay); err != nil {
		return err
	}
	if replay && d.OutOfOrder == nil {
		return w.fastForward(ctx, d)
	}
	if err := w.index.resume(m.Drawn, m.IndexSampler, m.Cursor); err != nil {
		return err
	}
	w.announced = m.LenCalled
	w.yielded, w.last = d.Snapshot.Step, d.Snapshot.Last
	w.turn = (w.last + 1) % len(w.lanes)
	copy(w.lanes, w.saved)
	w.shot, w.order.begin = snapshot{step: w.yielded, last: w.last, main: d.Snapshot.Main}, d.Snapshot.Main
	if err := w.p.engine.Open(ctx, w); err != nil {
		return err
	}
	if w.err != nil {
		return w.err
	}
	err = w.p.replay(ctx, d.Since, &w.fault)
	w.over = d.Finished
	return err
}

// fastForward continues with an iterable without a state: it starts from the beginning and skips
// the delivered batches.
func (w *workersPass) fastForward(ctx context.Context, d *workersDoc) error {
	if err := w.start(ctx); err != nil {
		return err
	}
	if err := w.p.fastForward(ctx, d.Snapshot.Step, &w.fault); err != nil {
		return err
	}
	if w.last != d.Snapshot.Last {
		return &errs.Error{Kind: errs.Mismatch, Op: "torchdata.SetState", Subject: "_last_yielded_worker_id",
			Want: fmt.Sprint(d.Snapshot.Last), Got: fmt.Sprint(w.last), Remedy: "use the data set that the state is of"}
	}
	err := w.p.replay(ctx, d.Since, &w.fault)
	w.over = d.Finished
	return err
}

func (w *workersPass) finished() bool { return w.over }

func (w *workersPass) document() (any, error) {
	s := &snapshotDoc{Step: w.shot.step, Last: w.shot.last, Main: w.shot.main, Workers: map[string]*workerDoc{}}
	for i := range w.shot.lanes {
		lane := &w.shot.lanes[i]
		s.Workers[workerKey(i)] = &workerDoc{ID: i, Dataset: embedded(lane.Dataset), Fetcher: fetcherOf(w.p.setup, lane)}
	}
	return &workersDoc{Snapshot: s, Since: w.yielded - w.shot.step, Finished: w.over, OutOfOrder: w.order.document(w)}, nil
}
