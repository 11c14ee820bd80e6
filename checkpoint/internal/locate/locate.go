// Package locate turns the path that a caller gave into a store and a name in it.
package locate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Directory locates a directory that need not exist. With a nil store, path is a path of the local
// file system, and the name is "" in a store rooted there; or it is the URL of a store and a name
// in it. Otherwise path is the name in st; "" is its root.
func Directory(path string, st store.Store) (store.Store, string, error) {
	if st == nil && store.IsURL(path) {
		return store.FromURL(context.Background(), path)
	}
	if st != nil && path == "" {
		return st, "", nil
	}
	if st != nil {
		return st, path, store.CheckName("path", path)
	}
	if path == "" {
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: "path", Got: "empty", Remedy: "name a directory"}
	}
	s, err := local.Open(path, nil)
	return s, "", err
}

// Checkpoint locates a checkpoint, a directory that a transaction can make. With a nil store it is
// a name in a store rooted at its parent.
func Checkpoint(path string, st store.Store) (store.Store, string, error) {
	if st == nil && store.IsURL(path) {
		var err error
		if st, path, err = store.FromURL(context.Background(), path); err != nil {
			return nil, "", err
		}
	}
	if st != nil {
		if path == "" {
			return nil, "", &errs.Error{Kind: errs.Invalid, Op: "path", Got: "empty", Remedy: "name a checkpoint"}
		}
		return st, path, store.CheckName("path", path)
	}
	if path == "" {
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: "path", Got: "empty", Remedy: "name a checkpoint"}
	}
	if err := local.CheckPath(path); err != nil {
		return nil, "", err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: "path", Subject: path, Err: err}
	}
	dir, name := filepath.Split(abs)
	if name == "" {
		return nil, "", &errs.Error{Kind: errs.Invalid, Op: "path", Subject: path, Got: "the root of the file system",
			Remedy: "name a directory below it"}
	}
	s, err := local.Open(dir, nil)
	return s, name, err
}

// Target works like Checkpoint for a checkpoint to be written, with the permissions mode; 0 is the
// permissions of the store.
func Target(path string, st store.Store, mode fs.FileMode) (store.Store, string, error) {
	st, name, err := Checkpoint(path, st)
	if err == nil {
		st, err = store.WithPermissions(st, mode)
	}
	return st, name, err
}

// Above returns the directory up levels above at, which is a path, or a name in st if st is not
// nil. ok is false if the path has fewer levels.
func Above(at string, st store.Store, up int) (dir string, ok bool) {
	if st == nil && store.IsURL(at) {
		return aboveURL(at, up)
	}
	if st == nil {
		abs, err := filepath.Abs(at)
		for range up {
			if dir = filepath.Dir(abs); dir == abs {
				return "", false
			}
			abs = dir
		}
		return abs, err == nil
	}
	for dir = at; up > 0; up-- {
		if dir == "" {
			return "", false
		}
		if dir = path.Dir(dir); dir == "." {
			dir = ""
		}
	}
	return dir, true
}

// aboveURL returns the URL up levels above at.
func aboveURL(at string, up int) (dir string, ok bool) {
	root, name := store.SplitURL(at)
	for ; up > 0; up-- {
		if name == "" {
			return "", false
		}
		if name = path.Dir(name); name == "." {
			name = ""
		}
	}
	return store.JoinURL(root, name), true
}

// AboveHolds reports whether the directory above at, which Above returns, has a file called name.
// It asks for the working directory only if that is needed.
func AboveHolds(ctx context.Context, at string, st store.Store, name string) (above string, holds bool, err error) {
	if base := filepath.Base(at); st == nil && !store.IsURL(at) && !filepath.IsAbs(at) && base != "." && base != ".." {
		if holds, err = Holds(ctx, filepath.Dir(filepath.Clean(at)), nil, name); !holds && err == nil {
			return "", false, nil
		}
	}
	above, ok := Above(at, st, 1)
	if !ok {
		return "", false, nil
	}
	holds, err = Holds(ctx, above, st, name)
	return above, holds, err
}

// Holds reports whether dir has a file called name. dir is a path, or a name in st if st is not
// nil. A directory that may not be read has no file.
func Holds(ctx context.Context, dir string, st store.Store, name string) (bool, error) {
	if st == nil && store.IsURL(dir) {
		var err error
		if st, dir, err = store.FromURL(ctx, dir); err != nil {
			return false, err
		}
	}
	if st != nil {
		info, err := st.Stat(ctx, path.Join(dir, name))
		switch errs.KindOf(err) {
		case errs.NotFound, errs.Permission, errs.Invalid:
			return false, nil
		}
		return err == nil && !info.Dir, err
	}
	info, err := os.Stat(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return false, nil
	}
	if err != nil {
		return false, &errs.Error{Kind: errs.IO, Subject: dir, Err: err}
	}
	return !info.IsDir(), nil
}

// Beside locates the checkpoint base in the store in which Checkpoint finds path. With a nil store
// both lie in the same directory.
func Beside(path, base string, st store.Store) (string, error) {
	if st == nil && store.IsURL(base) {
		here, _, err := store.FromURL(context.Background(), path)
		if err != nil {
			return "", err
		}
		there, name, err := store.FromURL(context.Background(), base)
		if err == nil && here != there {
			err = &errs.Error{Kind: errs.Invalid, Op: "path", Subject: base, Want: "a checkpoint in the bucket of the new one"}
		}
		return name, err
	}
	if st != nil {
		return base, store.CheckName("path", base)
	}
	at, err := filepath.Abs(path)
	if err == nil {
		base, err = filepath.Abs(base)
	}
	if err != nil {
		return "", &errs.Error{Kind: errs.Invalid, Op: "path", Subject: base, Err: err}
	}
	dir, name := filepath.Split(base)
	if name == "" || dir != filepath.Dir(at)+string(filepath.Separator) && dir != filepath.Dir(at) {
		return "", &errs.Error{
			Kind: errs.Invalid, Op: "path", Subject: base, Want: "a checkpoint in the same directory as the new one",
			Remedy: "give a Store that holds both",
		}
	}
	return name, nil
}
