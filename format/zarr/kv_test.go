package zarr

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// mem is a key-value store in memory that counts the bytes read.
type mem struct {
	values map[string][]byte
	read   int
}

func (m *mem) Get(_ context.Context, key string) ([]byte, error) {
	b, ok := m.values[key]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "get", Subject: key}
	}
	m.read += len(b)
	return b, nil
}

func (m *mem) ReadAt(_ context.Context, key string, p []byte, off int64) error {
	b, ok := m.values[key]
	if !ok || off < 0 || off+int64(len(p)) > int64(len(b)) {
		return &errs.Error{Kind: errs.IO, Op: "read", Subject: key}
	}
	m.read += copy(p, b[off:])
	return nil
}

func (m *mem) Size(_ context.Context, key string) (int64, error) {
	b, ok := m.values[key]
	if !ok {
		return 0, &errs.Error{Kind: errs.NotFound, Op: "size", Subject: key}
	}
	return int64(len(b)), nil
}

// loadDir returns the files below dir by their paths.
func loadDir(t testing.TB, dir string) *mem {
	t.Helper()
	m := &mem{values: map[string][]byte{}}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		m.values[filepath.ToSlash(name)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
