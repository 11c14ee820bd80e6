//go:build !linux

package folders

import (
	"os"
	"path/filepath"
)

// read reads the names of the folder.
func (l *Listing) read(match func(name string) bool) error {
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
		if l.Seen++; match(e.Name()) {
			l.add(e.Name())
		}
	}
	return err
}

// measure reads the sizes of files lo to hi.
func (l *Listing) measure(lo, hi int) error {
	for i := lo; i < hi; i++ {
		f := &l.Files[i]
		path := filepath.Join(l.dir, l.Name(*f))
		info, err := os.Stat(path)
		if err != nil {
			return Error(l.op, path, err)
		}
		if f.Size = info.Size(); !info.Mode().IsRegular() {
			f.Size = -1
		}
	}
	return nil
}
