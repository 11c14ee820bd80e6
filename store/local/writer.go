package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
)

// writer writes an object of a transaction.
type writer struct {
	t    *txn
	name string
	size int64
	room int64 // bytes allocated: size, or whole blocks if the first write was direct
	f    vfs.File

	life sync.RWMutex // held for reading by WriteAt, for writing by Seal and Abort
	done bool

	mu      sync.Mutex
	direct  bool  // writes go past the page cache
	written int64 // bytes written
	past    int64 // bytes of these that went past the page cache
	err     error
}

func (w *writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return w.t.fail(w.err)
}

func (w *writer) sticky() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// WriteAt implements store.Writer.
func (w *writer) WriteAt(ctx context.Context, p []byte, off int64) error {
	const op = "store.WriteAt"
	w.life.RLock()
	defer w.life.RUnlock()
	if err := w.open(op); err != nil {
		return err
	}
	if off < 0 || off > w.size || int64(len(p)) > w.size-off {
		return w.fail(&errs.Error{
			Kind: errs.Invalid, Op: op, Subject: w.t.subject(w.name),
			Want: fmt.Sprintf("bytes between offset 0 and %d", w.size), Got: fmt.Sprintf("%d bytes at offset %d", len(p), off),
		})
	}
	if err := alive(ctx, op, w.t.subject(w.name)); err != nil {
		return w.fail(err)
	}
	if len(p) == 0 {
		return nil
	}
	past, err := w.write(p, off)
	if err != nil {
		return w.fail(wrap(op, w.t.subject(w.name), err))
	}
	w.mu.Lock()
	w.written += int64(len(p))
	w.past += past
	w.mu.Unlock()
	return nil
}

func (w *writer) open(op string) error {
	if err := w.sticky(); err != nil {
		return err
	}
	if w.done {
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: w.t.subject(w.name)}
	}
	return nil
}

// Seal implements store.Writer.
func (w *writer) Seal(ctx context.Context) error {
	const op = "store.Seal"
	w.life.Lock()
	defer w.life.Unlock()
	if err := w.open(op); err != nil {
		w.close() //nolint:errcheck // the first error is what counts
		return err
	}
	if err := alive(ctx, op, w.t.subject(w.name)); err != nil {
		w.close() //nolint:errcheck // as above
		return w.fail(err)
	}
	if w.written != w.size {
		w.close() //nolint:errcheck // as above
		return w.fail(&errs.Error{
			Kind: errs.Invalid, Op: op, Subject: w.t.subject(w.name),
			Want: fmt.Sprintf("each of %d bytes written once", w.size), Got: fmt.Sprintf("%d bytes", w.written),
		})
	}
	var err error
	if w.room != w.size {
		err = w.f.Truncate(w.size)
	}
	if err == nil {
		err = w.f.Sync()
	}
	if e := w.close(); err == nil {
		err = e
	}
	if err != nil {
		return w.fail(wrap(op, w.t.subject(w.name), err))
	}
	w.t.sealed(w)
	return nil
}

// close closes the file once.
func (w *writer) close() error {
	if w.done {
		return nil
	}
	w.done = true
	return w.f.Close()
}

// Abort implements store.Writer.
func (w *writer) Abort() error {
	w.life.Lock()
	defer w.life.Unlock()
	if w.done {
		return nil
	}
	err := w.close()
	if e := w.t.drop(w); err == nil {
		err = e
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.fail(wrap("store.Abort", w.t.subject(w.name), err))
	}
	return nil
}
