//go:build linux

package index

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Make removes the parts of an index whose writers are dead, and leaves all other files.
func TestPartsOfDeadWritersAreRemoved(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\n", "cd\n")
	at := func(name string) string { return filepath.Join(dir, name) }
	stay := []string{"bivouac.index.part", "bivouac.index.x.part", "bivouac.index.12.part.gz", "other.index.12.part",
		"12.part"}
	for _, name := range append(stay, "bivouac.index.123.part", "bivouac.index.0.part") {
		if err := os.WriteFile(at(name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(at("bivouac.index.7.part"), 0o777); err != nil {
		t.Fatal(err)
	}
	stay = append(stay, "bivouac.index.7.part")
	alive, unlock, err := createPart(at(Name))
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	exists := func(path string) bool { _, err := os.Lstat(path); return !errors.Is(err, os.ErrNotExist) }
	x, _, err := Make(t.Context(), "test", at(Name), open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	for _, name := range stay {
		if !exists(at(name)) {
			t.Errorf("%s was removed", name)
		}
	}
	for _, name := range []string{"bivouac.index.123.part", "bivouac.index.0.part"} {
		if exists(at(name)) {
			t.Errorf("%s is still there", name)
		}
	}
	if !exists(alive.Name()) {
		t.Error("the part of a writer that lives was removed")
	}
	unlock() // as if the writer was killed
	if err := removeParts(at(Name)); err != nil || exists(alive.Name()) {
		t.Errorf("the part of a dead writer is still there: %v", err)
	}
	// To find records for a reader touches no part.
	if err := os.WriteFile(at("bivouac.index.1.part"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if x, err = Find(t.Context(), "test", open(t, paths), lines, ""); err != nil || !exists(at("bivouac.index.1.part")) {
		t.Errorf("a reader removed a part: %v", err)
	}
	x.Close()
}

// A part is locked while its index is written, up to the rename: other writers of the same index do
// not remove it.
func TestWritersLeaveEachOthersParts(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\n", "cd\n")
	x, err := Build(t.Context(), "test", open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name)
	done := make(chan error)
	for range 4 {
		go func() {
			var all error
			for range 50 {
				all = errors.Join(all, removeParts(path), Write(path, x))
			}
			done <- all
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	left, err := filepath.Glob(path + ".*.part")
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left: %v", left, err)
	}
}
