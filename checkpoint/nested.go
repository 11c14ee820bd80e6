package checkpoint

import (
	"context"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// nested is the transaction of a tree in the directory of a handler's item. It writes the files of
// the tree into the directory and drops the documents of the checkpoint.
type nested struct {
	dir handler.Writer
	n   store.TxnStats
}

func (t *nested) below(name string) (string, bool) {
	return strings.CutPrefix(name, orbax.StateItem+"/")
}

// Create implements store.Txn. The bytes are kept until the file is sealed.
func (t *nested) Create(_ context.Context, name string, size int64) (store.Writer, error) {
	b, err := newMemory(int(size), false)
	return &nestedFile{txn: t, name: name, b: b}, err
}

// Put implements store.Txn.
func (t *nested) Put(ctx context.Context, name string, b []byte) error {
	if name, ok := t.below(name); ok {
		return t.dir.Put(ctx, name, b)
	}
	return nil
}

// Link implements store.Txn.
func (t *nested) Link(_ context.Context, name, _ string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "store.Link", Subject: name}
}

// Commit implements store.Txn: the checkpoint has a manifest and markers.
func (t *nested) Commit(context.Context, store.Blob, ...store.Blob) error { return nil }

// Abort implements store.Txn.
func (t *nested) Abort() error { return nil }

// Stats implements store.Txn.
func (t *nested) Stats() store.TxnStats { return t.n }

// Staging implements store.Txn.
func (t *nested) Staging() string { return "" }

type nestedFile struct {
	txn  *nested
	name string
	b    []byte
}

// WriteAt implements store.Writer.
func (f *nestedFile) WriteAt(_ context.Context, p []byte, off int64) error {
	copy(f.b[off:], p)
	return nil
}

// Seal implements store.Writer.
func (f *nestedFile) Seal(ctx context.Context) error { return f.txn.Put(ctx, f.name, f.b) }

// Abort implements store.Writer.
func (f *nestedFile) Abort() error { return nil }

// directoryStore is the directory of an item as a store, from which a tree in it is opened. It
// returns only bytes that were compared with the manifest.
type directoryStore struct {
	store.Store // its other methods are not called
	dir         handler.Reader
}

// Properties implements store.Store.
func (s directoryStore) Properties() store.Properties { return store.Properties{Block: 1} }

// Open implements store.Store.
func (s directoryStore) Open(ctx context.Context, name string) (store.Reader, error) {
	f, err := s.dir.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return fileReader{f}, nil
}

type fileReader struct{ handler.File }

// ReadAt implements store.Reader.
func (r fileReader) ReadAt(_ context.Context, p []byte, off int64) error {
	n, err := r.File.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "store.ReadAt", Got: "the end of the file", Err: err}
}

// Stat implements store.Store.
func (s directoryStore) Stat(ctx context.Context, name string) (store.Info, error) {
	parent, base := path.Split(name)
	for e, err := range s.List(ctx, strings.TrimSuffix(parent, "/")) {
		if err != nil {
			return store.Info{}, err
		}
		if e.Name == base {
			e.Name = name
			return e, nil
		}
	}
	return store.Info{}, &errs.Error{Kind: errs.NotFound, Op: "store.Stat", Subject: name}
}

// List implements store.Store; sizes are not known.
func (s directoryStore) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		names, err := s.dir.List(ctx)
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		var found []store.Info
		for _, n := range names {
			below, ok := strings.CutPrefix(n, dir+"/")
			if dir == "" {
				below, ok = n, true
			}
			if ok {
				name, _, deeper := strings.Cut(below, "/")
				found = append(found, store.Info{Name: name, Dir: deeper})
			}
		}
		slices.SortFunc(found, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
		for _, e := range slices.Compact(found) {
			if !yield(e, nil) {
				return
			}
		}
	}
}
