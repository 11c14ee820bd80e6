package local

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"sync"
	"syscall"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// txn is a transaction. Its staging tree grows, and is renamed or removed at the end.
type txn struct {
	s       *Store
	final   string
	staging string
	opt     store.TxnOptions

	own vfs.Dir // has the lock of staging; nil if there is no lock

	life sync.RWMutex // held for reading by Create, Put and Link, for writing by Commit and Abort
	over bool

	mu      sync.Mutex
	dirs    map[string]bool // made below staging; "" is staging itself
	objects map[string]bool // created names
	writers map[*writer]bool
	stats   store.TxnStats
	err     error
}

var (
	_ store.Txn      = (*txn)(nil)
	_ store.Rereader = (*txn)(nil)
)

// Begin implements store.Store.
func (s *Store) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	const op = "store.Begin"
	if err := store.CheckFinalName(op, final); err != nil {
		return nil, err
	}
	staging := final
	if o.Staging != "" {
		staging = path.Join(parent(final), o.Staging)
		if err := store.CheckFinalName(op, staging); err != nil {
			return nil, err
		}
	}
	if err := alive(ctx, op, final); err != nil {
		return nil, err
	}
	if o.Join != "" {
		return s.join(ctx, op, final, o)
	}
	if err := s.ensureDir(parent(final)); err != nil {
		return nil, wrap(op, final, err)
	}
	if err := s.reap(parent(final)); err != nil {
		return nil, wrap(op, final, err)
	}
	if _, err := s.occupied(op, final, o.Overwrite || o.Replaces != nil); err != nil {
		return nil, err
	}
	t := &txn{
		s: s, final: final, opt: o,
		dirs: map[string]bool{"": true}, objects: map[string]bool{}, writers: map[*writer]bool{},
	}
	if err := t.begin(staging); err != nil {
		return nil, wrap(op, final, err)
	}
	return t, nil
}

// begin makes the staging directory and takes its lock.
func (t *txn) begin(staging string) error {
	for range 16 {
		var lost bool
		t.staging = t.s.stage(staging)
		err := t.s.fs.Mkdir(t.path(""), t.s.opt.DirMode)
		if err == nil {
			t.own, lost, err = t.s.own(t.staging)
		}
		if err == nil && !lost {
			return nil
		}
		// The directory may exist although the reply was lost. No other process uses this name.
		t.s.fs.Remove(t.path("")) //nolint:errcheck // CleanStaging removes what is left
		t.s.unstage(t.staging)
		if err != nil {
			return err
		}
	}
	return &errs.Error{Kind: errs.Busy, Subject: t.final, Got: "other processes that remove staging directories", Remedy: "try again"}
}

// disown releases the lock of the staging directory.
func (t *txn) disown() {
	if t.own != nil {
		t.own.Close() //nolint:errcheck // nothing was written
		t.own = nil
	}
}

// join takes part in a transaction that another process has begun.
func (s *Store) join(ctx context.Context, op, final string, o store.TxnOptions) (store.Txn, error) {
	if parent(o.Join) != parent(final) || !store.IsLeftover(o.Join) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: final,
			Want: "the staging name of a transaction in the same directory", Got: o.Join}
	}
	info, err := s.locate(ctx, op, o.Join)
	if err == nil && !info.IsDir() {
		err = &errs.Error{Kind: errs.Invalid, Op: op, Subject: o.Join, Want: "a directory", Got: "another kind of file"}
	}
	if err != nil {
		return nil, err
	}
	return &txn{
		s: s, final: final, staging: o.Join, opt: o,
		dirs: map[string]bool{"": true}, objects: map[string]bool{}, writers: map[*writer]bool{},
	}, nil
}

// shared reports whether other processes write into the transaction too.
func (t *txn) shared() bool { return t.opt.Shared || t.opt.Join != "" }

