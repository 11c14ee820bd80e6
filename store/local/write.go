package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// writeFull writes p whole, or fails.
func writeFull(f vfs.File, p []byte, off int64) error {
	n, err := f.WriteAt(p, off)
	if err == nil && n < len(p) {
		err = fmt.Errorf("wrote %d of %d bytes: %w", n, len(p), io.ErrShortWrite)
	}
	return err
}

// writeFile makes a new small file durable; its directory entry is not.
func (s *Store) writeFile(name string, b []byte) error {
	f, err := s.fs.Create(name, s.opt.FileMode)
	if err != nil {
		return err
	}
	if err = writeFull(f, b, 0); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// Put implements store.Store: a staging file that is renamed.
func (s *Store) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	const op = "store.Put"
	if err := store.CheckFinalName(op, name); err != nil {
		return err
	}
	if err := alive(ctx, op, name); err != nil {
		return err
	}
	if err := s.ensureDir(parent(name)); err != nil {
		return wrap(op, name, err)
	}
	if o.IfAbsent {
		if _, err := s.fs.Stat(s.path(name)); err == nil {
			return taken(op, name)
		}
	}
	staging := s.stage(name)
	defer s.unstage(staging)
	if err := s.replaceFile(staging, name, b, o.IfAbsent); err != nil {
		s.fs.Remove(s.path(staging)) //nolint:errcheck // CleanStaging finds what is left
		return wrap(op, name, err)
	}
	if err := s.fs.SyncDir(s.path(parent(name))); err != nil {
		return uncertain(op, name, err)
	}
	return nil
}

// replaceFile writes the file staging and moves it to name.
func (s *Store) replaceFile(staging, name string, b []byte, ifAbsent bool) error {
	from, to := s.path(staging), s.path(name)
	if err := s.writeFile(from, b); err != nil {
		return err
	}
	id, err := s.fs.Stat(from)
	if err != nil {
		return err
	}
	if ifAbsent {
		err = s.renameNoReplace(from, to, false)
	} else {
		err = s.fs.Rename(from, to)
	}
	if err == nil {
		return nil
	}
	switch s.landed(id, to) {
	case yes:
		return nil
	case no:
		return err
	}
	return errors.Join(store.ErrUncertain, err)
}

func taken(op, name string) error {
	return &errs.Error{Kind: errs.Exists, Op: op, Subject: name, Remedy: "choose another name, overwrite, or remove it first"}
}

func uncertain(op, name string, err error) error {
	return wrap(op, name, errors.Join(store.ErrUncertain, err))
}

// parent is the directory of a name, "" for the root.
func parent(name string) string {
	if d := path.Dir(name); d != "." {
		return d
	}
	return ""
}

// writer is an object of a transaction.
type writer struct {
	t    *txn
	name string
	size int64
	f    vfs.File

	life sync.RWMutex // held for reading by WriteAt, for writing by Seal and Abort
	done bool

	mu      sync.Mutex
	written int64
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
			Want: fmt.Sprintf("bytes within 0…%d", w.size), Got: fmt.Sprintf("%d bytes at %d", len(p), off),
		})
	}
	if err := alive(ctx, op, w.t.subject(w.name)); err != nil {
		return w.fail(err)
	}
	if len(p) == 0 {
		return nil
	}
	if err := writeFull(w.f, p, off); err != nil {
		return w.fail(wrap(op, w.t.subject(w.name), err))
	}
	w.mu.Lock()
	w.written += int64(len(p))
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
	err := w.f.Sync()
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
