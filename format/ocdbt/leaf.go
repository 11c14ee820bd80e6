package ocdbt

import (
	"context"
	"encoding/binary"
	"io"
	"iter"

	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// Entries are entries in the order of their keys, without duplicates. What a method
// returns for an entry is always the same. Methods may be called concurrently.
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

// valueOf returns the value of entry i: where it is, if the entries lie in memory, or in held.
func valueOf(l Entries, i int, held *Ref) *Ref {
	if list, ok := l.(entryList); ok {
		return &list[i].Value
	}
	*held = l.Value(i)
	return held
}

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
		var held Ref
		for k := i; k < j; k++ {
			if v := valueOf(entries, k, &held); !v.IsInline() && !yield(v.File) {
				return
			}
		}
	})}
}

// stats returns the statistics of the node without its own size.
func (p *leafPart) stats() Stats {
	s := Stats{Keys: uint64(p.j - p.i)}
	var held Ref
	for i := p.i; i < p.j; i++ {
		if v := valueOf(p.entries, i, &held); !v.IsInline() {
			s.IndirectBytes = saturate(s.IndirectBytes, uint64(v.Length))
		}
	}
	return s
}

// write writes the body of the node, column by column.
func (p *leafPart) write(c *columns) {
	var held Ref
	c.bytes(p.files.append([]byte{0}))
	c.number(uint64(p.j - p.i))
	p.keys(c)
	for i := p.i; i < p.j; i++ {
		c.number(uint64(valueOf(p.entries, i, &held).Length))
	}
	for i := p.i; i < p.j; i++ {
		kind := uint64(1)
		if v := valueOf(p.entries, i, &held); v.IsInline() {
			kind = 0
		}
		c.number(kind)
	}
	for i := p.i; i < p.j; i++ {
		if v := valueOf(p.entries, i, &held); !v.IsInline() {
			c.number(p.files.index[v.File])
		}
	}
	for i := p.i; i < p.j; i++ {
		if v := valueOf(p.entries, i, &held); !v.IsInline() {
			c.number(uint64(v.Offset))
		}
	}
	for i := p.i; i < p.j; i++ {
		if v := valueOf(p.entries, i, &held); v.IsInline() {
			c.bytes(v.Inline)
		}
	}
}

// keys writes for each key how many bytes it shares with the key before, how many bytes are its
// own, and these bytes.
func (p *leafPart) keys(c *columns) {
	if list, ok := p.entries.(entryList); ok {
		p.listedKeys(list[p.i:p.j], c)
		return
	}
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

// listedKeys works like keys for a list in memory, whose keys need not be copied.
func (p *leafPart) listedKeys(list []Entry, c *columns) {
	shared := func(i int) int {
		if i == 0 {
			return p.prefix
		}
		return commonPrefix(list[i-1].Key, list[i].Key)
	}
	for i := 1; i < len(list); i++ {
		c.number(uint64(shared(i) - p.prefix))
	}
	for i := range list {
		c.number(uint64(len(list[i].Key) - shared(i)))
	}
	var own []byte
	for i := range list {
		own = append(own[:0], list[i].Key[shared(i):]...)
		c.bytes(own)
	}
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

// largeNode is from how many bytes on a leaf is decoded while it is walked over, in a
// pass that comes to it once.
const largeNode = zframe.StreamFrom

// pass is List of everything, which keeps no node for later and has no large leaf in
// memory as a whole. The inline values that it yields may change when it goes on.
func (db *DB) pass(ctx context.Context) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if !db.version.Empty() {
			w := walker{db: db, yield: yield, seen: map[location]bool{}, once: true}
			w.walk(ctx, step{ref: db.version.Root}, "")
		}
	}
}

// decodeLarge is decodeNode for a pass. The values of a leaf whose body is compressed and
// larger than from bytes are still to be read from the cursor that it returns; else it
// returns the node with all that is in it, and no cursor.
func decodeLarge(b []byte, ref Node, limit int64, from int) (*node, *cursor, error) {
	at := location{file: ref.File.Path(), offset: ref.Offset}
	var c *cursor
	if ref.Height == 0 {
		var err error
		if c, err = streamEnvelope(b, magicNode, limit, from, at); err != nil {
			return nil, nil, err
		}
	}
	if c == nil {
		n, err := decodeNode(b, ref, limit)
		return n, nil, err
	}
	n, count, _ := beginNode(c, ref, limit)
	if n.readPlaces(c, count); c.err != nil {
		return nil, nil, c.err
	}
	return n, c, n.checkStats(ref, int64(len(b)), at)
}

// streamEnvelope is openEnvelope of a large compressed object, whose body is decoded as
// it is read. It returns nil where the object is not one that is worth it.
func streamEnvelope(b []byte, magic uint32, limit int64, from int, at location) (*cursor, error) {
	body, method, err := unwrap(b, magic, at)
	if err != nil || method != CompressionZstd {
		return nil, err
	}
	r, size, err := zframe.NewReader(body, from, int(min(limit, maxInt)))
	switch {
	case err == zframe.ErrSize:
		return nil, tooLarge(at, limit)
	case err != nil:
		return nil, at.corrupt("%v", err)
	case r == nil:
		return nil, nil
	}
	return &cursor{at: at, more: r, left: size}, nil
}
