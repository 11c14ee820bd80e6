package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/protocol"
	"github.com/bivouac-ml/bivouac/rng"
)

// engine is the data plane: it does the tasks of a plan in its lanes and hands out the results.
// Only lanes run on other goroutines.
type engine[S, B any] struct {
	options Options[S, B]
	setup   protocol.Setup
	source  source[S]
	collate func([]S) (B, error)
	packs   func([][]S) (B, error) // replaces collate, if not nil
	keyer   rng.Keyer
	pin     *pinner

	plan      protocol.Plan // the plan of the pass in progress; nil between passes
	lanes     []*lane[S]
	crew      *crew[*slot[S, B]]
	flight    []*slot[S, B] // slots that were given and not handed out yet, in the order of tasks
	free      []*slot[S, B]
	tasks     []protocol.Task
	cancel    context.CancelFunc
	settling  bool          // the plan is in its method Settle
	abandoned bool          // the plan has called Abandon
	bell      chan struct{} // signals that a task is done
	caller    callContext
	timer     *time.Timer
	last      BatchInfo
	announced atomic.Int64 // items that an Iterable announced to Len, plus one
}

func newEngine[S, B any](src source[S], o Options[S, B]) (*engine[S, B], error) {
	e := &engine[S, B]{options: o, setup: o.setup(src.iterable != nil), source: src, bell: make(chan struct{}, 1)}
	s := &e.setup
	var err error
	if e.packs = o.CollatePacks; e.packs == nil {
		if e.collate, err = collatorOf[S, B](o.Collate, s.Batched); err != nil {
			return nil, err
		}
	}
	if o.Pinned {
		e.pin = newPinner(s.Warn)
	}
	e.keyer = rng.NewKeyer(randomSeed(s))
	s.Fingerprint, s.Anonymous, s.Stateful = src.fingerprint(), anonymous(src.dataset()), src.stateful()
	s.DataLen, s.FingerprintOf = src.length, src.fingerprintOfFirst
	s.AnnouncedLen = func() (int64, bool) { n := e.announced.Load(); return n - 1, n > 0 }
	e.crew = newCrew(e.setup.Workers, e.work)
	return e, nil
}

// Setup implements protocol.Engine.
func (e *engine[S, B]) Setup() *protocol.Setup { return &e.setup }

// start begins a pass.
func (e *engine[S, B]) start(ctx context.Context, p protocol.Protocol) error {
	if err := p.Begin(ctx); err != nil {
		e.drop()
		return err
	}
	return nil
}

// Open implements protocol.Engine.
func (e *engine[S, B]) Open(ctx context.Context, p protocol.Plan) error {
	e.drop()
	n := p.Lanes()
	if n < 1 {
		return &errs.Error{Kind: errs.Invalid, Op: "loader.Engine.Open", Subject: "lanes", Want: "at least 1 lane",
			Got: fmt.Sprint(n)}
	}
	pass, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.cancel = cancel
	if e.setup.Workers == 0 {
		cancel()
		e.caller.set(ctx)
		pass = &e.caller
	}
	e.plan = p
	before := e.lanes
	e.lanes = make([]*lane[S], n)
	for i := range n {
		l := &lane[S]{index: i, of: n, start: p.Lane(i)}
		if l.start.Keep && i < len(before) {
			l.keep(before[i])
		}
		l.ctx = context.WithValue(pass, infoKey{}, &l.info)
		e.lanes[i] = l
	}
	for i := n; i < len(before); i++ {
		before[i].discard()
	}
	for i := range n {
		if i < len(before) && !e.lanes[i].start.Keep {
			before[i].discard()
		}
	}
	return e.openLanes(ctx)
}

// openLanes opens all lanes in parallel and gives them their first tasks.
func (e *engine[S, B]) openLanes(ctx context.Context) error {
	for _, l := range e.lanes {
		e.give(&slot[S, B]{lane: l, opening: true})
	}
	for i := range e.lanes {
		s := e.flight[0]
		if err := e.wait(ctx, s); err != nil {
			return err
		}
		e.flight = e.flight[1:]
		if s.outcome.Err != nil {
			return s.outcome.Err
		}
		e.plan.Opened(i, s.state)
	}
	e.flight = e.flight[:0]
	e.tasks = e.plan.Prime(e.tasks[:0])
	e.giveTasks()
	return nil
}

// giveTasks starts the tasks in e.tasks.
func (e *engine[S, B]) giveTasks() {
	for _, t := range e.tasks {
		e.giveTask(t)
	}
}

func (e *engine[S, B]) giveTask(t protocol.Task) {
	var s *slot[S, B]
	if n := len(e.free); n > 0 {
		s, e.free = e.free[n-1], e.free[:n-1]
	} else {
		s = &slot[S, B]{}
	}
	s.task = t
	if t.Lane != protocol.AnyLane || e.setup.Workers == 0 {
		s.lane = e.lanes[max(0, t.Lane)]
	}
	e.give(s)
}

// give queues a slot for the worker of its lane, or for any worker, which then uses the lane with
// its own number. Without workers the slot is made when the caller waits for it.
func (e *engine[S, B]) give(s *slot[S, B]) {
	e.flight = append(e.flight, s)
	switch {
	case e.setup.Workers == 0:
	case s.lane != nil:
		e.crew.submit(s.lane.index%e.setup.Workers, s)
	default:
		e.crew.offer(s)
	}
}

