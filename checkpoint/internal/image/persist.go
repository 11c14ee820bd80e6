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

// output is a data file that is being written.
type output struct {
	file *dataFile
	w    store.Writer
	next atomic.Int64 // unit
	left atomic.Int64 // units that are not written yet
}

// persist encodes and writes all data files: each writer has memory for one
// unit, begins with a file of its own, and helps with the others when that is
// done. Sources are not needed any more when it returns, whatever it returns.
func (im *Image) persist(ctx context.Context, txn store.Txn) error {
	defer im.release()
	var outputs []*output
	units, largest := 0, 0
	for i, t := range im.trees {
		if t == nil {
			continue
		}
		for _, f := range t.files {
			w, err := txn.Create(ctx, path.Join(im.items[i].Name, f.name), f.size)
			if err != nil {
				return err
			}
			o := &output{file: f, w: w}
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
	im.unread.Store(int64(units))
	n := min(writers, units)
	if n < 2 {
		memory, err := im.opts.Memory.Alloc(largest, alignment)
		if err != nil {
			return err
		}
		return im.write(ctx, outputs, memory)
	}
	failures := make([]error, n)
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range n {
		memory, err := im.opts.Memory.Alloc(largest, alignment)
		if i > 0 && errs.KindOf(err) == errs.Exhausted {
			break // fewer writers do it too
		}
		if err != nil {
			stop()
			wg.Wait()
			return err
		}
		first := i % len(outputs)
		order := append(append([]*output(nil), outputs[first:]...), outputs[:first]...)
		wg.Go(func() {
			if failures[i] = im.write(ctx, order, memory); failures[i] != nil {
				stop()
			}
		})
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
func (im *Image) write(ctx context.Context, outputs []*output, memory []byte) error {
	for _, o := range outputs {
		for {
			i := int(o.next.Add(1)) - 1
			if i >= len(o.file.units) {
				break
			}
			u := o.file.units[i]
			b, err := u.image(memory)
			if err != nil {
				return errs.Wrap("", o.file.name, err)
			}
			if im.unread.Add(-1) == 0 {
				im.release()
			}
			if err := o.w.WriteAt(ctx, b, u.off); err != nil {
				return err
			}
			im.progress.add(int64(len(b)))
			if o.left.Add(-1) > 0 {
				continue
			}
			if err := o.w.Seal(ctx); err != nil {
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
