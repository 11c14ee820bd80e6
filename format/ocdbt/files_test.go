package ocdbt

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// mem is a database directory in memory.
type mem map[string][]byte

func (m mem) ReadFile(_ context.Context, name string) ([]byte, error) {
	b, ok := m[name]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "read", Subject: name}
	}
	return b, nil
}

func (m mem) ReadAt(ctx context.Context, name string, p []byte, off int64) error {
	b, err := m.ReadFile(ctx, name)
	if err != nil {
		return err
	}
	if off < 0 || off+int64(len(p)) > int64(len(b)) {
		return &errs.Error{Kind: errs.IO, Op: "read", Subject: name, Got: "end of file"}
	}
	copy(p, b[off:])
	return nil
}

func (m mem) Size(ctx context.Context, name string) (int64, error) {
	b, err := m.ReadFile(ctx, name)
	return int64(len(b)), err
}

func (m mem) Names(context.Context) ([]string, error) {
	return slices.Sorted(maps.Keys(m)), nil
}

// loadDir reads the database in dir, sub-directories included.
func loadDir(t testing.TB, dir string) mem {
	t.Helper()
	m := mem{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		m[filepath.ToSlash(name)] = b
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// databases returns the directories below the given ones that hold a manifest.
func databases(t testing.TB, roots ...string) []string {
	t.Helper()
	var dirs []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.Name() == ManifestName {
				dirs = append(dirs, filepath.Dir(path))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

// sharedVectors holds databases written by TensorStore and Orbax; a clone alone
// does not have it, and tests the copies in testdata.
const sharedVectors = "../../../shared/vectors/orbax"

func vectorRoots(t testing.TB) []string {
	t.Helper()
	if _, err := os.Stat(sharedVectors); err != nil {
		t.Logf("shared vectors are absent, testdata alone is tested")
		return []string{"testdata/vectors"}
	}
	return []string{"testdata/vectors", sharedVectors}
}
