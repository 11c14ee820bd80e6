package vfstest

import (
	"encoding/binary"
	"hash/maphash"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
)

// Clone returns a copy with all pending changes of m, and without Watch. Files that are open in m
// are not open in the copy.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clone()
}

func (m *Mem) clone() *Mem {
	out := &Mem{clock: m.clock, next: m.next, capacity: m.capacity}
	seen := map[*node]*node{}
	var copyNode func(n *node) *node
	copyMap := func(in map[string]*node) map[string]*node {
		to := make(map[string]*node, len(in))
		for k, n := range in {
			to[k] = copyNode(n)
		}
		return to
	}
	copyNode = func(n *node) *node {
		if n == nil {
			return nil
		}
		if c, ok := seen[n]; ok {
			return c
		}
		c := new(node)
		*c = *n
		seen[n] = c
		if n.dir {
			c.entries, c.synced = copyMap(n.entries), copyMap(n.synced)
		} else {
			c.data = n.data.clone()
		}
		return c
	}
	out.root = copyNode(m.root)
	for _, c := range m.pending {
		d := &change{outcomes: c.outcomes}
		for _, e := range c.edits {
			d.edits = append(d.edits, edit{copyNode(e.dir), e.name, copyNode(e.to)})
		}
		out.pending = append(out.pending, d)
	}
	return out
}

// SyncAll makes everything durable, as an orderly shutdown does.
func (m *Mem) SyncAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = nil
	visit(m.root, "", map[*node]bool{}, func(_ string, n *node) {
		if n.dir {
			n.synced = maps.Clone(n.entries)
		} else {
			n.data.sizes, n.data.dirty = nil, nil
			n.data.syncedSize, n.data.syncedBlocks = n.data.size, slices.Clone(n.data.blocks)
		}
	})
}

// visit calls fn once for every node below n, parents first, names ascending.
func visit(n *node, name string, seen map[*node]bool, fn func(string, *node)) {
	if seen[n] {
		return
	}
	seen[n] = true
	fn(name, n)
	for _, k := range slices.Sorted(maps.Keys(n.entries)) {
		visit(n.entries[k], name+"/"+k, seen, fn)
	}
}

// Hash identifies, within this process, the visible state: names, kinds and bytes. Times, modes and
// durability do not enter it.
func (m *Mem) Hash() [16]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hash()
}

// seeds combine two independent 64-bit hashes into one of 128 bits.
var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func (m *Mem) hash() (sum [16]byte) {
	for i, seed := range seeds {
		var h maphash.Hash
		h.SetSeed(seed)
		m.root.hash(&h)
		binary.LittleEndian.PutUint64(sum[8*i:], h.Sum64())
	}
	return sum
}

func (n *node) hash(h *maphash.Hash) {
	if !n.dir {
		maphash.WriteComparable(h, -1-n.data.size)
		for i := range int((n.data.size + BlockSize - 1) / BlockSize) {
			b := at(n.data.blocks, i)
			if b == nil {
				b = &zeros
			}
			h.Write(b[:]) //nolint:errcheck // documented never to fail
		}
		return
	}
	maphash.WriteComparable(h, int64(len(n.entries)))
	for _, k := range slices.Sorted(maps.Keys(n.entries)) {
		maphash.WriteComparable(h, k)
		n.entries[k].hash(h)
	}
}

// chooser decides, at each point of freedom, which of n ≥ 2 outcomes power loss has. 0 is the
// durable state, n-1 is the last written state.
type chooser func(n int) int

// crash builds the state that choose describes. It visits the points of freedom top down, and only
// those that are visible. So the same choices always build the same state, and the contents of a
// lost directory cost nothing.
func (m *Mem) crash(choose chooser) *Mem {
	out := &Mem{clock: m.clock}
	fate := map[*change]uint8{}
	decide := func(c *change) uint8 {
		f, ok := fate[c]
		if !ok {
			f = c.outcomes[choose(len(c.outcomes))]
			fate[c] = f
		}
		return f
	}
	made := map[*node]*node{}
	var build func(n *node) *node
	build = func(n *node) *node {
		c := out.newNode(n.dir, n.mode.Perm())
		made[n] = c
		if !n.dir {
			c.data = n.data.crash(choose)
			return c
		}
		left := maps.Clone(n.synced)
		for _, p := range m.pending {
			for i, e := range p.edits {
				if e.dir != n || decide(p)&(1<<i) == 0 {
					continue
				}
				if e.to == nil {
					delete(left, e.name)
				} else {
					left[e.name] = e.to
				}
			}
		}
		for _, k := range slices.Sorted(maps.Keys(left)) {
			to, old := left[k], made[left[k]]
			switch {
			case old == nil:
				old = build(to)
			case to.dir:
				continue // a second name of a directory: a check of the disk removes it
			}
			old.links++
			c.entries[k], c.synced[k] = old, old
		}
		return c
	}
	out.root = build(m.root)
	return out
}

