//go:build !linux

package reader

import (
	"os"
	"path/filepath"
)

// read reads the names of the folder.
func (l *listing) read(match func(name string) bool) error {
	d, err := os.Open(l.dir)
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // it was only read
	entries, err := d.ReadDir(-1)
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		if l.seen++; match(e.Name()) {
			l.add(e.Name())
		}
	}
	return err
}

// measure reads the sizes of files lo to hi.
func (l *listing) measure(lo, hi int) error {
	for i := lo; i < hi; i++ {
		f := &l.files[i]
		path := filepath.Join(l.dir, l.name(*f))
		info, err := os.Stat(path)
		if err != nil {
			return fileError(l.op, path, err)
		}
		if f.size = info.Size(); !info.Mode().IsRegular() {
			f.size = -1
		}
	}
	return nil
}