// occupied reports whether final is a directory that will be replaced. It returns an error if final
// is an object that must not be replaced.
func (s *Store) occupied(op, final string, overwrite bool) (bool, error) {
	info, err := s.fs.Stat(s.path(final))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, wrap(op, final, err)
	case !overwrite:
		return false, taken(op, final)
	case !info.IsDir():
		return false, &errs.Error{Kind: errs.Exists, Op: op, Subject: final, Want: "a directory to overwrite",
			Got: "another kind of file"}
	}
	return true, nil
}

// Stats implements store.Txn.
func (t *txn) Stats() store.TxnStats {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stats
}

// Staging implements store.Txn.
func (t *txn) Staging() string { return t.staging }

func (t *txn) subject(name string) string { return t.final + "/" + name }

func (t *txn) path(name string) string { return t.s.path(path.Join(t.staging, name)) }

// fail keeps the first error of the transaction.
func (t *txn) fail(err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
	return err
}

func (t *txn) sticky() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// enter checks a call for the object name and locks the transaction for reading. leave unlocks it.
func (t *txn) enter(ctx context.Context, op, name string) error {
	if err := store.CheckFinalName(op, name); err != nil {
		return err
	}
	t.life.RLock()
	err := t.usable(ctx, op)
	if err != nil {
		t.life.RUnlock()
	}
	return err
}

func (t *txn) leave() { t.life.RUnlock() }

func (t *txn) usable(ctx context.Context, op string) error {
	if t.over {
		return &errs.Error{Kind: errs.Closed, Op: op, Subject: t.final, Got: "a call after the transaction"}
	}
	if err := t.sticky(); err != nil {
		return err
	}
	return alive(ctx, op, t.final)
}

// reserve creates the parents of name and adds name to the objects.
func (t *txn) reserve(op, name string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.objects[name] || t.dirs[name] {
		return taken(op, t.subject(name))
	}
	for i, c := range name {
		if c != '/' || t.dirs[name[:i]] {
			continue
		}
		if t.objects[name[:i]] {
			return taken(op, t.subject(name[:i]))
		}
		err := t.s.fs.Mkdir(t.path(name[:i]), t.s.opt.DirMode)
		if err != nil && !(t.shared() && errors.Is(err, fs.ErrExist)) {
			err = wrap(op, t.subject(name), err)
			if t.err == nil {
				t.err = err
			}
			return err
		}
		t.dirs[name[:i]] = true
	}
	t.objects[name] = true
	return nil
}

// Create implements store.Txn.
func (t *txn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	const op = "store.Create"
	if size < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: t.subject(name), Want: "a size of at least 0"}
	}
	if err := t.enter(ctx, op, name); err != nil {
		return nil, err
	}
	defer t.leave()
	if err := t.reserve(op, name); err != nil {
		return nil, err
	}
	w, err := t.create(op, name, size)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// create makes the file of a reserved object.
func (t *txn) create(op, name string, size int64) (*writer, error) {
	f, err := t.s.fs.Create(t.path(name), t.s.opt.FileMode)
	if err != nil {
		return nil, t.fail(wrap(op, t.subject(name), err))
	}
	w := &writer{t: t, name: name, size: size, f: f, room: size}
	if err := w.allocate(); err != nil {
		f.Close() //nolint:errcheck // the first error is what counts
		return nil, t.fail(wrap(op, t.subject(name), err))
	}
	t.mu.Lock()
	t.writers[w] = true
	t.mu.Unlock()
	return w, nil
}

func (t *txn) sealed(w *writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.writers, w)
	t.stats.Files++
	t.stats.Bytes += w.size
	t.stats.Direct += w.past
}

// drop removes the file of an aborted writer.
func (t *txn) drop(w *writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.writers, w)
	if err := t.s.fs.Remove(t.path(w.name)); err != nil {
		return err
	}
	delete(t.objects, w.name)
	return nil
}

// Put implements store.Txn.
func (t *txn) Put(ctx context.Context, name string, b []byte) error {
	const op = "store.Put"
	if err := t.enter(ctx, op, name); err != nil {
		return err
	}
	defer t.leave()
	return t.put(op, name, b)
}

