package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
)

// The cache of an open file can be dropped. For a closed file it is an error.
func TestDropCache(t *testing.T) {
	name := filepath.ToSlash(filepath.Join(t.TempDir(), "file"))
	f, err := OS().Create(name, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if err := DropCache(f); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := DropCache(f); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed file: %v", err)
	}
}
