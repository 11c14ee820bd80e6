package ocdbt

import (
	"encoding/binary"
	"io"
)

// Entries are entries in the order of their keys, without duplicates. What a method
// returns for an entry is always the same.
type Entries interface {
	Len() int
	// AppendKey appends the key of entry i to dst.
	AppendKey(dst []byte, i int) []byte
	// Value returns where the value of entry i is. The caller does not change it.
	Value(i int) Ref
}

// entryList are Entries that lie in memory.
type entryList []Entry

func (l entryList) Len() int                           { return len(l) }
func (l entryList) AppendKey(dst []byte, i int) []byte { return append(dst, l[i].Key...) }
func (l entryList) Value(i int) Ref                    { return l[i].Value }

func keyOf(l Entries, i int) string { return string(l.AppendKey(nil, i)) }

// leafPart is what one leaf of the tree holds: entries i … j-1, whose keys lack their
// first prefix bytes there.
type leafPart struct {
	entries Entries
	i, j    int
	prefix  int
	files   fileSet
}

func newLeafPart(entries Entries, i, j, prefix int) leafPart {
	return leafPart{entries, i, j, prefix, newFileSet(func(yield func(File) bool) {
		for k := i; k < j; k++ {
			if v := entries.Value(k); !v.IsInline() && !yield(v.File) {
				return
			}
		}
	})}
}

// stats returns the statistics of the node without its own size.
func (p *leafPart) stats() Stats {
	s := Stats{Keys: uint64(p.j - p.i)}
	for i := p.i; i < p.j; i++ {
		if v := p.entries.Value(i); !v.IsInline() {
			s.IndirectBytes = saturate(s.IndirectBytes, uint64(v.Length))
		}
	}
	return s
}

// write writes the body of the node, column by column.
func (p *leafPart) write(c *columns) {
	c.bytes(p.files.append([]byte{0}))
	c.number(uint64(p.j - p.i))
	p.keys(c)
	for i := p.i; i < p.j; i++ {
		c.number(uint64(p.entries.Value(i).Length))
	}
	for i := p.i; i < p.j; i++ {
		kind := uint64(1)
		if v := p.entries.Value(i); v.IsInline() {
			kind = 0
		}
		c.number(kind)
	}
	for i := p.i; i < p.j; i++ {
		if v := p.entries.Value(i); !v.IsInline() {
			c.number(p.files.index[v.File])
		}
	}
	for i := p.i; i < p.j; i++ {
		if v := p.entries.Value(i); !v.IsInline() {
			c.number(uint64(v.Offset))
		}
	}
	for i := p.i; i < p.j; i++ {
		if v := p.entries.Value(i); v.IsInline() {
			c.bytes(v.Inline)
		}
	}
}

// keys writes for each key how many bytes it shares with the key before, how many bytes are its
// own, and these bytes.
func (p *leafPart) keys(c *columns) {
	each := func(do func(key []byte, shared int)) {
		var key, before []byte
		for i := p.i; i < p.j; i++ {
			key, before = p.entries.AppendKey(before[:0], i), key
			shared := p.prefix
			if i > p.i {
				shared = commonPrefix(before, key)
			}
			do(key, shared)
		}
	}
	first := true
	each(func(_ []byte, shared int) {
		if !first {
			c.number(uint64(shared - p.prefix))
		}
		first = false
	})
	each(func(key []byte, shared int) { c.number(uint64(len(key) - shared)) })
	each(func(key []byte, shared int) { c.bytes(key[shared:]) })
}

// columns takes the body of a node piece by piece. Without w it counts the bytes only.
type columns struct {
	w    io.Writer
	held []byte
	size int
	err  error
}

// heldBytes is up to how much columns gathers before it writes.
const heldBytes = 64 << 10

func (c *columns) number(n uint64) {
	var b [binary.MaxVarintLen64]byte
	c.bytes(binary.AppendUvarint(b[:0], n))
}

func (c *columns) bytes(b []byte) {
	c.size += len(b)
	if c.w == nil {
		return
	}
	if c.held = append(c.held, b...); len(c.held) >= heldBytes {
		c.flush()
	}
}

func (c *columns) flush() {
	if c.err == nil && len(c.held) > 0 {
		_, c.err = c.w.Write(c.held)
	}
	c.held = c.held[:0]
}
