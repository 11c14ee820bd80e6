package ocdbt

import (
	"math"
	"strings"
)

// Ref says where a value is: in Inline when that is not nil, otherwise Length
// bytes at Offset of File.
type Ref struct {
	Inline []byte
	File   File
	Offset int64
	Length int64 // of the value, inline or not
}

// InlineRef returns the reference of a value that lies in its node. The bytes
// are not copied.
func InlineRef(value []byte) Ref {
	if value == nil {
		value = []byte{}
	}
	return Ref{Inline: value, Length: int64(len(value))}
}

// IsInline reports whether the value lies in its node.
func (r Ref) IsInline() bool { return r.Inline != nil }

// Entry is a key with the place of its value.
type Entry struct {
	Key   string
	Value Ref
}

// node is a decoded B+tree node. It is immutable. Keys are relative to the
// prefix that the path to the node gives; paths of files are already relative
// to the database.
type node struct {
	height int
	files  fileTable
	keys   keyColumn
	leaf   []leafValue // height 0
	inner  []innerRef  // height > 0
	maxKey int         // length of the longest key
	size   int64       // bytes of memory, about
}

func (n *node) len() int { return len(n.keys.end) }

// keyColumn holds keys back to back.
type keyColumn struct {
	bytes string
	end   []uint32
}

func (k keyColumn) at(i int) string {
	if i == 0 {
		return k.bytes[:k.end[0]]
	}
	return k.bytes[k.end[i-1]:k.end[i]]
}

type leafValue struct {
	file   int32 // -1: inline
	offset int64 // of an inline value: in body
	length int64
	inline []byte
}

type innerRef struct {
	file   int32
	prefix uint16 // of the entry's key, which the keys of the child lack
	offset int64
	length int64
	stats  Stats
}

func (n *node) value(i int) Ref {
	v := &n.leaf[i]
	if v.file < 0 {
		return Ref{Inline: v.inline, Length: v.length}
	}
	return Ref{File: n.files[v.file], Offset: v.offset, Length: v.length}
}

func (n *node) child(i int) Node {
	r := &n.inner[i]
	return Node{File: n.files[r.file], Offset: r.offset, Length: r.length, Height: n.height - 1, Stats: r.stats}
}

// decodeNode decodes the node b that ref leads to and checks that it is the one
// meant: height and statistics must agree. The node takes at most about limit
// bytes. The result may alias b.
func decodeNode(b []byte, ref Node, limit int64) (*node, error) {
	at := location{file: ref.File.Path(), offset: ref.Offset}
	n, err := parseNode(b, ref, at, limit)
	if err != nil {
		return nil, err
	}
	if err := n.checkStats(ref, int64(len(b)), at); err != nil {
		return nil, err
	}
	return n, nil
}

// checkStats holds the statistics of the node, which takes length encoded bytes, against
// the reference.
func (n *node) checkStats(ref Node, length int64, at location) error {
	if got := n.stats(length); got != ref.Stats {
		return at.corrupt("statistics are %+v, the reference says %+v", got, ref.Stats)
	}
	return nil
}

