package layout

import (
	"context"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// files reads the files of one item for the format packages. It may be used concurrently. The files
// that were read last stay open until close.
type files struct {
	c       *Checkpoint
	item    string
	readers *readers
	apart   bool // each node is read by itself: see salvageValues

	mu   sync.Mutex
	ends map[string]*nodes // of the files read so far
}

func newFiles(c *Checkpoint, item string) *files {
	f := &files{c: c, item: item, ends: map[string]*nodes{}}
	f.readers = newReaders(f.open)
	return f
}

// ReadFile implements ocdbt.Files. It compares the file with the manifest.
func (f *files) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return f.c.file(ctx, path.Join(f.item, name))
}

// ReadAt implements ocdbt.Files.
func (f *files) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	r, err := f.readers.borrow(ctx, name)
	if err != nil {
		return err
	}
	defer f.readers.giveBack(r)
	if n := f.nodes(name); !f.apart && n.holds(off, int64(len(p))) {
		return n.readAt(ctx, r, p, off)
	}
	return r.ReadAt(ctx, p, off)
}

// Scatter implements ocdbt.Scatterer. Only stores whose requests are slow have such readers.
func (f *files) Scatter(ctx context.Context, name string, off int64, into ...[]byte) (ok bool, err error) {
	r, err := f.readers.borrow(ctx, name)
	if err != nil {
		return false, err
	}
	defer f.readers.giveBack(r)
	s, ok := r.Reader.(store.Scatterer)
	if !ok || f.nodes(name).holds(off, 0) { // nodes are read as a whole, once
		return false, nil
	}
	return true, s.Scatter(ctx, off, into...)
}

// Size implements ocdbt.Files.
func (f *files) Size(ctx context.Context, name string) (int64, error) {
	r, err := f.readers.borrow(ctx, name)
	if err != nil {
		return 0, err
	}
	defer f.readers.giveBack(r)
	return r.Size(), nil
}

// Names implements ocdbt.Lister.
func (f *files) Names(ctx context.Context) ([]string, error) {
	var names []string
	for e, err := range f.c.st.List(ctx, f.c.path(f.item)) {
		if err != nil {
			return nil, err
		}
		if !e.Dir {
			names = append(names, e.Name)
		}
	}
	return names, nil
}

// open opens a file and compares its size with the manifest.
func (f *files) open(ctx context.Context, name string) (store.Reader, error) {
	r, err := f.c.st.Open(ctx, f.c.path(f.item, name))
	if err != nil {
		return nil, err
	}
	if f.c.Manifest != nil {
		if want, ok := f.c.Manifest.File(path.Join(f.item, name)); ok && want.Size != r.Size() {
			defer r.Close() //nolint:errcheck // nothing was written
			return nil, sizeError(f.c.path(f.item, name), want.Size, r.Size())
		}
	}
	return r, nil
}

func (f *files) close() error { return f.readers.close() }
