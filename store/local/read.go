package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// Open implements store.Store.
func (s *Store) Open(ctx context.Context, name string) (store.Reader, error) {
	const op = "store.Open"
	info, err := s.locate(ctx, op, name)
	if err != nil {
		return nil, err
	}
	if err := regular(op, name, info); err != nil {
		return nil, err
	}
	f, err := s.fs.Open(s.path(name))
	if err != nil {
		return nil, wrap(op, name, err)
	}
	if info, err = f.Stat(); err == nil {
		err = regular(op, name, info)
	}
	if err != nil {
		f.Close() //nolint:errcheck // nothing was written
		return nil, wrap(op, name, err)
	}
	return &reader{f, name, info.Size()}, nil
}

func regular(op, name string, info fs.FileInfo) error {
	switch {
	case info.Mode().IsRegular():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return notFollowed(op, name)
	}
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a regular file", Got: info.Mode().Type().String()}
}

type reader struct {
	f    vfs.File
	name string
	size int64
}

func (r *reader) Size() int64 { return r.size }

func (r *reader) ReadAt(ctx context.Context, p []byte, off int64) error {
	const op = "store.ReadAt"
	if off < 0 {
		return &errs.Error{Kind: errs.Invalid, Op: op, Subject: r.name, Want: "an offset of at least 0", Got: fmt.Sprint(off)}
	}
	if err := alive(ctx, op, r.name); err != nil {
		return err
	}
	if len(p) == 0 {
		return nil
	}
	n, err := r.f.ReadAt(p, off)
	switch {
	case n == len(p):
		return nil
	case (err == nil || errors.Is(err, io.EOF)) && int64(len(p)) <= r.Size()-off:
		// The system contradicts itself. The bytes may be readable at the next attempt, so the object
		// must not count as damaged.
		return &errs.Error{
			Kind: errs.IO, Op: op, Subject: r.name, Err: io.ErrUnexpectedEOF,
			Want: fmt.Sprintf("%d bytes at %d of %d", len(p), off, r.Size()), Got: fmt.Sprintf("end of file after %d bytes", n),
		}
	case err == nil || errors.Is(err, io.EOF):
		return &errs.Error{
			Kind: errs.Corrupt, Op: op, Subject: r.name,
			Want: fmt.Sprintf("%d bytes at %d", len(p), off), Got: fmt.Sprintf("end of file after %d bytes", n),
		}
	}
	return wrap(op, r.name, err)
}

func (r *reader) Close() error { return wrap("store.Close", r.name, r.f.Close()) }

// Stat implements store.Store.
func (s *Store) Stat(ctx context.Context, name string) (store.Info, error) {
	info, err := s.locate(ctx, "store.Stat", name)
	if err != nil {
		return store.Info{}, err
	}
	return describe(name, info), nil
}

func describe(name string, info fs.FileInfo) store.Info {
	i := store.Info{Name: name, Dir: info.IsDir(), ModTime: info.ModTime()}
	if info.Mode().IsRegular() {
		i.Size = info.Size()
	}
	return i
}

// List implements store.Store. Entries that vanish during the listing are left out.
func (s *Store) List(ctx context.Context, dir string) iter.Seq2[store.Info, error] {
	return list(ctx, dir, func(ctx context.Context, op string) ([]fs.DirEntry, error) { return s.readDir(ctx, op, dir) })
}

// list yields descriptions of the entries that read returns.
func list(ctx context.Context, dir string, read func(ctx context.Context, op string) ([]fs.DirEntry, error)) iter.Seq2[store.Info, error] {
	return func(yield func(store.Info, error) bool) {
		const op = "store.List"
		entries, err := read(ctx, op)
		if err != nil {
			yield(store.Info{}, err)
			return
		}
		for _, e := range entries {
			if err := alive(ctx, op, dir); err != nil {
				yield(store.Info{}, err)
				return
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				yield(store.Info{}, wrap(op, path.Join(dir, e.Name()), err))
				return
			}
			if !yield(describe(e.Name(), info), nil) {
				return
			}
		}
	}
}

// readDir lists a directory. A root that does not exist is empty.
func (s *Store) readDir(ctx context.Context, op, dir string) ([]fs.DirEntry, error) {
	info, err := s.locate(ctx, op, dir)
	if dir == "" && errors.Is(err, errs.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := directory(op, dir, info); err != nil {
		return nil, err
	}
	list, err := s.fs.ReadDir(s.path(dir))
	return list, wrap(op, dir, err)
}

// directory returns an error unless info describes a directory.
func directory(op, name string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		return notFollowed(op, name)
	}
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a directory", Got: "a file"}
}