func parseNode(b []byte, ref Node, at location, limit int64) (*node, error) {
	body, err := openEnvelope(b, magicNode, limit, at)
	if err != nil {
		return nil, err
	}
	c := &cursor{at: at, b: body}
	n, count, prefixes := beginNode(c, ref, limit)
	if n.height == 0 {
		n.readPlaces(c, count)
		n.readValues(c)
	} else {
		n.readInner(c, count, prefixes)
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	n.size = int64(len(body)) + int64(len(n.keys.bytes)) + int64(count)*64
	return n, nil
}

// beginNode reads what nodes of every height begin with: the files and the keys, and for
// an interior node the prefix lengths of its children.
func beginNode(c *cursor, ref Node, limit int64) (n *node, count int, prefixes []uint16) {
	n = &node{height: int(c.u8("height"))}
	if c.err == nil && n.height != ref.Height {
		c.fail("height is %d, want %d", n.height, ref.Height)
	}
	n.files = readFileTable(c, ref.File.Base, limit)
	n.files.check(c)
	count = c.count(MaxNodeArity, "number of entries")
	if c.err == nil && count == 0 {
		c.fail("no entries")
	}
	return n, count, n.readKeys(c, count, limit)
}

// readKeys reads the columns of keys, and for an interior node the prefix
// lengths of its children.
func (n *node) readKeys(c *cursor, count int, limit int64) []uint16 {
	shared := c.lengths(count-1, "key prefix length")
	suffix := c.lengths(count, "key suffix length")
	var prefixes []uint16
	if n.height > 0 {
		prefixes = c.lengths(count, "subtree prefix length")
	}
	if c.err != nil {
		return nil
	}
	// Few bytes of prefix compression can stand for gigabytes of keys.
	var total, suffixes int64
	for i, length := 0, 0; i < count; i++ {
		if i == 0 {
			length = int(suffix[0])
		} else {
			if int(shared[i-1]) > length {
				c.fail("key %d shares %d bytes with a key of %d", i, shared[i-1], length)
				return nil
			}
			length = int(shared[i-1]) + int(suffix[i])
		}
		if length > MaxKeyLength {
			c.fail("key %d has %d bytes", i, length)
			return nil
		}
		if n.height > 0 && int(prefixes[i]) > length {
			c.fail("subtree prefix of key %d is longer than the key", i)
			return nil
		}
		n.maxKey = max(n.maxKey, length)
		total += int64(length)
		suffixes += int64(suffix[i])
	}
	if total > min(limit, math.MaxUint32) {
		c.err = tooLarge(c.at, limit)
		return nil
	}
	p := c.bytes(int(suffixes), "keys")
	if c.err != nil {
		return nil
	}
	var b strings.Builder
	b.Grow(int(total))
	n.keys.end = make([]uint32, count)
	start := 0
	for i := range count {
		own := p[:suffix[i]]
		p = p[suffix[i]:]
		if i > 0 {
			previous := b.String()[start:]
			keep := previous[:shared[i-1]]
			if string(own) <= previous[len(keep):] {
				c.fail("key %d does not increase", i)
				return nil
			}
			start = b.Len()
			b.WriteString(keep)
		}
		b.Write(own)
		n.keys.end[i] = uint32(b.Len())
	}
	n.keys.bytes = b.String()
	return prefixes
}

// readPlaces reads where the values of a leaf are, up to the first inline value.
func (n *node) readPlaces(c *cursor, count int) {
	length := c.varints(count, maxInt64, "value length")
	kind := c.bytes(count, "value kind")
	if c.err != nil {
		return
	}
	n.leaf = make([]leafValue, count)
	var inline int64
	for i, k := range kind {
		n.leaf[i].length = int64(length[i])
		switch k {
		case 0:
			if length[i] > MaxInlineValue {
				c.fail("inline value %d has %d bytes", i, length[i])
				return
			}
			n.leaf[i].file = -1
			inline += int64(length[i])
		case 1:
		default:
			c.fail("kind of value %d is %d", i, k)
			return
		}
	}
	for i := range n.leaf {
		if v := &n.leaf[i]; v.file >= 0 {
			v.file = n.fileIndex(c)
		}
	}
	for i := range n.leaf {
		if v := &n.leaf[i]; v.file >= 0 {
			v.offset = int64(c.varint(maxInt64, "value offset"))
			if v.offset > maxInt64-v.length {
				c.fail("value %d: offset and length exceed 63 bits", i)
			}
		}
	}
	if c.err == nil && inline != int64(c.remaining()) {
		c.fail("inline values have %d bytes, %d are left", inline, c.remaining())
	}
}

// readValues reads the inline values of a leaf.
func (n *node) readValues(c *cursor) {
	for i := 0; i < len(n.leaf) && c.err == nil; i++ {
		if v := &n.leaf[i]; v.file < 0 {
			v.inline = c.bytes(int(v.length), "inline value")
		}
	}
}

func (n *node) fileIndex(c *cursor) int32 {
	i := c.varint(math.MaxUint64, "file")
	if c.err == nil && i >= uint64(len(n.files)) {
		c.fail("file %d of %d", i, len(n.files))
	}
	if c.err != nil {
		return 0
	}
	return int32(i)
}

func (n *node) readInner(c *cursor, count int, prefixes []uint16) {
	if c.err != nil || count > c.remaining() {
		c.fail("%d entries, with %d bytes left", count, c.remaining())
		return
	}
	n.inner = make([]innerRef, count)
	for i := range n.inner {
		n.inner[i].prefix = prefixes[i]
		n.inner[i].file = n.fileIndex(c)
	}
	for i := range n.inner {
		n.inner[i].offset = int64(c.varint(maxInt64, "node offset"))
	}
	for i := range n.inner {
		r := &n.inner[i]
		r.length = int64(c.varint(maxInt64, "node length"))
		if c.err == nil && (r.offset > maxInt64-r.length || r.length < minEnvelope) {
			c.fail("child %d: %d bytes at offset %d", i, r.length, r.offset)
		}
	}
	for i := range n.inner {
		n.inner[i].stats.Keys = c.varint(math.MaxUint64, "number of keys")
	}
	for i := range n.inner {
		n.inner[i].stats.TreeBytes = c.varint(math.MaxUint64, "number of tree bytes")
	}
	for i := range n.inner {
		n.inner[i].stats.IndirectBytes = c.varint(math.MaxUint64, "number of indirect value bytes")
	}
}

// stats sums what lies below the node, which takes length encoded bytes.
func (n *node) stats(length int64) Stats {
	s := Stats{TreeBytes: uint64(length)}
	if n.height == 0 {
		s.Keys = uint64(len(n.leaf))
		for i := range n.leaf {
			if n.leaf[i].file >= 0 {
				s.IndirectBytes = saturate(s.IndirectBytes, uint64(n.leaf[i].length))
			}
		}
		return s
	}
	for i := range n.inner {
		s.add(n.inner[i].stats)
	}
	return s
}

// search returns the index of the last key that is not greater than key, or -1,
// and whether it is equal.
func (n *node) search(key string) (int, bool) {
	low, high := 0, n.len()
	for low < high {
		mid := int(uint(low+high) >> 1)
		if n.keys.at(mid) <= key {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low - 1, low > 0 && n.keys.at(low-1) == key
}
