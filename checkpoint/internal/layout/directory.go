package layout

import (
	"bytes"
	"context"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// Directory returns the directory of an item as its handler reads it. If there is a manifest, only
// the files that it lists exist, and every byte is compared with it before it is returned.
func (c *Checkpoint) Directory(item string) handler.Reader { return directory{c, item} }

// Directory returns the directory of the item, for a tree that lies in a checkpoint.
func (t *OpenTree) Directory() handler.Reader {
	return treeDirectory{directory{t.files.c, t.files.item}, t}
}

// treeDirectory is the directory of an open tree.
type treeDirectory struct {
	directory
	t *OpenTree
}

// LeafFiles lists what handler.LeafFiles returns.
func (d treeDirectory) LeafFiles(ctx context.Context) ([]string, error) { return d.t.ForeignFiles(ctx) }

// ForeignFiles lists the files of the item that leaf handlers wrote. It returns no files if leaf
// handlers have no leaves in the tree.
func (t *OpenTree) ForeignFiles(ctx context.Context) ([]string, error) {
	if !slices.ContainsFunc(t.Leaves, func(l Leaf) bool { return l.Kind == Foreign }) {
		return nil, nil
	}
	names, err := t.Directory().List(ctx)
	var arrays []string
	for i := range t.Leaves {
		if l := &t.Leaves[i]; l.HasArray() {
			arrays = append(arrays, l.Param)
		}
	}
	return orbax.ForeignFiles(names, arrays), err
}

type directory struct {
	c    *Checkpoint
	item string
}

// at returns the name of a file below the checkpoint.
func (d directory) at(name string) (string, error) {
	if err := handler.CheckName(name); err != nil {
		return "", err
	}
	at := path.Join(d.item, name)
	if d.c.Manifest != nil {
		if _, listed := d.c.Manifest.File(at); !listed || isDocument(name) {
			return "", &errs.Error{Kind: errs.NotFound, Subject: at, Got: "no such file in the manifest"}
		}
	}
	return at, nil
}

// isDocument reports whether a file belongs to the checkpoint and not to the handler.
func isDocument(name string) bool { return name == orbax.CommitFile }

// ReadFile implements handler.Reader.
func (d directory) ReadFile(ctx context.Context, name string) ([]byte, error) {
	at, err := d.at(name)
	if err != nil {
		return nil, err
	}
	return d.c.file(ctx, at)
}

// checkedBytes is the size up to which a file is kept in memory when it is opened.
const checkedBytes = 16 << 20

// Open implements handler.Reader. It reads the whole file to compare it with the manifest. A file
// larger than checkedBytes is read again later.
func (d directory) Open(ctx context.Context, name string) (handler.File, error) {
	at, err := d.at(name)
	if err != nil {
		return nil, err
	}
	r, err := d.c.st.Open(ctx, d.c.path(at))
	if errs.KindOf(err) == errs.NotFound && d.c.Manifest != nil {
		return nil, missingFile(at, err)
	}
	if err != nil {
		return nil, err
	}
	f := &file{ctx: ctx, r: r}
	if d.c.Manifest == nil {
		return f, nil
	}
	if r.Size() <= checkedBytes {
		defer r.Close() //nolint:errcheck // nothing was written
		b, err := d.c.file(ctx, at)
		return inMemory{bytes.NewReader(b)}, err
	}
	listed, _ := d.c.Manifest.File(at)
	if err := f.check(listed); err != nil {
		r.Close() //nolint:errcheck // nothing was written
		return nil, err
	}
	return f, nil
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// file is an open file.
type file struct {
	ctx context.Context // of Open, because ReadAt has none
	r   store.Reader
}

func (f *file) Size() int64  { return f.r.Size() }
func (f *file) Close() error { return f.r.Close() }

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	switch {
	case off < 0:
		return 0, &errs.Error{Kind: errs.Invalid, Op: "handler.File.ReadAt", Want: "an offset of at least 0"}
	case off >= f.r.Size():
		return 0, io.EOF
	}
	n := int(min(int64(len(p)), f.r.Size()-off))
	if err := f.r.ReadAt(f.ctx, p[:n], off); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// check reads the file and compares it with its record in the manifest.
func (f *file) check(want manifest.File) error {
	if f.r.Size() != want.Size {
		return sizeError(want.Name, want.Size, f.r.Size())
	}
	sum, b := uint32(0), make([]byte, 1<<20)
	for off := int64(0); off < want.Size; off += int64(len(b)) {
		b = b[:min(int64(len(b)), want.Size-off)]
		if err := f.r.ReadAt(f.ctx, b, off); err != nil {
			return err
		}
		sum = crc.Update(sum, b)
	}
	if sum != want.CRC {
		return manifest.ChecksumError(want.Name, want.CRC, sum)
	}
	return nil
}

// List implements handler.Reader.
func (d directory) List(ctx context.Context) ([]string, error) {
	var names []string
	if d.c.Manifest != nil {
		for _, f := range d.c.Manifest.Files {
			name, below := strings.CutPrefix(f.Name, d.item+"/")
			if d.item == "" {
				name, below = f.Name, true
			}
			if below && !isDocument(name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, nil
	}
	err := d.walk(ctx, "", &names)
	slices.Sort(names)
	return names, err
}

func (d directory) walk(ctx context.Context, dir string, names *[]string) error {
	for e, err := range d.c.st.List(ctx, d.c.path(d.item, dir)) {
		if err != nil {
			return err
		}
		name := path.Join(dir, e.Name)
		switch {
		case e.Dir:
			if err := d.walk(ctx, name, names); err != nil {
				return err
			}
		case !isDocument(name):
			*names = append(*names, name)
		}
	}
	return nil
}
