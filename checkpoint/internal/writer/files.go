package writer

import (
	"context"
	"errors"
	"path"
	"runtime"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// writers is how many units are written at once.
const writers = 8

// openFiles is how many files are created, and their space reserved, before the first is written.
const openFiles = 16

// writeFiles encodes and writes all data files, or links the files that the base has. Each worker
// has memory for one unit. It begins with its own file, and then helps with the others. When
// writeFiles returns, also with an error, the sources are not needed any more.
//
// Files of arrays that Options.Copied names are written before the others.
func (w *Writer) writeFiles(ctx context.Context, txn store.Txn) error {
	defer w.release()
	var files [2][]*file
	units := 0
	for _, t := range w.plans() {
		for _, f := range t.files {
			if f.written {
				continue
			}
			f.item, f.path, f.stage = t.item, path.Join(t.data, f.name), writing
			if w.base.mayHave(f) {
				f.stage = comparing
			}
			wave := 0
			if w.opts.Copied != nil && !f.first() {
				wave = 1
			}
			files[wave] = append(files[wave], f)
			w.progress.total += f.size
			units += len(f.units)
		}
	}
	w.unread.Store(int64(units))
	for _, wave := range files {
		if err := w.writeWave(ctx, txn, wave); err != nil {
			return err
		}
	}
	return nil
}

// writeWave writes files side by side.
func (w *Writer) writeWave(ctx context.Context, txn store.Txn, files []*file) error {
	units, room, largest := 0, 0, 0
	for _, f := range files {
		units += len(f.units)
		for _, u := range f.units {
			largest = max(largest, u.size)
			if len(u.pieces) > 0 && u.placed == nil {
				room = max(room, u.size)
			}
		}
	}
	if len(files) <= openFiles && w.base == nil {
		for _, f := range files {
			if _, err := f.create(ctx, txn); err != nil {
				return err
			}
		}
	}
	s := newSchedule(files)
	return w.runWorkers(ctx, w.within(min(w.opts.Pace.writers(), units), largest), room, room,
		func(ctx context.Context, memory []byte) error {
			err := w.work(ctx, txn, s, memory)
			if err != nil {
				s.stop()
			}
			return err
		})
}

// within returns how many of n writes of up to size bytes may be under way at once:
// Options.WriteBytes.
func (w *Writer) within(n, size int) int {
	if most := w.opts.WriteBytes; most > 0 && size > 0 {
		return min(n, int(max(1, min(most/int64(size), writers))))
	}
	return n
}

// runWorkers runs work in n goroutines. Each has its own memory: room bytes, or at least least. If
// memory does not suffice, there are fewer goroutines.
func (w *Writer) runWorkers(ctx context.Context, n, room, least int,
	work func(ctx context.Context, memory []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make([]error, max(n, 1))
	var wg sync.WaitGroup
	for i := range n {
		memory, err := w.room(i, room)
		if i == 0 && errs.KindOf(err) == errs.Exhausted {
			memory, err = w.room(i, least)
		}
		if i > 0 && errs.KindOf(err) == errs.Exhausted {
			break
		}
		if err != nil {
			failures[i] = err
			stop()
			break
		}
		run := func() {
			if failures[i] = work(ctx, memory); failures[i] != nil {
				stop()
			}
		}
		if n == 1 && !w.opts.Pace.Background {
			run() // no goroutine needed
			break
		}
		wg.Go(func() {
			w.opts.Pace.enter()
			run()
		})
	}
	wg.Wait()
	return firstCause(failures)
}

// room returns n bytes of memory for a worker. It reuses the memory of the worker if that suffices.
func (w *Writer) room(worker, n int) ([]byte, error) {
	if worker < len(w.rooms) && len(w.rooms[worker]) >= n {
		return w.rooms[worker][:n], nil
	}
	b, err := w.opts.Memory.Alloc(n, alignment)
	switch {
	case err != nil:
	case worker < len(w.rooms):
		w.rooms[worker] = b
	default:
		w.rooms = append(w.rooms, b)
	}
	return b, err
}

// firstCause returns the failure that caused the others to be cancelled.
func firstCause(failures []error) error {
	var canceled error
	for _, err := range failures {
		switch {
		case err == nil:
		case errors.Is(err, errs.Canceled):
			canceled = err
		default:
			return err
		}
	}
	return canceled
}

// work takes units until there are no more.
func (w *Writer) work(ctx context.Context, txn store.Txn, s *schedule, memory []byte) error {
	var f *file
	var at stage
	var i int
	for {
		if f, at, i = s.claim(f); f == nil {
			return nil
		}
		u := f.units[i]
		var err error
		if at == comparing {
			err = w.compareUnit(ctx, txn, s, f, u, memory)
		} else {
			err = w.writeUnit(ctx, txn, s, f, u, memory)
		}
		if err != nil {
			return err
		}
	}
}

// note computes the hash and the digests of the bytes b of a unit. It keeps digests from the
// comparison of the unit if the hash has not changed since.
func (w *Writer) note(f *file, u *unit, b []byte) {
	fresh := u.digests == nil
	if f.hashed {
		was := u.hash
		u.hash = manifest.HashOf(b)
		fresh = fresh || u.hash != was
	}
	if w.signed() && fresh {
		u.digest(b)
	}
}

// compareUnit computes the hash of a unit. After the last unit it decides whether the file is
// linked.
func (w *Writer) compareUnit(ctx context.Context, txn store.Txn, s *schedule, f *file, u *unit,
	memory []byte) (err error) {
	if w.signed() {
		var b []byte
		b, err = u.bytes(ctx, memory)
		w.note(f, u, b)
	} else {
		u.hash, err = u.quickHash(ctx, memory, w.base.believed(f.item))
	}
	if err != nil {
		return errs.Wrap("", f.name, err)
	}
	if !s.complete(f) {
		return nil
	}
	linked, err := w.base.link(ctx, txn, f.path, f)
	if err != nil {
		return err
	}
	if !linked {
		s.enter(f, writing)
		return nil
	}
	w.read(len(f.units))
	for _, u := range f.units {
		w.status.read(u)
		w.status.written(u)
	}
	w.progress.add(f.size)
	s.enter(f, finished)
	return nil
}

// writeUnit writes the bytes of a unit, and seals the file after the last one.
func (w *Writer) writeUnit(ctx context.Context, txn store.Txn, s *schedule, f *file, u *unit, memory []byte) error {
	b, err := u.bytes(ctx, memory)
	if err != nil {
		return errs.Wrap("", f.name, err)
	}
	w.note(f, u, b)
	w.read(1)
	w.status.read(u)
	out, err := f.create(ctx, txn)
	if err != nil {
		return err
	}
	if err := out.WriteAt(ctx, b, u.off); err != nil {
		return err
	}
	w.progress.add(int64(len(b)))
	w.status.written(u)
	if err := w.opts.Pace.wait(ctx, len(b)); err != nil {
		return err
	}
	if !s.complete(f) {
		return nil
	}
	f.out = nil // not needed after the last unit
	return out.Seal(ctx)
}

// read records that the sources of n more units are not needed any more.
func (w *Writer) read(n int) {
	if w.unread.Add(int64(-n)) == 0 {
		w.release()
	}
}

// progress serialises the calls of the caller's function.
type progress struct {
	mu          sync.Mutex
	done, total int64
	tell        func(done, total int64)
}

func (p *progress) add(n int64) {
	if p.tell == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += n
	p.tell(p.done, p.total)
}

// copiers returns the number of goroutines that are worthwhile for a copy of n bytes.
func copiers(n int64) int { return int(min(int64(runtime.GOMAXPROCS(0)), n>>20, 4)) }
