package vfstest

// SetCapacity makes m a disk of the given number of bytes; 0 means no bound. Every file and
// directory takes one block of BlockSize. A file also takes the blocks of its size, written or not.
// A removed file keeps its blocks while it is open or has another name.
//
// A call that finds no room fails with ENOSPC. Create, Mkdir, Allocate and Truncate then have no
// effect, and WriteAt has written the part that fits.
//
// No file may be open when SetCapacity is called.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity, m.handles = bytes, nil
}

// Used returns how many bytes of the disk are taken, as SetCapacity counts.
func (m *Mem) Used() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used()
}

// Refused returns how many calls found the disk full.
func (m *Mem) Refused() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused
}

// hold counts the handles of a node.
func (m *Mem) hold(n *node, change int) {
	if m.capacity == 0 {
		return
	}
	if m.handles == nil {
		m.handles = map[*node]int{}
	}
	if m.handles[n] += change; m.handles[n] <= 0 {
		delete(m.handles, n)
	}
}

func blocksOf(size int64) int64 { return (size + BlockSize - 1) / BlockSize }

func (m *Mem) used() int64 {
	blocks := int64(0)
	seen := map[*node]bool{}
	count := func(_ string, n *node) { blocks += 1 + blocksOf(n.data.size) }
	visit(m.root, "", seen, count)
	for n := range m.handles {
		visit(n, "", seen, count)
	}
	return blocks * BlockSize
}

// takeNode reports whether there is room for one more file or directory.
func (m *Mem) takeNode() bool {
	if m.capacity == 0 || m.used()+BlockSize <= m.capacity {
		return true
	}
	m.refused++
	return false
}

// fits returns size, or the largest size below it to which n can grow.
func (m *Mem) fits(n *node, size int64) int64 {
	if m.capacity == 0 || blocksOf(size) <= blocksOf(n.data.size) {
		return size
	}
	room := max(0, m.capacity-m.used()) / BlockSize
	most := (blocksOf(n.data.size) + room) * BlockSize
	if size <= most {
		return size
	}
	m.refused++
	return most
}
