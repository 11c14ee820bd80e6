package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sums lists the files of a release with their checksums, as sha256sum writes them.
const sums = "SHA256SUMS"

// A folder receives the files of a release.
type folder struct {
	dir   string
	names []string
}

// begin empties the directory of a release. A directory that holds anything that no earlier release
// listed in its checksums is refused.
func begin(dir string) (*folder, error) {
	listed := map[string]bool{sums: true}
	text, err := os.ReadFile(filepath.Join(dir, sums))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if _, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			listed[name] = true
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if !listed[e.Name()] {
			return nil, fmt.Errorf("%s: %s is not of a finished release (move it away, or choose another -out)", dir, e.Name())
		}
	}
	for _, e := range entries {
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return &folder{dir: dir}, os.MkdirAll(dir, 0o755)
}

// path returns where a file of the release belongs, and notes its name.
func (f *folder) path(name string) string {
	f.names = append(f.names, name)
	return filepath.Join(f.dir, name)
}

func (f *folder) write(name string, b []byte) error { return os.WriteFile(f.path(name), b, 0o644) }

// finish writes the checksums and prints them with the sizes.
func (f *folder) finish() error {
	slices.Sort(f.names)
	var text strings.Builder
	for _, name := range f.names {
		b, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(b)
		fmt.Fprintf(&text, "%s  %s\n", hex.EncodeToString(sum[:]), name)
		fmt.Printf("%10d  %.16s  %s\n", len(b), hex.EncodeToString(sum[:]), name)
	}
	return os.WriteFile(filepath.Join(f.dir, sums), []byte(text.String()), 0o644)
}
