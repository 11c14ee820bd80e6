package layout

import (
	"context"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/store"
)

// files reads the files of one item for the format packages. Files stay
// open until Close.
type files struct {
	c    *Checkpoint
	item string

	mu   sync.Mutex
	open map[string]store.Reader
}

// ReadFile implements ocdbt.Files; the file is held against the manifest.
func (f *files) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return f.c.file(ctx, path.Join(f.item, name))
}

// ReadAt implements ocdbt.Files.
func (f *files) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	r, err := f.reader(ctx, name)
	if err != nil {
		return err
	}
	return r.ReadAt(ctx, p, off)
}

// Size implements ocdbt.Files.
func (f *files) Size(ctx context.Context, name string) (int64, error) {
	r, err := f.reader(ctx, name)
	if err != nil {
		return 0, err
	}
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

func (f *files) reader(ctx context.Context, name string) (store.Reader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r, ok := f.open[name]; ok {
		return r, nil
	}
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
	f.open[name] = r
	return r, nil
}

func (f *files) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var first error
	for name, r := range f.open {
		if err := r.Close(); first == nil {
			first = err
		}
		delete(f.open, name)
	}
	return first
}
