package writer

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// output is a data file on its way to the store.
type output struct {
	file *dataFile
	item string
	name string // below the checkpoint

	made sync.Once
	w    store.Writer
	err  error // of making it

	// Owned by the schedule.
	stage   stage
	claimed int // units of this stage that somebody is at, or done with
	done    int // units of this stage
	active  int // workers
}

// writer makes the file when its first unit is to be written: there may be more
// files than a process may have open.
func (o *output) writer(ctx context.Context, txn store.Txn) (store.Writer, error) {
	o.made.Do(func() { o.w, o.err = txn.Create(ctx, o.name, o.file.size) })
	return o.w, o.err
}

// stage of an output.
type stage uint8

const (
	comparing stage = iota // its units are hashed, to find it in the base
	writing                // they are written
	finished
)

// schedule hands out units of files to workers. A file whose hash may be known
// to the base is compared first, and then finished, or written.
type schedule struct {
	mu      sync.Mutex
	changed sync.Cond // an output entered another stage, or the work is stopped
	outputs []*output
	stopped bool
}

func newSchedule(outputs []*output) *schedule {
	s := &schedule{outputs: outputs}
	s.changed.L = &s.mu
	return s
}

// claim gives a worker the next unit: of the file it is at while there is one,
// then of one that is being written, with the fewest workers, so that files are
// written side by side and few are open. It waits while there may be work later
// and returns nil when there will be none.
func (s *schedule) claim(last *output) (o *output, at stage, unit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil {
		last.active--
	}
	for !s.stopped {
		o, open := s.pick(last)
		if o != nil {
			o.active++
			o.claimed++
			return o, o.stage, o.claimed - 1
		}
		if !open {
			break
		}
		s.changed.Wait()
	}
	return nil, finished, 0
}

// pick chooses a file with a unit to claim; open is false when no file will
// ever have one again. Files at the front with nothing to claim are dropped.
func (s *schedule) pick(last *output) (best *output, open bool) {
	for len(s.outputs) > 0 && s.outputs[0].exhausted() {
		s.outputs = s.outputs[1:]
	}
	if last != nil && last.claimable() {
		return last, true
	}
	for _, o := range s.outputs {
		open = open || !o.exhausted()
		if o.claimable() && (best == nil || o.stage > best.stage || o.stage == best.stage && o.active < best.active) {
			best = o
		}
	}
	return best, open
}

func (o *output) claimable() bool { return o.stage != finished && o.claimed < len(o.file.units) }

func (o *output) exhausted() bool { return o.stage > comparing && !o.claimable() }

// complete tells that a unit is done, and reports whether it was the last of
// its stage: then it is for the caller to call enter.
func (s *schedule) complete(o *output) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.done++
	return o.done == len(o.file.units)
}

// enter begins a stage of a file.
func (s *schedule) enter(o *output, at stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.stage, o.claimed, o.done = at, 0, 0
	s.changed.Broadcast()
}

// stop has claim return nothing from now on.
func (s *schedule) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.changed.Broadcast()
}