// work makes the batch of a slot, on a goroutine of the crew.
func (e *engine[S, B]) work(worker int, s *slot[S, B]) {
	if s.lane == nil {
		s.lane = e.lanes[worker]
	}
	s.begun.Store(true)
	defer func() {
		s.done.Store(true)
		select {
		case e.bell <- struct{}{}:
		default:
		}
	}()
	e.fill(s)
}

// next hands out the next batch. At the end of the pass it ends the pass and returns io.EOF.
func (e *engine[S, B]) next(ctx context.Context) (B, error) {
	var none B
	for {
		if len(e.flight) == 0 {
			t, ok, err := e.plan.Next()
			if err != nil {
				return none, err
			}
			if !ok {
				e.finish()
				return none, io.EOF
			}
			e.giveTask(t)
		}
		s, err := e.first(ctx)
		if err != nil {
			return none, err
		}
		e.settling = true
		e.tasks = e.plan.Settle(s.task, &s.outcome, e.tasks[:0])
		e.settling = false
		b, o := s.batch, s.outcome
		info := BatchInfo{Samples: o.Count, Repeated: o.Repeated}
		if !e.setup.Iterable {
			info.Position = s.task.Pos
		}
		if e.pin != nil {
			e.pin.handOut(s.pinned)
		}
		s.reset()
		e.free = append(e.free, s)
		if e.abandoned {
			e.drop()
		} else {
			e.giveTasks()
		}
		switch {
		case o.Err != nil:
			return none, o.Err
		case !o.Ended && !o.Empty:
			e.last = info
			return b, nil
		}
	}
}

// first takes the next slot out of the flight: the oldest one, or the oldest one that is done.
func (e *engine[S, B]) first(ctx context.Context) (*slot[S, B], error) {
	at := 0
	if e.setup.InOrder || e.setup.Workers == 0 {
		if err := e.wait(ctx, e.flight[0]); err != nil {
			return nil, err
		}
	} else {
		var err error
		if at, err = e.waitAny(ctx); err != nil {
			return nil, err
		}
	}
	s := e.flight[at]
	copy(e.flight[at:], e.flight[at+1:])
	e.flight[len(e.flight)-1] = nil
	e.flight = e.flight[:len(e.flight)-1]
	return s, nil
}

// Skip implements protocol.Engine.
func (e *engine[S, B]) Skip(ctx context.Context, n int64) error {
	for range n {
		if e.plan == nil {
			return io.EOF
		}
		if _, err := e.next(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Lane implements protocol.Engine.
func (e *engine[S, B]) Lane(i int) (protocol.LaneState, error) {
	if i < 0 || i >= len(e.lanes) {
		return protocol.LaneState{}, &errs.Error{Kind: errs.Invalid, Op: "loader.Engine.Lane",
			Want: fmt.Sprintf("a lane from 0 to %d", len(e.lanes)-1), Got: fmt.Sprint(i)}
	}
	return e.lanes[i].state()
}

// Abandon implements protocol.Engine.
func (e *engine[S, B]) Abandon() {
	if e.settling {
		e.abandoned = true
	} else {
		e.drop()
	}
}

// drop ends the pass in progress: tasks in flight are stopped and lost. Workers that do not stop
// are abandoned and replaced.
func (e *engine[S, B]) drop() {
	e.abandoned = false
	if e.cancel != nil {
		e.cancel()
		e.cancel = nil
	}
	if len(e.flight) > 0 && e.setup.Workers > 0 {
		for _, number := range e.crew.settle(e.grace()) {
			for i := number; i < len(e.lanes); i += e.setup.Workers {
				e.lanes[i] = &lane[S]{} // the abandoned worker still uses the old lane
			}
		}
	}
	e.flight = nil
	e.free = nil
	e.plan = nil
}

// finish ends a pass that has delivered all its batches.
func (e *engine[S, B]) finish() {
	e.cancel()
	e.cancel, e.plan = nil, nil
	for _, l := range e.lanes {
		l.closeIterator()
	}
}

// grace returns how long a worker may take to stop.
func (e *engine[S, B]) grace() time.Duration {
	const enough = 5 * time.Second
	if e.options.Timeout > 0 {
		return e.options.Timeout
	}
	return enough
}

func (e *engine[S, B]) close() error {
	e.drop()
	err := e.crew.close(e.grace())
	if err == nil { // no call uses the lanes
		for _, l := range e.lanes {
			err = errors.Join(err, l.discard())
		}
	}
	if e.pin != nil {
		err = errors.Join(err, e.pin.close())
	}
	return err
}

// SetWorkers implements protocol.Engine.
func (e *engine[S, B]) SetWorkers(n int) error {
	if e.plan != nil {
		return &errs.Error{Kind: errs.Sequence, Want: "a loader between two epochs", Got: "a loader within an epoch"}
	}
	if err := e.crew.close(e.grace()); err != nil {
		return err
	}
	s := &e.setup
	s.Workers = n
	e.crew = newCrew(n, e.work)
	if n > 0 && s.Prefetch == 0 {
		s.Prefetch = 2
	}
	return nil
}
