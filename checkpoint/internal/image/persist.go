package image

import (
	"context"
	"errors"
	"path"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// writers is how many units are on their way to the store at once.
const writers = 8

// openFiles is up to how many files are made, and their space reserved, before
// the first is written.
const openFiles = 16

// output is a data file that is being written.
type output struct {
	file *dataFile
	name string // below the checkpoint
	w    store.Writer
	made sync.Once
	err  error        // of making it
	next atomic.Int64 // unit
	left atomic.Int64 // units that are not written yet
}

// writer makes the file when its first unit is to be written: there may be more
// files than a process may have open.
func (o *output) writer(ctx context.Context, txn store.Txn) (store.Writer, error) {
	o.made.Do(func() { o.w, o.err = txn.Create(ctx, o.name, o.file.size) })
	return o.w, o.err
}

// persist encodes and writes all data files: each writer has memory for one
// unit, begins with a file of its own, and helps with the others when that is
// done. Sources are not needed any more when it returns, whatever it returns.
func (im *Image) persist(ctx context.Context, txn store.Txn) error {
	defer im.release()
	var outputs []*output
	units, largest := 0, 0
	for _, t := range im.trees {
		if t == nil {
			continue
		}
		for _, f := range t.files {
			if f.written {
				continue
			}
			o := &output{file: f, name: path.Join(t.dir, f.name)}
			o.left.Store(int64(len(f.units)))
			outputs = append(outputs, o)
			im.progress.total += f.size
			for _, u := range f.units {
				units++
				if len(u.pieces) > 0 && u.placed == nil {
					largest = max(largest, u.size)
				}
			}
		}
	}
	if len(outputs) <= openFiles {
		for _, o := range outputs {
			if _, err := o.writer(ctx, txn); err != nil {
				return err
			}
		}
	}
	im.unread.Store(int64(units))
	var first atomic.Int64
	return im.share(ctx, min(writers, units), largest, largest, func(ctx context.Context, memory []byte) error {
		i := int(first.Add(1)-1) % len(outputs)
		order := append(append([]*output(nil), outputs[i:]...), outputs[:i]...)
		return im.write(ctx, txn, order, memory)
	})
}

// share runs work in n goroutines, each with memory of its own: room bytes, or
// least where there is not as much. There are fewer where memory does not suffice.
func (im *Image) share(ctx context.Context, n, room, least int, work func(ctx context.Context, memory []byte) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failures := make([]error, max(n, 1))
	var wg sync.WaitGroup
	for i := range n {
		memory, err := im.opts.Memory.Alloc(room, alignment)
		if i == 0 && errs.KindOf(err) == errs.Exhausted {
			memory, err = im.opts.Memory.Alloc(least, alignment)
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
		if n == 1 {
			run() // a goroutine would be for nothing
			break
		}
		wg.Go(run)
	}
	wg.Wait()
	return firstCause(failures)
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

// write works on the outputs, in this order, until no unit is left to claim.
func (im *Image) write(ctx context.Context, txn store.Txn, outputs []*output, memory []byte) error {
	for _, o := range outputs {
		for {
			i := int(o.next.Add(1)) - 1
			if i >= len(o.file.units) {
				break
			}
			u := o.file.units[i]
			w, err := o.writer(ctx, txn)
			if err != nil {
				return err
			}
			b, err := u.image(ctx, memory)
			if err != nil {
				return errs.Wrap("", o.file.name, err)
			}
			if im.unread.Add(-1) == 0 {
				im.release()
			}
			if err := w.WriteAt(ctx, b, u.off); err != nil {
				return err
			}
			im.progress.add(int64(len(b)))
			if o.left.Add(-1) > 0 {
				continue
			}
			if err := w.Seal(ctx); err != nil {
				return err
			}
		}
	}
	return nil
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
