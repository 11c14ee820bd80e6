package torchdata

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/protocol"
)

// Lanes implements protocol.Plan, and so do the following methods.
func (w *workersPass) Lanes() int { return len(w.lanes) }

func (w *workersPass) Lane(i int) protocol.LaneStart {
	s := protocol.LaneStart{Seed: WorkerSeed(w.base, i), Keep: w.keep, Context: w.workers[i].context}
	if w.saved != nil {
		s.Dataset, s.Iterator = w.saved[i].Dataset, w.saved[i].Iterator
	}
	if w.skip != nil {
		s.Skip, s.Items = w.skip[i], w.skip[i]
	}
	return s
}

func (w *workersPass) Opened(i int, s protocol.LaneState) {
	w.update(i, &s)
	if i == len(w.lanes)-1 {
		w.shot.lanes = slices.Clone(w.lanes)
	}
}

// update takes over the state of a worker.
func (w *workersPass) update(i int, s *protocol.LaneState) {
	lane := &w.lanes[i]
	if s.Dataset != nil {
		lane.Dataset = s.Dataset
	}
	if s.Iterator != nil {
		lane.Iterator = s.Iterator
	}
	lane.Ended, lane.Items = s.Ended, s.Items
	w.current[i] = true
}

func (w *workersPass) Prime(dst []protocol.Task) []protocol.Task {
	for range w.p.setup.Prefetch * w.p.setup.Workers {
		dst = w.send(dst)
	}
	return dst
}

// Next is called when all tasks are settled. No task is left then.
func (w *workersPass) Next() (protocol.Task, bool, error) {
	if w.dead != nil {
		return protocol.Task{}, false, w.dead
	}
	if w.err != nil {
		err := w.err
		w.err = nil
		return protocol.Task{}, false, err
	}
	w.over = true
	return protocol.Task{}, false, nil
}

// send appends the next task, if there is one and a worker for it. Tasks that were delivered before
// the state are only drawn.
func (w *workersPass) send(dst []protocol.Task) []protocol.Task {
	for w.err == nil {
		ids, ok, err := w.index.next()
		if !ok || err != nil {
			w.err = err
			return dst
		}
		main, lane := w.wanted()
		to, ok := w.next()
		if !ok {
			return dst
		}
		if main {
			var state json.RawMessage
			if state, w.err = w.main(); w.err != nil {
				return dst
			}
			w.mains = append(w.mains, mainAt{w.sent, state})
		}
		seq := w.sent
		w.sent++
		if w.order.deliveredAhead(seq) {
			continue
		}
		t := taskOf(w.p.setup, to, seq, ids)
		t.Want = lane
		w.busy[to]++
		w.given++
		return append(dst, t)
	}
	return dst
}

// next returns the worker whose turn it is.
func (w *workersPass) next() (worker int, ok bool) {
	if !w.p.setup.InOrder {
		return w.order.next(w)
	}
	for range w.active {
		worker = w.turn
		w.turn = (w.turn + 1) % len(w.active)
		if w.active[worker] {
			return worker, true
		}
	}
	return 0, false
}

// wanted reports what the next task must return so that the snapshot at its step can be taken: the
// state of the samplers, and the state of the worker.
func (w *workersPass) wanted() (main, lane bool) {
	n := int64(w.p.setup.SnapshotEvery)
	workers, prefetch := int64(w.p.setup.Workers), int64(w.p.setup.Prefetch)
	switch {
	case !w.p.setup.InOrder:
		return true, true
	case n < 1:
		return false, false
	case w.p.setup.Iterable:
		ahead := w.yielded%n + 1 + workers*prefetch
		return ahead >= n, ahead+workers >= n
	default:
		step := w.index.drawn - w.failed
		return step%n == 0, (step-1)%n+workers >= n
	}
}

// main returns the state of the samplers.
func (w *workersPass) main() (json.RawMessage, error) {
	m := mainDoc{Workers: w.p.setup.Workers, Drawn: w.index.drawn, LenCalled: w.announced, BaseSeed: &w.base}
	var err error
	if m.IndexSampler, m.Cursor, err = w.index.states(); err != nil {
		return nil, err
	}
	return appendJSON(nil, &m)
}

func (w *workersPass) Settle(t protocol.Task, o *protocol.Outcome, dst []protocol.Task) []protocol.Task {
	w.settled++
	if w.closing {
		return dst
	}
	if w.dead == nil && isDead(o.Err) {
		w.dead = o.Err
	}
	if w.dead != nil {
		o.Err = w.dead
		return dst
	}
	w.fault = o.Err
	if !w.active[t.Lane] {
		return dst // it was sent before the end of its worker was known
	}
	w.busy[t.Lane]--
	switch {
	case o.Ended:
		w.active[t.Lane] = false
		dst = w.send(dst)
		if o.State != nil {
			w.update(t.Lane, o.State)
		}
		return dst
	case o.Err != nil || o.Empty:
		w.failed++
		w.order.settle(t.Seq)
		return w.send(dst)
	}
	dst = w.send(dst)
	w.last = t.Lane
	w.current[t.Lane] = false
	if o.State != nil {
		w.update(t.Lane, o.State)
	}
	w.yielded++
	w.order.settle(t.Seq)
	w.shoot(t.Seq)
	w.p.overrun(w.announced, w.yielded)
	return dst
}

// isDead reports whether an error comes from a worker whose goroutine ended.
func isDead(err error) bool {
	var dead *loader.Dead
	return errors.As(err, &dead) && dead.Value == nil
}

// shoot takes the snapshot after a task if it is due and all its parts have arrived. After a task
// that failed it may come late: the state then counts more steps.
func (w *workersPass) shoot(seq int64) {
	n := int64(w.p.setup.SnapshotEvery)
	if !w.p.setup.InOrder {
		w.order.shoot(w)
		return
	}
	if n < 1 || w.yielded%n != 0 {
		return
	}
	var main json.RawMessage
	for len(w.mains) > 0 && w.mains[0].seq <= seq {
		if w.mains[0].seq == seq {
			main = w.mains[0].state
		}
		w.mains = w.mains[1:]
	}
	if main == nil || !w.complete() {
		return
	}
	w.shot = snapshot{w.yielded, w.last, main, slices.Clone(w.lanes)}
}

// complete reports whether the state of each worker is the state after its last batch.
func (w *workersPass) complete() bool { return !slices.Contains(w.current, false) }
