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

// writers is how many units are on their way to the store at once.
const writers = 8

// openFiles is up to how many files are made, and their space reserved, before
// the first is written.
const openFiles = 16

// persist encodes all data files and writes them, or links those that the base
// has: each worker has memory for one unit, begins with a file of its own, and
// helps with the others when that is done. Sources are not needed any more when
// it returns, whatever it returns.
//
// Files of arrays that Options.Copied names are written before the others.
func (im *Image) persist(ctx context.Context, txn store.Txn) error {
	defer im.release()
	var outputs [2][]*output
	units := 0
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, f := range t.files {
			if f.written {
				continue
			}
			o := &output{file: f, item: t.item, name: path.Join(t.data, f.name), stage: writing}
			if im.base.mayHave(f) {
				o.stage = comparing
			}
			wave := 0
			if im.opts.Copied != nil && !f.first() {
				wave = 1
			}
			outputs[wave] = append(outputs[wave], o)
			im.progress.total += f.size
			units += len(f.units)
		}
	}
	im.unread.Store(int64(units))
	for _, wave := range outputs {
		if err := im.persistFiles(ctx, txn, wave); err != nil {
			return err
		}
	}
	return nil
}

// persistFiles writes files side by side.
func (im *Image) persistFiles(ctx context.Context, txn store.Txn, outputs []*output) error {
	units, room, largest := 0, 0, 0
	for _, o := range outputs {
		units += len(o.file.units)
		for _, u := range o.file.units {
			largest = max(largest, u.size)
			if len(u.pieces) > 0 && u.placed == nil {
				room = max(room, u.size)
			}
		}
	}
	if len(outputs) <= openFiles && im.base == nil {
		for _, o := range outputs {
			if _, err := o.writer(ctx, txn); err != nil {
				return err
			}
		}
	}
	s := newSchedule(outputs)
	return im.share(ctx, im.within(min(im.opts.Pace.writers(), units), largest), room, room, func(ctx context.Context, memory []byte) error {
		err := im.work(ctx, txn, s, memory)
		if err != nil {
			s.stop()
		}
		return err
	})
}

// within is how many of n may be on their way at once that have up to size bytes
// each: Options.WriteBytes.
func (im *Image) within(n, size int) int {
	if most := im.opts.WriteBytes; most > 0 && size > 0 {
		return min(n, int(max(1, min(most/int64(size), writers))))
	}
	return n
}

// share runs work in n goroutines, each with memory of its own: room bytes, or
// least where there is not as much. There are fewer where memory does not suffice.
func (im *Image) share(ctx context.Context, n, room, least int, work func(ctx context.Context, memory []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make([]error, max(n, 1))
	var wg sync.WaitGroup
	for i := range n {
		memory, err := im.room(i, room)
		if i == 0 && errs.KindOf(err) == errs.Exhausted {
			memory, err = im.room(i, least)
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
		if n == 1 && !im.opts.Pace.Background {
			run() // a goroutine would be for nothing
			break
		}
		wg.Go(func() {
			im.opts.Pace.enter()
			run()
		})
	}
	wg.Wait()
	return firstCause(failures)
}

// room returns memory of n bytes for a worker: what that had before, where it
// suffices.
func (im *Image) room(worker, n int) ([]byte, error) {
	if worker < len(im.rooms) && len(im.rooms[worker]) >= n {
		return im.rooms[worker][:n], nil
	}
	b, err := im.opts.Memory.Alloc(n, alignment)
	switch {
	case err != nil:
	case worker < len(im.rooms):
		im.rooms[worker] = b
	default:
		im.rooms = append(im.rooms, b)
	}
	return b, err
}

// firstCause prefers the failure to the cancellations that it caused.
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

// work takes units until none is left.
func (im *Image) work(ctx context.Context, txn store.Txn, s *schedule, memory []byte) error {
	var o *output
	var at stage
	var i int
	for {
		if o, at, i = s.claim(o); o == nil {
			return nil
		}
		u := o.file.units[i]
		var err error
		if at == comparing {
			err = im.compare(ctx, txn, s, o, u, memory)
		} else {
			err = im.write(ctx, txn, s, o, u, memory)
		}
		if err != nil {
			return err
		}
	}
}

// note takes what is recorded of the bytes b of a unit. Digests of a unit that was
// compared before are those of the same bytes as long as its hash is.
func (im *Image) note(f *dataFile, u *unit, b []byte) {
	fresh := u.runs == nil
	if f.hashed {
		was := u.hash
		u.hash = manifest.HashOf(b)
		fresh = fresh || u.hash != was
	}
	if im.signed() && fresh {
		u.digest(b)
	}
}

// compare takes the hash of a unit, and decides about the file when it was the
// last one.
func (im *Image) compare(ctx context.Context, txn store.Txn, s *schedule, o *output, u *unit, memory []byte) (err error) {
	if im.signed() {
		var b []byte
		b, err = u.image(ctx, memory)
		im.note(o.file, u, b)
	} else {
		u.hash, err = u.likeness(ctx, memory, im.base.believed(o.item))
	}
	if err != nil {
		return errs.Wrap("", o.file.name, err)
	}
	if !s.complete(o) {
		return nil
	}
	linked, err := im.base.link(ctx, txn, o.name, o.file)
	if err != nil {
		return err
	}
	if !linked {
		s.enter(o, writing)
		return nil
	}
	im.read(len(o.file.units))
	for _, u := range o.file.units {
		im.status.read(u)
		im.status.written(u)
	}
	im.progress.add(o.file.size)
	s.enter(o, finished)
	return nil
}

// write writes the bytes of a unit, and seals the file after the last one.
func (im *Image) write(ctx context.Context, txn store.Txn, s *schedule, o *output, u *unit, memory []byte) error {
	b, err := u.image(ctx, memory)
	if err != nil {
		return errs.Wrap("", o.file.name, err)
	}
	im.note(o.file, u, b)
	im.read(1)
	im.status.read(u)
	w, err := o.writer(ctx, txn)
	if err != nil {
		return err
	}
	if err := w.WriteAt(ctx, b, u.off); err != nil {
		return err
	}
	im.progress.add(int64(len(b)))
	im.status.written(u)
	if err := im.opts.Pace.wait(ctx, len(b)); err != nil {
		return err
	}
	if !s.complete(o) {
		return nil
	}
	return w.Seal(ctx)
}

// read tells that the sources of n more units are not needed any more.
func (im *Image) read(n int) {
	if im.unread.Add(int64(-n)) == 0 {
		im.release()
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

// copiers is how many goroutines a copy of n bytes pays for.
func copiers(n int64) int { return int(min(int64(runtime.GOMAXPROCS(0)), n>>20, 4)) }
