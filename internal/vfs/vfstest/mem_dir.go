package vfstest

import (
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
)

// dirLock is who holds the lock of a directory of a Mem.
type dirLock struct {
	shared    map[*memDir]bool
	exclusive *memDir
}

// memDir is an open directory of a Mem.
type memDir struct {
	m      *Mem
	n      *node
	name   string
	closed atomic.Bool
}

// OpenDir implements FS.
func (m *Mem) OpenDir(name string) (vfs.Dir, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(clean(name))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError(OpOpenDir, name, err)
	}
	m.open.Add(1)
	return &memDir{m: m, n: n, name: name}, nil
}

// at finds a name. d.m.mu is held.
func (d *memDir) at(op Op, name string) (*node, error) {
	full := path.Join(d.name, name)
	switch {
	case d.closed.Load():
		return nil, pathError(op, full, os.ErrClosed)
	case !fs.ValidPath(name):
		return nil, pathError(op, full, syscall.EINVAL)
	}
	n := d.n
	for elem := range strings.SplitSeq(name, "/") {
		if elem == "." {
			continue
		}
		if !n.dir {
			return nil, pathError(op, full, syscall.ENOTDIR)
		}
		if n = n.entries[elem]; n == nil {
			return nil, pathError(op, full, syscall.ENOENT)
		}
	}
	return n, nil
}

// Open implements Dir.
func (d *memDir) Open(name string) (vfs.File, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	n, err := d.at(OpOpen, name)
	if err != nil {
		return nil, err
	}
	return d.m.openFile(n, path.Join(d.name, name), false), nil
}

// Stat implements Dir.
func (d *memDir) Stat(name string) (fs.FileInfo, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	n, err := d.at(OpStat, name)
	if err != nil {
		return nil, err
	}
	return n.info(path.Base(path.Join(d.name, name))), nil
}

// ReadDir implements Dir.
func (d *memDir) ReadDir(name string) ([]fs.DirEntry, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	n, err := d.at(OpReadDir, name)
	if err == nil && !n.dir {
		err = pathError(OpReadDir, path.Join(d.name, name), syscall.ENOTDIR)
	}
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	for _, k := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, fs.FileInfoToDirEntry(n.entries[k].info(k)))
	}
	return list, nil
}

// Lock implements Dir. Locks end with the power.
func (d *memDir) Lock(exclusive bool) (bool, error) {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if d.closed.Load() {
		return false, pathError(OpLockDir, d.name, os.ErrClosed)
	}
	d.unlock()
	l := d.m.dirLocks[d.n]
	if l.exclusive != nil || exclusive && len(l.shared) > 0 {
		return false, nil
	}
	if exclusive {
		l.exclusive = d
	} else {
		if l.shared == nil {
			l.shared = map[*memDir]bool{}
		}
		l.shared[d] = true
	}
	if d.m.dirLocks == nil {
		d.m.dirLocks = map[*node]dirLock{}
	}
	d.m.dirLocks[d.n] = l
	return true, nil
}

// unlock gives the lock back. d.m.mu is held.
func (d *memDir) unlock() {
	l, ok := d.m.dirLocks[d.n]
	if !ok {
		return
	}
	delete(l.shared, d)
	if l.exclusive == d {
		l.exclusive = nil
	}
	d.m.dirLocks[d.n] = l
	if l.exclusive == nil && len(l.shared) == 0 {
		delete(d.m.dirLocks, d.n)
	}
}

// Close implements Dir.
func (d *memDir) Close() error {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if d.closed.Swap(true) {
		return pathError(OpClose, d.name, os.ErrClosed)
	}
	d.unlock()
	d.m.open.Add(-1)
	return nil
}
