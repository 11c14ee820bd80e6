//go:build !linux

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// openDir opens a directory.
func openDir(name string) (Dir, error) {
	info, err := os.Lstat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = &os.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &osDir{root}, nil
}

// osDir is a directory that is held by an os.Root.
type osDir struct{ root *os.Root }

// check returns an error for names that lead through symbolic links.
func (d *osDir) check(name string) error {
	if !fs.ValidPath(name) {
		return &os.PathError{Op: "open", Path: name, Err: syscall.EINVAL}
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := d.root.Lstat(name[:i])
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			err = &os.PathError{Op: "open", Path: path.Join(d.root.Name(), name), Err: syscall.ELOOP}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Open implements Dir.
func (d *osDir) Open(name string) (File, error) {
	info, err := d.Stat(name)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = &os.PathError{Op: "open", Path: path.Join(d.root.Name(), name), Err: syscall.ELOOP}
	}
	if err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Stat implements Dir.
func (d *osDir) Stat(name string) (fs.FileInfo, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// ReadDir implements Dir.
func (d *osDir) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	list, err := f.ReadDir(-1)
	return entriesOf(d, name, list), err
}

// Lock implements Dir. It is not supported, because it is not known whether other hosts have
// mounted the file system.
func (d *osDir) Lock(bool) (bool, error) {
	return false, &os.PathError{Op: "flock", Path: d.root.Name(), Err: errors.ErrUnsupported}
}

// Close implements Dir.
func (d *osDir) Close() error { return d.root.Close() }

// sameInode leaves the comparison to os.SameFile.
func sameInode(_, _ fs.FileInfo) (same, ok bool) { return false, false }

// entry is a name in a directory that was opened.
type entry struct {
	fs.DirEntry
	dir  Dir
	name string
}

// Info describes the object with that name in this directory, even if the directory was renamed.
func (e entry) Info() (fs.FileInfo, error) { return e.dir.Stat(e.name) }

// entriesOf returns a list of names in ascending order, as entries of d.
func entriesOf(d Dir, dir string, list []fs.DirEntry) []fs.DirEntry {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for i, e := range list {
		list[i] = entry{e, d, path.Join(dir, e.Name())}
	}
	return list
}
