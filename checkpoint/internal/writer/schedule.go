package writer

import (
	"context"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// create creates the file in the store when its first unit is written, because there may be more
// files than a process may have open.
func (f *file) create(ctx context.Context, txn store.Txn) (store.Writer, error) {
	f.made.Do(func() { f.out, f.err = txn.Create(ctx, f.path, f.size) })
	return f.out, f.err
}

// stage is a stage of a file.
type stage uint8

const (
	comparing stage = iota // its units are hashed, to find it in the base
	writing                // its units are written
	finished
)

// schedule hands out units of files to workers. A file that the base may have is compared first.
// Then it is linked or written.
type schedule struct {
	mu      sync.Mutex
	changed sync.Cond // a file entered another stage, or the work is stopped
	files   []*file
	stopped bool
}

func newSchedule(files []*file) *schedule {
	s := &schedule{files: files}
	s.changed.L = &s.mu
	return s
}

// claim returns the next unit for a worker: a unit of its last file if there is one, else of the
// file with the fewest workers that is being written. So files are written side by side, and few
// are open. claim waits while there may be work later, and returns nil when all work was handed
// out.
func (s *schedule) claim(last *file) (f *file, at stage, unit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if last != nil {
		last.active--
	}
	for !s.stopped {
		f, open := s.pick(last)
		if f != nil {
			f.active++
			f.claimed++
			return f, f.stage, f.claimed - 1
		}
		if !open {
			break
		}
		s.changed.Wait()
	}
	return nil, finished, 0
}

// pick chooses a file with a unit to claim; open is false if no file will ever have a unit again.
// It drops finished files at the front.
func (s *schedule) pick(last *file) (best *file, open bool) {
	for len(s.files) > 0 && s.files[0].exhausted() {
		s.files = s.files[1:]
	}
	if last != nil && last.claimable() {
		return last, true
	}
	for _, f := range s.files {
		open = open || !f.exhausted()
		if f.claimable() && (best == nil || f.stage > best.stage || f.stage == best.stage && f.active < best.active) {
			best = f
		}
	}
	return best, open
}

func (f *file) claimable() bool { return f.stage != finished && f.claimed < len(f.units) }

func (f *file) exhausted() bool { return f.stage > comparing && !f.claimable() }

// complete records that a unit is done, and reports whether it was the last unit of its stage. Then
// the caller must call enter.
func (s *schedule) complete(f *file) (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.done++
	return f.done == len(f.units)
}

// enter begins a stage of a file.
func (s *schedule) enter(f *file, at stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f.stage, f.claimed, f.done = at, 0, 0
	s.changed.Broadcast()
}

// stop makes claim return nothing from now on.
func (s *schedule) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.changed.Broadcast()
}
