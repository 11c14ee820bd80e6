package zarr

import (
	"context"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Directory reads the files of a directory. Names are paths inside of it with
// "/" between elements. Implementations must be safe for concurrent use where
// arrays are read concurrently.
type Directory interface {
	// ReadFile returns the whole of a file, which the caller does not change. A
	// file that does not exist is errs.NotFound.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// ReadAt fills p from the offset off of a file, or fails.
	ReadAt(ctx context.Context, name string, p []byte, off int64) error
	// Size returns the length of a file in bytes. A file that does not exist is
	// errs.NotFound.
	Size(ctx context.Context, name string) (int64, error)
}

// Files is a KV whose values are files: keys are their paths. Arrays outside a database are stored
// in this way, for example by Orbax without OCDBT. A "/" in a name makes a directory.
//
// Keys come from metadata, that is from outside. A key that is not a plain path below the directory
// (empty elements, "." or "..", a backslash, NUL) is errs.Invalid and never reaches the Directory.
type Files struct{ dir Directory }

// NewFiles returns the files of the directory by key.
func NewFiles(dir Directory) Files { return Files{dir} }

// Get implements KV.
func (f Files) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	return f.dir.ReadFile(ctx, key)
}

// ReadAt implements KV.
func (f Files) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return f.dir.ReadAt(ctx, key, p, off)
}

// Scatter implements ScatterKV, for a Directory that has such a method.
func (f Files) Scatter(ctx context.Context, key string, off int64, into ...[]byte) (ok bool, err error) {
	s, ok := f.dir.(interface {
		Scatter(ctx context.Context, name string, off int64, into ...[]byte) (ok bool, err error)
	})
	if err := checkKey(key); err != nil || !ok {
		return false, err
	}
	return s.Scatter(ctx, key, off, into...)
}

// Size implements KV.
func (f Files) Size(ctx context.Context, key string) (int64, error) {
	if err := checkKey(key); err != nil {
		return 0, err
	}
	return f.dir.Size(ctx, key)
}

// checkKey refuses keys that are no plain paths.
func checkKey(key string) error {
	fault := ""
	if strings.ContainsAny(key, "\\\x00") {
		fault = "a backslash or NUL"
	}
	for element := range strings.SplitSeq(key, "/") {
		switch element {
		case "":
			fault = "an empty element"
		case ".", "..":
			fault = "an element " + element
		}
	}
	if fault == "" {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: "zarr.Files", Subject: "key " + key, Want: "a path below the directory", Got: fault}
}
