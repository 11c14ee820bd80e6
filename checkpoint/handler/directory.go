package handler

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// Writer is the directory of an item that is being saved. Nothing of it is visible before the
// checkpoint is committed. Names are relative paths with forward slashes, see [CheckName]; each is
// written once, and no two differ in upper and lower case only. A file _METADATA holds what
// handler.Tree writes there, and nothing else. Several goroutines may use it. An error fails the
// save, even if the handler ignores the error.
type Writer interface {
	// Create returns a file to write from its start. Close reports whether the whole file was written.
	// A file that is not closed fails the save.
	Create(ctx context.Context, name string) (io.WriteCloser, error)
	// Put writes a whole file.
	Put(ctx context.Context, name string, b []byte) error
}

// Reader is the directory of an item. A missing file is errs.NotFound; damage that the manifest of
// the checkpoint shows is errs.Corrupt. Several goroutines may use it.
type Reader interface {
	// ReadFile returns a whole file. The bytes belong to the caller.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// Open returns a file for reading parts of it.
	Open(ctx context.Context, name string) (File, error)
	// List returns the names of all files below the directory, sorted.
	List(ctx context.Context) ([]string, error)
}

// File is an open file of a Reader.
type File interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// leafFiles is a Reader that knows which files of its item leaf handlers wrote.
type leafFiles interface {
	LeafFiles(ctx context.Context) ([]string, error)
}

// LeafFiles returns the names of the files below the directory of a tree that leaf handlers wrote,
// sorted. Of a Reader that is not of a checkpoint, it returns all names.
func LeafFiles(ctx context.Context, dir Reader) ([]string, error) {
	if known, ok := dir.(leafFiles); ok {
		return known.LeafFiles(ctx)
	}
	return dir.List(ctx)
}

// CheckName returns errs.Invalid unless name can name a file below a directory. Absolute paths are
// refused, and so are "..", ".", empty elements, backslashes and NUL.
func CheckName(name string) error {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return &errs.Error{Kind: errs.Invalid, Subject: strconv.Quote(name),
			Want: "a relative path of a file, with forward slashes and without .."}
	}
	return nil
}

func missing(name string) error {
	return &errs.Error{Kind: errs.NotFound, Subject: name, Err: fs.ErrNotExist}
}

// Memory is a directory in memory, for tests of handlers. The zero value is empty and ready to use.
// Several goroutines may use it.
type Memory struct {
	mu    sync.Mutex
	files map[string][]byte
}

// Put stores a copy of b.
func (m *Memory) Put(_ context.Context, name string, b []byte) error {
	if err := CheckName(name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.files[name]; ok {
		return &errs.Error{Kind: errs.Exists, Subject: name}
	}
	if m.files == nil {
		m.files = map[string][]byte{}
	}
	m.files[name] = bytes.Clone(b)
	return nil
}

// Create returns a file that appears in the directory when it is closed.
func (m *Memory) Create(_ context.Context, name string) (io.WriteCloser, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	return &memoryFile{dir: m, name: name}, nil
}

type memoryFile struct {
	bytes.Buffer
	dir  *Memory
	name string
}

func (f *memoryFile) Close() error { return f.dir.Put(context.Background(), f.name, f.Bytes()) }

// ReadFile returns a copy of the file.
func (m *Memory) ReadFile(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b, ok := m.files[name]
	if !ok {
		return nil, missing(name)
	}
	return append([]byte{}, b...), nil
}

// Open returns the file with its present content.
func (m *Memory) Open(ctx context.Context, name string) (File, error) {
	b, err := m.ReadFile(ctx, name)
	if err != nil {
		return nil, err
	}
	return nopCloser{bytes.NewReader(b)}, nil
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// List returns the names, sorted.
func (m *Memory) List(context.Context) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files)), nil
}

// Dir returns fsys as a Reader, for example [os.DirFS] of the directory of an item.
func Dir(fsys fs.FS) Reader { return dir{fsys} }

type dir struct{ fsys fs.FS }

func (d dir) ReadFile(_ context.Context, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	b, err := fs.ReadFile(d.fsys, name)
	return b, d.kind(name, err)
}

func (d dir) kind(name string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return missing(name)
	case errors.Is(err, fs.ErrPermission):
		return &errs.Error{Kind: errs.Permission, Subject: name, Err: err}
	}
	return &errs.Error{Kind: errs.IO, Subject: name, Err: err}
}

func (d dir) Open(ctx context.Context, name string) (File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	f, err := d.fsys.Open(name)
	if err != nil {
		return nil, d.kind(name, err)
	}
	info, err := f.Stat()
	r, ok := f.(io.ReaderAt)
	if err == nil && ok && info.Mode().IsRegular() {
		return &openFile{r, f, info.Size()}, nil
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, d.kind(name, err)
	}
	b, err := d.ReadFile(ctx, name)
	return nopCloser{bytes.NewReader(b)}, err
}

type openFile struct {
	io.ReaderAt
	io.Closer
	size int64
}

func (f *openFile) Size() int64 { return f.size }

func (d dir) List(context.Context) ([]string, error) {
	var names []string
	err := fs.WalkDir(d.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, name)
		}
		return err
	})
	slices.Sort(names)
	return names, d.kind(".", err)
}
