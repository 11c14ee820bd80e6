package parity

import (
	"context"
	"path"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Options of Wrap.
type Options struct {
	Percent int   // parity blocks for 100 data blocks
	Large   int64 // size in bytes from which a file has its own parity file
	Signed  bool  // the manifest has digests
	// Tag is part of the names of shared parity files. Processes that write one checkpoint together
	// have different tags.
	Tag string
	// Store holds the linked files; nil is for a transaction that links nothing.
	Store store.Store
	// Bases are committed checkpoints from which files are linked. If a base has the parity file of a
	// linked file, that is linked too; else it is computed.
	Bases []Base
}

// Base is a committed checkpoint.
type Base struct {
	Name     string // in the store
	Manifest *manifest.Manifest
}

// Twin returns the record of the parity file of a large file in the base, if it has the same
// redundancy.
func (b Base) Twin(file string, size int64, percent int) (manifest.File, bool) {
	f, ok := b.Manifest.File(Name(file))
	return f, ok && f.Size == newTable(shapeOf(size, percent), nil).fileSize()
}

// Txn is a transaction that makes the parity of all files that are written through it, while they
// are written. Finish must be called before Commit. Files that Commit writes have no parity, unless
// they are given to Finish.
type Txn struct {
	store.Txn
	o Options

	mu    sync.Mutex
	files []manifest.File // the parity files

	small []blob // files that will share the next parity file
	held  int64  // bytes of their blocks
	made  int    // number of shared parity files so far
}

type blob struct {
	name string
	data []byte
}

// sharedBytes bounds the blocks of the files that share a parity file.
const sharedBytes = 16 << 20

// Wrap returns the transaction with parity.
func Wrap(txn store.Txn, o Options) *Txn {
	if o.Large == 0 {
		o.Large = Large
	}
	return &Txn{Txn: txn, o: o}
}

// Create implements store.Txn.
func (t *Txn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	w, err := t.Txn.Create(ctx, name, size)
	if err != nil {
		return nil, err
	}
	if size < t.o.Large {
		return &smallWriter{Writer: w, t: t, name: name, data: make([]byte, size)}, nil
	}
	return &largeWriter{Writer: w, large: t.large(ctx, name, size)}, nil
}

// Put implements store.Txn.
func (t *Txn) Put(ctx context.Context, name string, b []byte) error {
	if err := t.Txn.Put(ctx, name, b); err != nil {
		return err
	}
	return t.cover(ctx, name, b)
}

// cover makes the parity of a written file.
func (t *Txn) cover(ctx context.Context, name string, b []byte) error {
	if int64(len(b)) < t.o.Large {
		return t.share(ctx, name, append([]byte(nil), b...))
	}
	l := t.large(ctx, name, int64(len(b)))
	if err := l.enc.add(b, 0); err != nil {
		return err
	}
	return l.finish(ctx)
}

// large is a file with its own parity file.
type large struct {
	t   *Txn
	enc *encoder
	out *output
}

func (t *Txn) large(ctx context.Context, name string, size int64) *large {
	l := newLarge(ctx, t.Txn, shapeOf(size, t.o.Percent), name, t.o.Signed)
	l.t = t
	return l
}

func newLarge(ctx context.Context, to files, s shape, name string, signed bool) *large {
	tab := newTable(s, nil)
	l := &large{out: &output{to: to, name: Name(name), t: tab, signed: signed}}
	l.enc = newEncoder(tab, func(r region, b []byte) error { return l.out.blocks(ctx, r, b) })
	return l
}

func (l *large) finish(ctx context.Context) error {
	f, err := l.out.finish(ctx)
	if err == nil {
		l.t.add(f)
	}
	return err
}

func (t *Txn) add(f manifest.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.files = append(t.files, f)
}

// largeWriter writes a file and makes its parity.
type largeWriter struct {
	store.Writer
	*large
}

// WriteAt implements store.Writer.
func (w *largeWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	if err := w.Writer.WriteAt(ctx, p, off); err != nil {
		return err
	}
	return w.enc.add(p, off)
}

// Seal implements store.Writer.
func (w *largeWriter) Seal(ctx context.Context) error {
	if err := w.Writer.Seal(ctx); err != nil {
		return err
	}
	return w.finish(ctx)
}

// Abort implements store.Writer.
func (w *largeWriter) Abort() error {
	w.out.abort() //nolint:errcheck // the transaction aborts what is still open
	return w.Writer.Abort()
}

// smallWriter writes a file and keeps its bytes.
type smallWriter struct {
	store.Writer
	t    *Txn
	name string
	data []byte
}

// WriteAt implements store.Writer.
func (w *smallWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	if err := w.Writer.WriteAt(ctx, p, off); err != nil {
		return err
	}
	copy(w.data[off:], p)
	return nil
}

// Seal implements store.Writer.
func (w *smallWriter) Seal(ctx context.Context) error {
	if err := w.Writer.Seal(ctx); err != nil {
		return err
	}
	return w.t.share(ctx, w.name, w.data)
}

// Link implements store.Txn.
func (t *Txn) Link(ctx context.Context, name, committed string) error {
	if err := t.Txn.Link(ctx, name, committed); err != nil {
		return err
	}
	for _, b := range t.o.Bases {
		below, ok := strings.CutPrefix(committed, b.Name+"/")
		if !ok {
			continue
		}
		file, listed := b.Manifest.File(below)
		if !listed || file.Size < t.o.Large {
			continue
		}
		f, ok := b.Twin(below, file.Size, t.o.Percent)
		if !ok || t.o.Signed && f.Runs == nil {
			continue
		}
		err := t.Txn.Link(ctx, Name(name), path.Join(b.Name, f.Name))
		switch errs.KindOf(err) {
		case errs.Unsupported, errs.NotFound, errs.Invalid:
			continue
		}
		if err != nil {
			return err
		}
		f.Name = Name(name)
		t.add(f)
		return nil
	}
	return t.read(ctx, name, committed)
}

// readBytes is how many bytes of a linked file are read at once.
const readBytes = 1 << 20

// read makes the parity of a committed file.
func (t *Txn) read(ctx context.Context, name, committed string) error {
	r, err := t.o.Store.Open(ctx, committed)
	if err != nil {
		return err
	}
	defer r.Close() //nolint:errcheck // nothing was written
	if r.Size() < t.o.Large {
		b := make([]byte, r.Size())
		if err := r.ReadAt(ctx, b, 0); err != nil {
			return err
		}
		return t.share(ctx, name, b)
	}
	l := t.large(ctx, name, r.Size())
	buf := make([]byte, readBytes)
	for off := int64(0); off < r.Size(); off += readBytes {
		p := buf[:min(readBytes, r.Size()-off)]
		if err := r.ReadAt(ctx, p, off); err != nil {
			return err
		}
		if err := l.enc.add(p, off); err != nil {
			return err
		}
	}
	return l.finish(ctx)
}

// share adds a small file to the files that will share a parity file, and makes that file when they
// are enough.
func (t *Txn) share(ctx context.Context, name string, b []byte) error {
	t.mu.Lock()
	t.small = append(t.small, blob{name, b})
	t.held += blocksOf(int64(len(b))) * smallBlock
	if t.held < sharedBytes {
		t.mu.Unlock()
		return nil
	}
	return t.flush(ctx)
}

func blocksOf(size int64) int64 { return (size + smallBlock - 1) / smallBlock }

// flush makes the parity file of the present small files. It unlocks t.mu.
func (t *Txn) flush(ctx context.Context) error {
	small, n := t.small, t.made
	t.small, t.held = nil, 0
	t.made++
	t.mu.Unlock()
	f, err := writeShared(ctx, t.Txn, small, sharedName(t.o.Tag, n), t.o.Percent, t.o.Signed)
	if err == nil {
		t.add(f)
	}
	return err
}

// Finish makes the parity that is still to be made, including the parity of the markers that Commit
// will write, and returns the records of all parity files.
func (t *Txn) Finish(ctx context.Context, markers ...store.Blob) ([]manifest.File, error) {
	for _, m := range markers {
		if err := t.cover(ctx, m.Name, m.Data); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	if len(t.small) == 0 {
		defer t.mu.Unlock()
		return t.files, nil
	}
	if err := t.flush(ctx); err != nil {
		return nil, err
	}
	return t.files, nil
}
