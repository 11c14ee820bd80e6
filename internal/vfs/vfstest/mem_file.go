package vfstest

import (
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"syscall"
)

// BlockSize is the unit in which Mem keeps or loses bytes: a disk sector.
const BlockSize = 512

// block is one sector. It never changes once it is stored; nil is zeros.
type block [BlockSize]byte

var zeros block

// content is the bytes of a file, as seen now and as they may be found.
type content struct {
	size   int64
	blocks []*block // may be shorter than size: the rest is zeros

	syncedSize   int64
	syncedBlocks []*block

	sizes []int64          // sizes since the last sync, oldest first, the current one last; empty when synced
	dirty map[int][]*block // versions of each block since the last sync, the current one last
}

func at(blocks []*block, i int) *block {
	if i < len(blocks) {
		return blocks[i]
	}
	return nil
}

// put stores a version of block i.
func (c *content) put(i int, b *block) {
	for i >= len(c.blocks) {
		c.blocks = append(c.blocks, nil)
	}
	c.blocks[i] = b
	if c.dirty == nil {
		c.dirty = map[int][]*block{}
	}
	c.dirty[i] = append(c.dirty[i], b)
}

func (c *content) resize(size int64) {
	if size == c.size {
		return
	}
	if size < c.size {
		first := int(size / BlockSize)
		if cut := int(size % BlockSize); cut > 0 {
			if b := at(c.blocks, first); b != nil {
				tail := *b
				clear(tail[cut:])
				c.put(first, &tail)
			}
			first++
		}
		for i := first; i < len(c.blocks); i++ {
			if c.blocks[i] != nil {
				c.put(i, nil)
			}
		}
	}
	c.size = size
	c.sizes = append(c.sizes, size)
}

func (c *content) writeAt(p []byte, off int64) {
	for n := 0; n < len(p); {
		i, in := int((off+int64(n))/BlockSize), int((off+int64(n))%BlockSize)
		b := new(block)
		if old := at(c.blocks, i); old != nil {
			*b = *old
		}
		n += copy(b[in:], p[n:])
		c.put(i, b)
	}
	if end := off + int64(len(p)); end > c.size {
		c.resize(end)
	}
}

func (c *content) readAt(p []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	p = p[:min(int64(len(p)), c.size-off)]
	for n := 0; n < len(p); {
		i, in := int((off+int64(n))/BlockSize), int((off+int64(n))%BlockSize)
		k := min(len(p)-n, BlockSize-in)
		if b := at(c.blocks, i); b != nil {
			copy(p[n:n+k], b[in:])
		} else {
			clear(p[n : n+k])
		}
		n += k
	}
	return len(p)
}

// sync makes durable what was written since the last sync, and nothing else:
// what lose dropped stays lost.
func (c *content) sync() {
	if len(c.sizes) > 0 {
		c.syncedSize = c.size
	}
	for i, versions := range c.dirty {
		for i >= len(c.syncedBlocks) {
			c.syncedBlocks = append(c.syncedBlocks, nil)
		}
		c.syncedBlocks[i] = versions[len(versions)-1]
	}
	c.sizes, c.dirty = nil, nil
}

// lose is a failed fsync on Linux: what was written is still seen and no
// longer on its way to the disk.
func (c *content) lose() { c.sizes, c.dirty = nil, nil }

func (c *content) clone() content {
	d := *c
	d.blocks, d.syncedBlocks, d.sizes = slices.Clone(c.blocks), slices.Clone(c.syncedBlocks), slices.Clone(c.sizes)
	if c.dirty != nil {
		d.dirty = make(map[int][]*block, len(c.dirty))
		for i, v := range c.dirty {
			d.dirty[i] = slices.Clone(v)
		}
	}
	return d
}

// memFile is an open file of a Mem.
type memFile struct {
	m      *Mem
	n      *node
	name   string
	write  bool
	direct atomic.Bool
	closed atomic.Bool
}

func (m *Mem) openFile(n *node, name string, write bool) *memFile {
	m.open.Add(1)
	m.hold(n, 1)
	return &memFile{m: m, n: n, name: name, write: write}
}

func (f *memFile) check(op Op, write bool, off int64) error {
	switch {
	case f.closed.Load():
		return pathError(op, f.name, os.ErrClosed)
	case write && !f.write:
		return pathError(op, f.name, syscall.EBADF)
	case off < 0:
		return pathError(op, f.name, syscall.EINVAL)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check(OpReadAt, false, off); err != nil {
		return 0, err
	}
	n := f.n.data.readAt(p, off)
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// change runs an operation that alters the file. grown is the size that it
// would have after it; do is told which part of that fits on the disk.
func (f *memFile) change(c Call, grown int64, do func(c *content, fits int64) error) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check(c.Op, c.Op != OpSync, min(c.Off, c.Size)); err != nil {
		return err
	}
	if err := do(&f.n.data, f.m.fits(f.n, grown)); err != nil {
		return pathError(c.Op, f.name, err)
	}
	if c.Op != OpSync {
		f.n.mtime = f.m.tick()
	}
	c.Name = f.name
	f.m.done(c)
	return nil
}

func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if f.direct.Load() && (off%vfs.DirectBlock != 0 || len(p)%vfs.DirectBlock != 0 || !vfs.Aligned(p)) {
		return 0, pathError(OpWriteAt, f.name, syscall.EINVAL)
	}
	n := len(p)
	err := f.change(Call{Op: OpWriteAt, Off: off, Size: int64(len(p))}, off+int64(len(p)), func(c *content, fits int64) error {
		if n = int(min(int64(len(p)), max(0, fits-off))); n == 0 && len(p) > 0 {
			return syscall.ENOSPC
		}
		c.writeAt(p[:n], off)
		return nil
	})
	switch {
	case err != nil:
		return 0, err
	case n < len(p):
		return n, pathError(OpWriteAt, f.name, syscall.ENOSPC)
	}
	return n, nil
}

// Allocate takes the room for all of size, or none.
func (f *memFile) Allocate(size int64) error {
	return f.change(Call{Op: OpAllocate, Size: size}, size, func(c *content, fits int64) error {
		if fits < size {
			return syscall.ENOSPC
		}
		c.resize(max(size, c.size))
		return nil
	})
}

// Truncate takes room for what it adds: holes are not modelled.
func (f *memFile) Truncate(size int64) error {
	return f.change(Call{Op: OpTruncate, Size: size}, size, func(c *content, fits int64) error {
		if fits < size {
			return syscall.ENOSPC
		}
		c.resize(size)
		return nil
	})
}

// SetDirect has WriteAt check what a disk would want; what is written is kept
// and lost as by any write, which is the least that POSIX promises.
func (f *memFile) SetDirect(on bool) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check(OpSetDirect, true, 0); err != nil {
		return err
	}
	f.direct.Store(on)
	return nil
}

func (f *memFile) Sync() error {
	return f.change(Call{Op: OpSync}, 0, func(c *content, _ int64) error {
		c.sync()
		return nil
	})
}

// loseWrites is called by Fault for a Sync that fails.
func (f *memFile) loseWrites() {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.data.lose()
}

func (f *memFile) Stat() (fs.FileInfo, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if err := f.check(OpFileStat, false, 0); err != nil {
		return nil, err
	}
	return f.n.info(path.Base(clean(f.name))), nil
}

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return pathError(OpClose, f.name, os.ErrClosed)
	}
	f.m.open.Add(-1)
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.hold(f.n, -1)
	return nil
}
