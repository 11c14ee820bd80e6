package serve

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/errs"
)

// files is an item whose files a handler of the client has written, or will read.
type files struct {
	dir        string
	typeString string
}

// checkDirectory refuses a directory that no client means to give away.
func (f files) checkDirectory() error {
	bad := &errs.Error{Kind: errs.Invalid, Subject: "directory " + f.dir, Want: "an absolute path of a directory"}
	if !filepath.IsAbs(f.dir) || filepath.Clean(f.dir) == "/" {
		return bad
	}
	if info, err := os.Lstat(f.dir); err != nil || !info.IsDir() {
		bad.Err = err
		return bad
	}
	return nil
}

// filesHandler saves directories as items, and loads items as directories.
type filesHandler struct {
	typeString string
}

// TypeString implements handler.CheckpointableHandler.
func (h filesHandler) TypeString() string { return h.typeString }

// Handles implements handler.CheckpointableHandler.
func (h filesHandler) Handles(v any) bool {
	f, ok := v.(files)
	return ok && f.typeString == h.typeString
}

// HandlesAbstract implements handler.CheckpointableHandler.
func (h filesHandler) HandlesAbstract(a any) handler.Verdict {
	if _, ok := a.(files); ok {
		return handler.Yes
	}
	return handler.No
}

// Save implements handler.CheckpointableHandler. The directory belongs to the server already, so
// there is nothing to copy.
func (h filesHandler) Save(_ context.Context, v any) (handler.Commit, error) {
	dir := v.(files).dir
	return func(ctx context.Context, to handler.Writer) error { return putAll(ctx, to, dir) }, nil
}

// putAll copies the regular files below a directory into an item.
func putAll(ctx context.Context, to handler.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return put(ctx, to, filepath.ToSlash(name), path)
	})
}

// put copies a file into an item.
func put(ctx context.Context, to handler.Writer, name, path string) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer closeFile(from)
	w, err := to.Create(ctx, name)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, contextReader{ctx, from})
	if end := w.Close(); err == nil {
		err = end
	}
	return err
}

// contextReader stops with its context.
type contextReader struct {
	ctx context.Context
	io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// Load implements handler.CheckpointableHandler: it extracts the item into a new directory that
// only this user can enter.
func (h filesHandler) Load(ctx context.Context, from handler.Reader, _ any) (any, error) {
	names, err := from.List(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := getAll(ctx, from, names)
	if err != nil {
		return nil, err
	}
	return files{dir, h.typeString}, nil
}

// getAll copies files of an item into a new directory that only this user can enter.
func getAll(ctx context.Context, from handler.Reader, names []string) (dir string, err error) {
	if dir, err = os.MkdirTemp("", "bivouac-item-"); err != nil {
		return "", err
	}
	for _, name := range names {
		if err := get(ctx, from, name, dir); err != nil {
			os.RemoveAll(dir) //nolint:errcheck // the first error tells more
			return "", err
		}
	}
	return dir, nil
}

// get copies a file of an item into a directory.
func get(ctx context.Context, from handler.Reader, name, dir string) error {
	if err := handler.CheckName(name); err != nil {
		return err
	}
	f, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	path := filepath.Join(dir, filepath.FromSlash(name))
	if strings.Contains(name, "/") {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, contextReader{ctx, io.NewSectionReader(f, 0, f.Size())})
	if end := to.Close(); err == nil {
		err = end
	}
	return err
}

// Metadata implements handler.CheckpointableHandler.
func (h filesHandler) Metadata(context.Context, handler.Reader) (any, error) { return nil, nil }
