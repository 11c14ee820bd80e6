package torchdata

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// outOfOrder is the state, beyond torchdata's, of a pass whose batches come in order of completion:
// which tasks were delivered before their turn, and how far each worker came. With it a state is
// exact, whatever the timing.
type outOfOrder struct {
	begin   json.RawMessage // the samplers' state before the first task
	settled int64           // all tasks before this one are settled
	beyond  map[int64]bool  // settled tasks from there on
	before  map[int64]bool  // tasks that were delivered before the state with which the pass began
}

// resume takes over the values of a state. replay is set for iterators without a state.
func (o *outOfOrder) resume(w *workersPass, d *outOfOrderDoc, replay bool) error {
	if d == nil {
		return nil
	}
	if len(d.Items) != len(w.lanes) || w.p.setup.InOrder {
		return &errs.Error{Kind: errs.Mismatch, Op: "torchdata.SetState", Subject: "in_order",
			Want: "the option of the loader that was saved", Got: fmt.Sprint(w.p.setup.InOrder)}
	}
	if replay {
		w.skip = d.Items
	}
	o.before = map[int64]bool{}
	for _, seq := range d.Ahead {
		o.before[seq] = true
	}
	return nil
}

// deliveredAhead reports whether a task was delivered before the state.
func (o *outOfOrder) deliveredAhead(seq int64) bool {
	if !o.before[seq] {
		return false
	}
	o.settle(seq)
	return true
}

// settle records that a task is done.
func (o *outOfOrder) settle(seq int64) {
	if o.beyond == nil {
		o.beyond = map[int64]bool{}
	}
	o.beyond[seq] = true
	for o.beyond[o.settled] {
		delete(o.beyond, o.settled)
		o.settled++
	}
}

// next returns the worker with the fewest tasks. If there are several, it returns the next one in
// turn.
func (o *outOfOrder) next(w *workersPass) (worker int, ok bool) {
	for k := range w.active {
		i := (w.turn + k) % len(w.active)
		if w.active[i] && (!ok || w.busy[i] < w.busy[worker]) {
			worker, ok = i, true
		}
	}
	w.turn = (worker + 1) % len(w.active)
	return worker, ok
}

// shoot takes the snapshot after a batch: the samplers where everything is settled, the workers at
// their present position.
func (o *outOfOrder) shoot(w *workersPass) {
	main := o.begin
	for len(w.mains) > 0 && w.mains[0].seq < o.settled {
		main = w.mains[0].state
		w.mains = w.mains[1:]
	}
	o.begin = main
	w.shot = snapshot{w.yielded, w.last, main, slices.Clone(w.lanes)}
}

// document returns the part of a state for o, or nil if batches come in order.
func (o *outOfOrder) document(w *workersPass) *outOfOrderDoc {
	if w.p.setup.InOrder {
		return nil
	}
	d := &outOfOrderDoc{Ahead: []int64{}, Items: make([]int64, len(w.lanes))}
	if !w.p.setup.Iterable {
		for _, seq := range slices.Sorted(maps.Keys(o.beyond)) {
			d.Ahead = append(d.Ahead, seq-o.settled)
		}
	}
	for i := range w.lanes {
		d.Items[i] = w.lanes[i].Items
	}
	return d
}
