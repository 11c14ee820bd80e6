package lmdb

import (
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	maxKey     = 511
	writtenMap = 1 << 40 // map size for readers that map the whole file
)

// Writer writes a file once, from entries in the order of their keys. LMDB reads the file. Close
// ends it.
type Writer struct {
	w        io.WriterAt
	pageSize int
	next     uint64 // page
	levels   []*level
	last     []byte
	entries  uint64
	kinds    [3]uint64 // branch, leaf and overflow pages
	err      error
}

// level is the page of a level of the tree that is being filled; level 0 is the leaves.
type level struct {
	nodes [][]byte
	size  int
	first []byte // key of the first node
	count int    // pages written
}

// NewWriter returns a Writer that uses pages of a size from 512 to 32768, a power of 2.
func NewWriter(w io.WriterAt, pageSize int) (*Writer, error) {
	if pageSize < 512 || pageSize > 1<<15 || pageSize&(pageSize-1) != 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "lmdb.NewWriter",
			Want: "a page size of 512 to 32768, a power of 2", Got: fmt.Sprint(pageSize)}
	}
	return &Writer{w: w, pageSize: pageSize, next: 2}, nil
}

// Add writes an entry. Its key has 1 to 511 bytes and comes after the keys before.
func (w *Writer) Add(key, value []byte) error {
	room := (w.pageSize-headerSize)/2&^1 - 2 // a leaf holds at least two nodes
	switch {
	case w.err != nil:
		return w.err
	case len(key) == 0 || len(key) > maxKey || nodeSize+len(key)+8 > room:
		return &errs.Error{Kind: errs.Invalid, Op: "lmdb.Writer.Add", Want: fmt.Sprintf("a key of 1 to %d bytes",
			min(maxKey, room-nodeSize-8)),
			Got: fmt.Sprint(len(key))}
	case w.entries > 0 && string(key) <= string(w.last):
		return &errs.Error{Kind: errs.Invalid, Op: "lmdb.Writer.Add", Want: fmt.Sprintf("a key after %q", w.last),
			Got: fmt.Sprintf("%q", key)}
	case int64(len(value)) > 1<<31:
		return &errs.Error{Kind: errs.Invalid, Op: "lmdb.Writer.Add", Want: "a value of at most 2 GiB",
			Got: fmt.Sprint(len(value))}
	}
	w.last = append(w.last[:0], key...)
	w.entries++
	node := make([]byte, nodeSize, nodeSize+len(key)+len(value)+1)
	le.PutUint32(node, uint32(len(value)))
	le.PutUint16(node[6:], uint16(len(key)))
	node = append(node, key...)
	if len(node)+len(value) > room {
		le.PutUint16(node[4:], nodeBig)
		node = le.AppendUint64(node, w.overflow(value))
	} else {
		node = append(node, value...)
	}
	w.add(0, key, node)
	return w.err
}

// overflow writes a value on pages of its own and returns the first.
func (w *Writer) overflow(value []byte) uint64 {
	pages := (headerSize + len(value) + w.pageSize - 1) / w.pageSize
	b := make([]byte, pages*w.pageSize)
	le.PutUint64(b, w.next)
	le.PutUint16(b[10:], pageOverflow)
	le.PutUint32(b[12:], uint32(pages))
	copy(b[headerSize:], value)
	w.kinds[2] += uint64(pages)
	return w.write(b)
}

// write writes pages at the end of the file.
func (w *Writer) write(b []byte) uint64 {
	page := w.next
	if w.err == nil {
		_, w.err = w.w.WriteAt(b, int64(page)*int64(w.pageSize))
	}
	w.next += uint64(len(b) / w.pageSize)
	return page
}

// add adds a node to a level.
func (w *Writer) add(i int, key, node []byte) {
	if i == len(w.levels) {
		w.levels = append(w.levels, &level{})
	}
	l := w.levels[i]
	if len(node)%2 != 0 {
		node = append(node, 0)
	}
	if headerSize+l.size+len(node)+2 > w.pageSize {
		w.flush(i)
	}
	if len(l.nodes) == 0 {
		l.first = append([]byte(nil), key...)
	}
	l.nodes = append(l.nodes, node)
	l.size += len(node) + 2
}

// flush writes the page of a level and adds it to the level above.
func (w *Writer) flush(i int) {
	l := w.levels[i]
	first, page := l.first, w.emit(i)
	node := make([]byte, nodeSize, nodeSize+len(first)+1)
	le.PutUint32(node, uint32(page))
	le.PutUint16(node[4:], uint16(page>>32))
	le.PutUint16(node[6:], uint16(len(first)))
	w.add(i+1, first, append(node, first...))
}

// emit writes the page of a level.
func (w *Writer) emit(i int) uint64 {
	l := w.levels[i]
	b := make([]byte, w.pageSize)
	le.PutUint64(b, w.next)
	flags, kind := uint16(pageBranch), 0
	if i == 0 {
		flags, kind = pageLeaf, 1
	}
	le.PutUint16(b[10:], flags)
	upper := w.pageSize
	for j, node := range l.nodes {
		upper -= len(node)
		copy(b[upper:], node)
		le.PutUint16(b[headerSize+2*j:], uint16(upper))
	}
	le.PutUint16(b[12:], uint16(headerSize+2*len(l.nodes)))
	le.PutUint16(b[14:], uint16(upper))
	w.kinds[kind]++
	l.nodes, l.size = l.nodes[:0], 0
	l.count++
	return w.write(b)
}

// Close writes the rest of the tree and the meta pages. It does not close the file.
func (w *Writer) Close() error {
	root, depth := uint64(noPage), 0
	for i := 0; i < len(w.levels); i++ {
		if l := w.levels[i]; i == len(w.levels)-1 && l.count == 0 {
			root, depth = w.emit(i), i+1
			break
		}
		w.flush(i)
	}
	meta := make([]byte, 2*w.pageSize)
	for i := range 2 {
		b := meta[i*w.pageSize:]
		le.PutUint64(b, uint64(i))
		le.PutUint16(b[10:], pageMeta)
		m := b[headerSize:]
		le.PutUint32(m, magic)
		le.PutUint32(m[4:], dataVersion)
		le.PutUint64(m[16:], writtenMap)
		le.PutUint32(m[24:], uint32(w.pageSize))
		le.PutUint16(m[24+4:], keysIntegers)
		le.PutUint64(m[24+40:], noPage) // the free list is empty
		d := m[24+recordSize:]
		le.PutUint16(d[6:], uint16(depth))
		for k, n := range w.kinds {
			le.PutUint64(d[8+8*k:], n)
		}
		le.PutUint64(d[32:], w.entries)
		le.PutUint64(d[40:], root)
		if i == 0 {
			le.PutUint64(d[40:], noPage)
			clear(d[6:40])
		}
		le.PutUint64(m[24+2*recordSize:], w.next-1)
		le.PutUint64(m[32+2*recordSize:], uint64(i))
	}
	if w.err == nil {
		_, w.err = w.w.WriteAt(meta, 0)
	}
	return w.err
}
