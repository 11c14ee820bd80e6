package writer

import (
	"bytes"
	"context"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/store"
)

// handled has the handlers write their items, one after the other.
func (im *Image) handled(ctx context.Context, txn store.Txn, m *manifest.Manifest) error {
	for i, it := range im.items {
		if it.Commit == nil {
			continue
		}
		w := &itemWriter{im: im, txn: txn, manifest: m, item: it.Name, tree: im.trees[i]}
		if err := handler.Run(ctx, it.Commit, w); err != nil {
			return errs.Wrap("", "item "+it.Name, err)
		}
	}
	return nil
}

// itemWriter is the directory of an item that a handler writes: files go through
// the transaction, and into the manifest.
type itemWriter struct {
	im   *Image
	txn  store.Txn
	item string
	tree *treeImage // of which handlers have leaves; nil is none

	mu       sync.Mutex
	manifest *manifest.Manifest
}

// admit refuses names that the item has already.
func (w *itemWriter) admit(name string) error {
	if name == orbax.CommitFile || name == manifest.Name {
		return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a name that no document of the checkpoint has"}
	}
	if first, _, _ := strings.Cut(name, "/"); w.tree == nil && strings.EqualFold(first, orbax.TreeFile) && name != orbax.TreeFile {
		return notTree(name, nil)
	}
	if w.tree != nil && w.tree.has(name) {
		return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a name that the arrays and documents of the tree do not have"}
	}
	if w.im.opts.Admit != nil {
		return w.im.opts.Admit(w.item, name)
	}
	return nil
}

// notTree refuses a file that would have its item taken for a tree of arrays.
func notTree(name string, err error) error {
	return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "in " + orbax.TreeFile + " of an item the document of a tree, as handler.Tree writes it, or another name", Err: err}
}

// has reports whether a file, or one above or below it, is the tree's own.
func (t *treeImage) has(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	if slices.Contains(treeFiles, first) || t.layout.ocdbt() && (first == dataDir || ocdbt.IsProcessDir(first)) {
		return true
	}
	return !t.layout.ocdbt() && slices.ContainsFunc(t.arrays, func(a *array) bool {
		return a.param == "" || strings.HasPrefix(name+"/", a.param+"/") || strings.HasPrefix(a.param+"/", name+"/")
	})
}

// treeFiles are the documents of a tree.
var treeFiles = []string{orbax.TreeFile, orbax.StringsFile, orbax.ShardingFile, orbax.ArraysDir, ocdbt.ManifestName}

// dataDir is where the data files of a database lie.
const dataDir = "d"

// Put implements handler.Writer.
func (w *itemWriter) Put(ctx context.Context, name string, b []byte) error {
	if err := w.admit(name); err != nil {
		return err
	}
	if name == orbax.TreeFile {
		if _, err := orbax.ParseTree(b); err != nil {
			return notTree(name, err)
		}
	}
	name = path.Join(w.item, name)
	if err := w.write(ctx, name, b); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.im.small(w.manifest, name, b)
	return nil
}

// putBytes is up to where a file goes to the store as a small one.
const putBytes = 1 << 20

func (w *itemWriter) write(ctx context.Context, name string, b []byte) error {
	if len(b) <= putBytes {
		return w.txn.Put(ctx, name, b)
	}
	f, err := w.txn.Create(ctx, name, int64(len(b)))
	if err != nil {
		return err
	}
	if err := f.WriteAt(ctx, b, 0); err != nil {
		f.Abort() //nolint:errcheck // the reason is already being returned
		return err
	}
	return f.Seal(ctx)
}

// Create implements handler.Writer. The store wants to know the size of a file
// first: its bytes are kept until it is closed.
func (w *itemWriter) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	return &itemFile{ctx: ctx, dir: w, name: name}, w.admit(name)
}

type itemFile struct {
	bytes.Buffer
	ctx  context.Context // of Create, for Close has none
	dir  *itemWriter
	name string
}

// Close writes the file.
func (f *itemFile) Close() error { return f.dir.Put(f.ctx, f.name, f.Bytes()) }