func (t *txn) put(op, name string, b []byte) error {
	if err := t.reserve(op, name); err != nil {
		return err
	}
	if err := t.s.writeFile(t.path(name), b); err != nil {
		return t.fail(wrap(op, t.subject(name), err))
	}
	t.mu.Lock()
	t.stats.Files++
	t.stats.Bytes += int64(len(b))
	t.mu.Unlock()
	return nil
}

// Link implements store.Txn. If the system refuses a hard link (another device, too many links, a
// file system without links), Link copies the bytes, unless the transaction has LinksOnly.
func (t *txn) Link(ctx context.Context, name, committed string) error {
	const op = "store.Link"
	if err := store.CheckFinalName(op, committed); err != nil {
		return err
	}
	if err := t.enter(ctx, op, name); err != nil {
		return err
	}
	defer t.leave()
	info, err := t.s.locate(ctx, op, committed)
	if err == nil {
		err = regular(op, committed, info)
	}
	if err != nil {
		return err
	}
	if err := t.reserve(op, name); err != nil {
		return err
	}
	err = t.s.fs.Link(t.s.path(committed), t.path(name))
	if err == nil {
		return nil
	}
	for _, refused := range []error{syscall.EXDEV, syscall.EMLINK, syscall.EPERM, errors.ErrUnsupported} {
		switch {
		case !errors.Is(err, refused):
		case t.opt.LinksOnly:
			t.mu.Lock()
			delete(t.objects, name)
			t.mu.Unlock()
			return &errs.Error{Kind: errs.Unsupported, Op: op, Subject: t.subject(name), Err: err}
		default:
			return t.copy(ctx, name, committed)
		}
	}
	return t.fail(wrap(op, t.subject(name), err))
}

// copyPiece bounds the memory that a copy takes.
const copyPiece = 1 << 20

// copy writes the bytes of committed to the reserved object name.
func (t *txn) copy(ctx context.Context, name, committed string) (err error) {
	r, err := t.s.Open(ctx, committed)
	if err != nil {
		return t.fail(err)
	}
	defer r.Close() //nolint:errcheck // only read from
	w, err := t.create("store.Link", name, r.Size())
	if err != nil {
		return err
	}
	buf := make([]byte, min(copyPiece, r.Size()))
	for off := int64(0); off < r.Size(); off += copyPiece {
		p := buf[:min(copyPiece, r.Size()-off)]
		if err = r.ReadAt(ctx, p, off); err != nil {
			return w.fail(err)
		}
		if err = w.WriteAt(ctx, p, off); err != nil {
			return err
		}
	}
	return w.Seal(ctx)
}

// Reread implements store.Rereader.
func (t *txn) Reread(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Reread"
	if err := t.enter(ctx, op, name); err != nil {
		return nil, err
	}
	defer t.leave()
	return t.s.Open(ctx, path.Join(t.staging, name))
}

// Abort implements store.Txn.
func (t *txn) Abort() error {
	t.life.Lock()
	defer t.life.Unlock()
	if t.over {
		return nil
	}
	return t.discard()
}

// discard ends the transaction: it closes all open files and removes the staging tree.
func (t *txn) discard() error {
	t.over = true
	t.mu.Lock()
	open := t.writers
	t.writers = map[*writer]bool{}
	t.mu.Unlock()
	for w := range open {
		w.life.Lock()
		w.close() //nolint:errcheck // the bytes go anyway
		w.life.Unlock()
	}
	if t.opt.Join != "" {
		return nil // another process made the staging tree
	}
	err := t.s.removeAll(t.path(""))
	t.disown()
	t.s.unstage(t.staging)
	if err == nil {
		return nil
	}
	return &errs.Error{
		Op: "store.Abort", Subject: t.final, Err: wrap("store.Abort", t.staging, err),
		Remedy: "nothing is visible; CleanStaging frees the rest",
	}
}
