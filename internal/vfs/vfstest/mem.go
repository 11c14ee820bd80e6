package vfstest

import (
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Mem is a file system in memory that can lose power.
//
// # What survives
//
// File.Sync makes size and bytes of one file durable, SyncDir the entries of
// one directory. What was not synced may have survived or not, each piece for
// itself:
//
//   - every 512-byte block of a file has any of the versions it had since the file was synced, or
//     the synced version (zeros if there is no synced version);
//   - the size is any of the sizes it had since then, independently of the
//     blocks, so that a file may be long and empty, or full and cut;
//   - every creation, link and removal happened or not;
//   - a rename of a file left the old name, the new name, both or neither; a name that was replaced
//     shows the old or the new file and is never missing;
//   - a rename of a directory left the old name, the new name, or neither (a
//     directory with two names is damage that a check of the disk removes);
//   - an exchange happened or not, as a whole: only journaling file systems
//     offer it, and they put it into one transaction. For the same reason a
//     sync of one of two directories that share an exchange or a rename of a
//     directory makes both durable.
//
// Order between different pieces is never kept. This is weaker than ext4, XFS
// or btrfs promise, and what POSIX allows.
//
// States enumerates all file systems that may be found after power loss now,
// Edges a few telling ones, Sample draws one. Each is a new Mem in which
// everything is durable.
//
// # How much fits
//
// SetCapacity makes the disk finite: what does not fit is ENOSPC, as its comment
// says.
//
// A Mem is used by any number of goroutines.
type Mem struct {
	mu      sync.Mutex
	root    *node
	pending []*change // unsynced directory operations, oldest first
	watch   func(Call, func() *Mem)
	clock   time.Time
	next    int64 // identity of the next node
	open    atomic.Int64
	locked  map[*node][]byte // notes of the locks that are held

	dirLocks map[*node]dirLock

	capacity int64         // bytes of the disk; 0 = no bound
	refused  int           // calls that the full disk refused
	handles  map[*node]int // open files of each node, on a disk with a capacity
}

// node is a file or a directory. Hard links share a node.
type node struct {
	id      int64
	dir     bool
	mode    fs.FileMode
	mtime   time.Time
	links   int
	entries map[string]*node // directory: as seen now
	synced  map[string]*node // directory: as durable
	data    content          // file
}

// edit sets or, with a nil node, removes one entry of one directory.
type edit struct {
	dir  *node
	name string
	to   *node
}

// change is one directory operation that is not durable yet: its edits, and
// the subsets of them that may survive, as bit masks. The first is always 0,
// the last everything.
type change struct {
	edits    []edit
	outcomes []uint8
}

var (
	outcomesOne      = []uint8{0, 1}
	outcomesFileMove = []uint8{0, 1, 2, 3} // edits: new name, old name
	outcomesDirMove  = []uint8{0, 2, 3}
	outcomesAtomic   = []uint8{0, 3}
)

// atomic reports whether the edits in two directories become durable together.
func (c *change) atomic() bool { return len(c.edits) == 2 && len(c.outcomes) != len(outcomesFileMove) }

// NewMem returns an empty file system.
func NewMem() *Mem {
	m := &Mem{clock: time.Unix(1_700_000_000, 0)}
	m.root = m.newNode(true, 0o755)
	return m
}

func (m *Mem) newNode(dir bool, mode fs.FileMode) *node {
	m.next++
	n := &node{id: m.next, dir: dir, mode: mode, mtime: m.tick()}
	if dir {
		n.entries, n.synced = map[string]*node{}, map[string]*node{}
		n.mode |= fs.ModeDir
	}
	return n
}

// tick returns a different time for every change.
func (m *Mem) tick() time.Time {
	m.clock = m.clock.Add(time.Millisecond)
	return m.clock
}

// Watch makes m call fn after each operation that changed the file system or what is durable of it,
// before any other operation. fn must use m only through snapshot, which returns a copy with all
// pending changes of m.
func (m *Mem) Watch(fn func(c Call, snapshot func() *Mem)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watch = fn
}

// OpenFiles returns how many files are open.
func (m *Mem) OpenFiles() int { return int(m.open.Load()) }

func (m *Mem) done(c Call) {
	if m.watch != nil {
		m.watch(c, m.clone)
	}
}

func clean(name string) string { return path.Clean("/" + name) }

// lookup walks to name, which must be clean.
func (m *Mem) lookup(name string) (*node, error) {
	n := m.root
	for elem := range strings.SplitSeq(strings.Trim(name, "/"), "/") {
		if elem == "" {
			continue
		}
		if !n.dir {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.entries[elem]
		if !ok {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

// parent returns the directory that holds name, and the last element.
func (m *Mem) parent(name string) (*node, string, error) {
	dir, base := path.Split(name)
	if base == "" {
		return nil, "", syscall.EINVAL
	}
	n, err := m.lookup(dir)
	if err != nil {
		return nil, "", err
	}
	if !n.dir {
		return nil, "", syscall.ENOTDIR
	}
	return n, base, nil
}

// apply makes edits visible and records them as not durable.
func (m *Mem) apply(outcomes []uint8, edits ...edit) {
	t := m.tick()
	for _, e := range edits {
		if old := e.dir.entries[e.name]; old != nil {
			old.links--
		}
		if e.to == nil {
			delete(e.dir.entries, e.name)
		} else {
			e.to.links++
			e.dir.entries[e.name] = e.to
		}
		e.dir.mtime = t
	}
	m.pending = append(m.pending, &change{edits: edits, outcomes: outcomes})
}

func pathError(op Op, name string, err error) error {
	return &fs.PathError{Op: op.String(), Path: name, Err: err}
}

// make adds a new node at name.
func (m *Mem) make(op Op, name string, dir bool, perm fs.FileMode) (*node, error) {
	d, base, err := m.parent(clean(name))
	if err != nil {
		return nil, pathError(op, name, err)
	}
	if d.entries[base] != nil {
		return nil, pathError(op, name, syscall.EEXIST)
	}
	if !m.takeNode() {
		return nil, pathError(op, name, syscall.ENOSPC)
	}
	n := m.newNode(dir, perm.Perm())
	m.apply(outcomesOne, edit{d, base, n})
	m.done(Call{Op: op, Name: name})
	return n, nil
}

// Create implements FS.
func (m *Mem) Create(name string, perm fs.FileMode) (vfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.make(OpCreate, name, false, perm)
	if err != nil {
		return nil, err
	}
	return m.openFile(n, name, true), nil
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string, perm fs.FileMode) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.make(OpMkdir, name, true, perm)
	return err
}

// Open implements FS. Directories cannot be opened.
func (m *Mem) Open(name string) (vfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(clean(name))
	if err == nil && n.dir {
		err = syscall.EISDIR
	}
	if err != nil {
		return nil, pathError(OpOpen, name, err)
	}
	return m.openFile(n, name, false), nil
}

// ReadDir implements FS.
func (m *Mem) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(clean(name))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, pathError(OpReadDir, name, err)
	}
	var list []fs.DirEntry
	for _, k := range slices.Sorted(maps.Keys(n.entries)) {
		list = append(list, fs.FileInfoToDirEntry(n.entries[k].info(k)))
	}
	return list, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(clean(name))
	if err != nil {
		return nil, pathError(OpStat, name, err)
	}
	return n.info(path.Base(clean(name))), nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, base, err := m.parent(clean(name))
	if err != nil {
		return pathError(OpRemove, name, err)
	}
	n := d.entries[base]
	switch {
	case n == nil:
		return pathError(OpRemove, name, syscall.ENOENT)
	case n.dir && len(n.entries) > 0:
		return pathError(OpRemove, name, syscall.ENOTEMPTY)
	}
	m.apply(outcomesOne, edit{d, base, nil})
	m.done(Call{Op: OpRemove, Name: name})
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup(clean(name))
	if err == nil && !n.dir {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return pathError(OpSyncDir, name, err)
	}
	m.settle(n)
	m.done(Call{Op: OpSyncDir, Name: name})
	return nil
}

// settle makes the entries of d durable, and the entries of the directories that share a
// transaction with it.
func (m *Mem) settle(d *node) {
	dirs := map[*node]bool{d: true}
	for grown := true; grown; {
		grown = false
		for _, c := range m.pending {
			if c.atomic() && dirs[c.edits[0].dir] != dirs[c.edits[1].dir] {
				dirs[c.edits[0].dir], dirs[c.edits[1].dir] = true, true
				grown = true
			}
		}
	}
	keep := m.pending[:0]
	for _, c := range m.pending {
		rest := slices.DeleteFunc(slices.Clone(c.edits), func(e edit) bool { return dirs[e.dir] })
		switch {
		case len(rest) == len(c.edits):
			keep = append(keep, c)
		case len(rest) > 0:
			keep = append(keep, &change{edits: rest, outcomes: outcomesOne})
		}
	}
	clear(m.pending[len(keep):])
	m.pending = keep
	for d := range dirs {
		d.synced = maps.Clone(d.entries)
	}
}

// memInfo is a snapshot of a node under a name.
type memInfo struct {
	name  string
	size  int64
	mode  fs.FileMode
	mtime time.Time
	id    int64
}

func (n *node) info(name string) fs.FileInfo {
	return memInfo{name: name, size: n.data.size, mode: n.mode, mtime: n.mtime, id: n.id}
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) Mode() fs.FileMode  { return i.mode }
func (i memInfo) ModTime() time.Time { return i.mtime }
func (i memInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memInfo) Sys() any           { return vfs.FileID{Node: uint64(i.id)} }
