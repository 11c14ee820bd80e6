package vfstest

import (
	"bytes"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io"
	"io/fs"
	"sync"
	"syscall"
)

// Lock implements FS. The file that it makes is durable at once and stays empty:
// nothing is promised about it, so that the states in which it was lost need not
// be told apart. Locks end with the power.
func (m *Mem) Lock(name string, perm fs.FileMode, note []byte) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(clean(name))
	if err != nil {
		return nil, pathError(OpLock, name, err)
	}
	n := d.entries[base]
	switch {
	case n == nil && !m.takeNode():
		return nil, pathError(OpLock, name, syscall.ENOSPC)
	case n == nil:
		n = m.newNode(false, perm.Perm())
		n.links++
		d.entries[base], d.synced[base] = n, n
	case n.dir:
		return nil, pathError(OpLock, name, syscall.EISDIR)
	}
	if held, ok := m.locked[n]; ok {
		return nil, &vfs.Held{Name: name, Note: held}
	}
	if m.locked == nil {
		m.locked = map[*node][]byte{}
	}
	m.locked[n] = bytes.Clone(note)
	m.open.Add(1)
	m.done(Call{Op: OpLock, Name: name})
	return &memLock{m: m, n: n}, nil
}

type memLock struct {
	once sync.Once
	m    *Mem
	n    *node
}

func (l *memLock) Close() error {
	err := fs.ErrClosed
	l.once.Do(func() {
		l.m.mu.Lock()
		defer l.m.mu.Unlock()
		delete(l.m.locked, l.n)
		l.m.open.Add(-1)
		err = nil
	})
	return err
}

// Stat describes the locked file, as Mem.Stat does while it has a name.
func (l *memLock) Stat() (fs.FileInfo, error) {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	return l.n.info(""), nil
}