// crash returns contents that may be found after power loss, everything durable.
func (c *content) crash(choose chooser) content {
	size := c.syncedSize
	if sizes := distinct(c.syncedSize, c.sizes); len(sizes) > 1 {
		size = sizes[choose(len(sizes))]
	}
	n := int((size + BlockSize - 1) / BlockSize)
	blocks := make([]*block, min(n, max(len(c.blocks), len(c.syncedBlocks))))
	copy(blocks, c.syncedBlocks)
	for _, i := range slices.Sorted(maps.Keys(c.dirty)) {
		if i >= n {
			break
		}
		if versions := distinctBlocks(at(c.syncedBlocks, i), c.dirty[i]); len(versions) > 1 {
			blocks[i] = versions[choose(len(versions))]
		}
	}
	if cut := int(size % BlockSize); cut > 0 && n <= len(blocks) && blocks[n-1] != nil {
		tail := *blocks[n-1]
		clear(tail[cut:])
		blocks[n-1] = &tail
	}
	return content{size: size, blocks: blocks, syncedSize: size, syncedBlocks: slices.Clone(blocks)}
}

// distinct returns first and the different values of rest. The last value of rest comes last.
func distinct(first int64, rest []int64) []int64 {
	out := []int64{first}
	for i, v := range rest {
		if v != first && !slices.Contains(rest[i+1:], v) {
			out = append(out, v)
		}
	}
	return out
}

func distinctBlocks(first *block, rest []*block) []*block {
	same := func(a, b *block) bool {
		if a == nil {
			a = &zeros
		}
		if b == nil {
			b = &zeros
		}
		return a == b || *a == *b
	}
	out := []*block{first}
	for i, v := range rest {
		if !same(v, first) && !slices.ContainsFunc(rest[i+1:], func(o *block) bool { return same(v, o) }) {
			out = append(out, v)
		}
	}
	return out
}

// tape replays choices and then takes the first outcome, and records the number of outcomes.
type tape struct {
	picks, ways []int
	at          int
}

func (t *tape) choose(n int) int {
	if t.at == len(t.picks) {
		t.picks, t.ways = append(t.picks, 0), append(t.ways, n)
	}
	t.ways[t.at] = n
	t.at++
	return t.picks[t.at-1]
}

// advance moves to the next sequence of choices. It returns false after the last one.
func (t *tape) advance() bool {
	t.picks, t.ways = t.picks[:t.at], t.ways[:t.at]
	t.at = 0
	for i := len(t.picks) - 1; i >= 0; i-- {
		if t.picks[i]+1 < t.ways[i] {
			t.picks[i]++
			t.picks, t.ways = t.picks[:i+1], t.ways[:i+1]
			return true
		}
	}
	return false
}

// States yields, lazily, every state that may be found after a power loss now. Their number grows
// exponentially with the changes that are not synced. Different outcomes may look the same, so
// states may repeat (see Hash). m must not change meanwhile; take a Clone.
func (m *Mem) States() iter.Seq[*Mem] {
	return func(yield func(*Mem) bool) {
		for t := new(tape); yield(m.crash(t.choose)) && t.advance(); {
		}
	}
}

// Edges yields the most useful states. Their number is linear in the changes that are not synced:
// no change survived, all changes survived, all except one survived, or only one visible change
// survived. States may repeat. m must not change meanwhile.
func (m *Mem) Edges() iter.Seq[*Mem] {
	return func(yield func(*Mem) bool) {
		oldest := func(int) int { return 0 }
		newest := func(n int) int { return n - 1 }
		if !yield(m.crash(oldest)) || !yield(m.crash(newest)) {
			return
		}
		for _, rest := range []chooser{newest, oldest} {
			for i, n := 0, 1; i < n; i++ {
				for way := 0; ; way++ {
					at, ways := 0, 0
					s := m.crash(func(w int) int {
						at++
						if at-1 != i {
							return rest(w)
						}
						ways = w
						return min(way, w-1)
					})
					n = max(n, at)
					if way >= ways {
						break
					}
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

// Sample draws one state that may be found after a power loss now. It draws the chance of survival
// first, so that nearly empty and nearly complete states are as frequent as mixed ones.
func (m *Mem) Sample(r *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := r.Float64()
	return m.crash(func(n int) int {
		switch x := r.Float64(); {
		case x < p*p:
			return n - 1
		case x < p:
			return r.IntN(n)
		default:
			return 0
		}
	})
}
