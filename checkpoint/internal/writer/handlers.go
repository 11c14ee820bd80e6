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

// runHandlers runs the handlers to write their items, one after the other.
func (w *Writer) runHandlers(ctx context.Context, txn store.Txn, m *manifest.Manifest) error {
	for i, it := range w.items {
		if it.Commit == nil {
			continue
		}
		d := &itemWriter{writer: w, txn: txn, manifest: m, item: it.Name, tree: w.trees[i]}
		if err := handler.Run(ctx, it.Commit, d); err != nil {
			return errs.Wrap("", "item "+it.Name, err)
		}
	}
	return nil
}

// itemWriter is the directory of an item that a handler writes. Its files go through the
// transaction, and into the manifest.
type itemWriter struct {
	writer *Writer
	txn    store.Txn
	item   string
	tree   *treePlan // plan of the item; nil if it is not a tree

	mu       sync.Mutex
	manifest *manifest.Manifest
}

// admit returns an error for a name that the item already has.
func (d *itemWriter) admit(name string) error {
	if name == orbax.CommitFile || name == manifest.Name {
		return &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a name that no document of the checkpoint has"}
	}
	if first, _, _ := strings.Cut(name, "/"); d.tree == nil && strings.EqualFold(first, orbax.TreeFile) &&
		name != orbax.TreeFile {
		return notTree(name, nil)
	}
	if d.tree != nil && d.tree.has(name) {
		return &errs.Error{Kind: errs.Invalid, Subject: name,
			Want: "a name that the arrays and documents of the tree do not have"}
	}
	if d.writer.opts.Admit != nil {
		return d.writer.opts.Admit(d.item, name)
	}
	return nil
}

// notTree returns an error for a file that would make readers take its item for a tree of arrays.
func notTree(name string, err error) error {
	return &errs.Error{Kind: errs.Invalid, Subject: name,
		Want: "another name, or in " + orbax.TreeFile + " the document of a tree as handler.Tree writes it",
		Err:  err}
}

// has reports whether a file, or a name above or below it, belongs to the tree.
func (t *treePlan) has(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	if slices.Contains(treeFiles, first) || InDatabase(t.layout) && (first == dataDir || ocdbt.IsProcessDir(first)) {
		return true
	}
	return !InDatabase(t.layout) && slices.ContainsFunc(t.arrays, func(a *array) bool {
		return a.param == "" || strings.HasPrefix(name+"/", a.param+"/") || strings.HasPrefix(a.param+"/", name+"/")
	})
}

// treeFiles are the documents of a tree.
var treeFiles = []string{orbax.TreeFile, orbax.StringsFile, orbax.ShardingFile, orbax.ArraysDir, ocdbt.ManifestName}

// dataDir is where the data files of a database lie.
const dataDir = "d"

// Put implements handler.Writer.
func (d *itemWriter) Put(ctx context.Context, name string, b []byte) error {
	if err := d.admit(name); err != nil {
		return err
	}
	if name == orbax.TreeFile {
		if _, err := orbax.ParseTree(b); err != nil {
			return notTree(name, err)
		}
	}
	name = path.Join(d.item, name)
	if err := d.write(ctx, name, b); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writer.listSmall(d.manifest, name, b)
	return nil
}

// putBytes is the largest size of a file that is given to the store as a small file.
const putBytes = 1 << 20

func (d *itemWriter) write(ctx context.Context, name string, b []byte) error {
	if len(b) <= putBytes {
		return d.txn.Put(ctx, name, b)
	}
	f, err := d.txn.Create(ctx, name, int64(len(b)))
	if err != nil {
		return err
	}
	if err := f.WriteAt(ctx, b, 0); err != nil {
		f.Abort() //nolint:errcheck // the reason is already being returned
		return err
	}
	return f.Seal(ctx)
}

// Create implements handler.Writer. It keeps the bytes of the file until it is closed, because the
// store needs the size first.
func (d *itemWriter) Create(ctx context.Context, name string) (io.WriteCloser, error) {
	return &itemFile{ctx: ctx, dir: d, name: name}, d.admit(name)
}

type itemFile struct {
	bytes.Buffer
	ctx  context.Context // of Create, because Close has none
	dir  *itemWriter
	name string
}

// Close writes the file.
func (f *itemFile) Close() error { return f.dir.Put(f.ctx, f.name, f.Bytes()) }
