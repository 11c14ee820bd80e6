// Package lmdb reads the files of LMDB, data.mdb, without the library.
//
// A file is a sequence of pages. The first two are meta pages; the one with the newer transaction
// counts. It names the root page of a B+ tree, whose leaves hold keys and values in the order of
// the keys. A value that is too long for a leaf has pages of its own.
//
//	page    0- 8 its number
//	       10-12 flags: branch, leaf, overflow or meta
//	       12-16 the bounds of its free room, or for overflow the number of pages
//	       16-   the offsets of its nodes; the nodes lie at the end
//	node    0- 4 length of the value, or with the next two bytes the number of a child
//	        4- 6 flags: the value has pages of its own, or is a database
//	        6- 8 length of the key
//	        8-   the key, and the value or the number of its first page
//
// [DB.Scan] walks the tree once and says where each value lies, without reading values that have
// pages of their own. The file must not be written meanwhile. Files of 64-bit little-endian systems
// are read, with any page size. Keys with several values are refused.
package lmdb

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	magic       = 0xbeefc0de
	dataVersion = 1
	headerSize  = 16 // of a page
	nodeSize    = 8  // of a node before its key
	metaSize    = headerSize + 136
	recordSize  = 48 // of a database in a meta page
	maxDepth    = 32
	minPage     = 256
	maxPage     = 1 << 16
	noPage      = math.MaxUint64
)

// Flags of pages.
const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageOverflow = 0x04
	pageMeta     = 0x08
	pageDirty    = 0x10
)

// Flags of nodes.
const (
	nodeBig        = 0x01 // the value has pages of its own
	nodeDatabase   = 0x02 // the value is a database
	nodeDuplicates = 0x04 // the value is several values
)

// Flags of databases.
const (
	keysReversed = 0x02
	severalEach  = 0x04
	keysIntegers = 0x08
)

var le = binary.LittleEndian

// DB is a database in a file. It is safe for concurrent use.
type DB struct {
	r        io.ReaderAt
	size     int64 // of the file
	pageSize int64
	pages    uint64 // that the newest transaction knows
	flags    uint16
	depth    int
	entries  uint64
	root     uint64
}

// Entry is a key and where its value lies in the file.
type Entry struct {
	Key            []byte // valid until the function that got the Entry returns
	Offset, Length int64
}

// Open reads the meta pages of a file of the given size and returns its main database. Fails with
// errs.Corrupt for a file that is not LMDB's and with errs.Unsupported for one of another system.
func Open(r io.ReaderAt, size int64) (*DB, error) {
	d, older, err := readMeta(r, size, 0, 0)
	if err != nil {
		return nil, err
	}
	e, newer, err := readMeta(r, size, 1, d.pageSize)
	if err != nil {
		return nil, err
	}
	if e.pageSize != d.pageSize {
		return nil, damaged(1, fmt.Sprintf("pages of %d bytes, as page 0 says", d.pageSize), fmt.Sprint(e.pageSize))
	}
	if newer > older {
		d = e
	}
	return d, d.check()
}

// Detect reports whether a file begins like one of LMDB.
func Detect(head []byte) bool {
	return len(head) >= headerSize+4 && le.Uint32(head[headerSize:]) == magic
}

// readMeta reads the meta page at an offset.
func readMeta(r io.ReaderAt, size, page, off int64) (*DB, uint64, error) {
	b := make([]byte, metaSize)
	if off > size || size-off < metaSize {
		return nil, 0, damaged(uint64(page), fmt.Sprintf("a meta page, at least %d bytes", metaSize),
			fmt.Sprintf("a file of %d bytes", size))
	}
	if err := readFull(r, b, off); err != nil {
		return nil, 0, err
	}
	m := b[headerSize:]
	if got := le.Uint32(m); got != magic {
		other := ""
		switch {
		case binary.BigEndian.Uint32(m) == magic:
			other = "a file of a big-endian system"
		case le.Uint32(b[12:]) == magic:
			other = "a file of a 32-bit system"
		}
		if other != "" {
			return nil, 0, &errs.Error{Kind: errs.Unsupported, Op: "lmdb", Want: "a file of a 64-bit little-endian system",
				Got:    other,
				Remedy: "copy the database with mdb_dump and mdb_load"}
		}
		return nil, 0, damaged(uint64(page), fmt.Sprintf("the magic number %08x", uint32(magic)), fmt.Sprintf("%08x", got))
	}
	if v := le.Uint32(m[4:]); v != dataVersion {
		return nil, 0, &errs.Error{Kind: errs.Unsupported, Op: "lmdb", Want: fmt.Sprintf("version %d of the file",
			dataVersion), Got: fmt.Sprint(v)}
	}
	if n, flags := le.Uint64(b), le.Uint16(b[10:]); flags&pageMeta == 0 || n != uint64(page) {
		return nil, 0, damaged(uint64(page), "a meta page of that number", fmt.Sprintf("page %d, flags %#x", n, flags))
	}
	pageSize := int64(le.Uint32(m[24:])) // the free list's database holds it
	if pageSize < minPage || pageSize > maxPage || pageSize&(pageSize-1) != 0 {
		return nil, 0, damaged(uint64(page), fmt.Sprintf("a page size of %d to %d, a power of 2", minPage, maxPage),
			fmt.Sprint(pageSize))
	}
	d := &DB{r: r, size: size, pageSize: pageSize}
	d.read(m[24+recordSize:])
	last := le.Uint64(m[24+2*recordSize:])
	if last >= uint64(math.MaxInt64/pageSize) {
		return nil, 0, damaged(uint64(page), "a last page within a file", fmt.Sprint(last))
	}
	d.pages = min(last+1, uint64(size/pageSize)) // it bounds the walk through a damaged tree
	return d, le.Uint64(m[32+2*recordSize:]), nil
}

// read sets what a database in a meta page, or in a node, says.
func (d *DB) read(b []byte) {
	d.flags, d.depth = le.Uint16(b[4:]), int(le.Uint16(b[6:]))
	d.entries, d.root = le.Uint64(b[32:]), le.Uint64(b[40:])
}

func (d *DB) check() error {
	switch {
	case d.flags&severalEach != 0:
		return &errs.Error{Kind: errs.Unsupported, Op: "lmdb", Want: "one value for each key",
			Got: "a database with several (MDB_DUPSORT)"}
	case d.root == noPage && d.entries != 0, d.root != noPage && (d.depth < 1 || d.depth > maxDepth):
		return damaged(d.root, fmt.Sprintf("a tree with 1 to %d levels", maxDepth),
			fmt.Sprintf("%d levels, %d entries", d.depth, d.entries))
	case d.entries > uint64(d.size)/nodeSize:
		return damaged(d.root, fmt.Sprintf("entries that fit into a file of %d bytes", d.size), fmt.Sprint(d.entries))
	}
	return nil
}

// Len returns the number of entries.
func (d *DB) Len() int64 { return int64(d.entries) }

// PageSize returns the size of a page in bytes.
func (d *DB) PageSize() int { return int(d.pageSize) }

// Scan calls yield for each entry in the order of the keys. An error of yield ends it. A page that
// is damaged is an error of kind errs.Corrupt that names the page. A database within the main one
// is an error of kind errs.Unsupported that names it.
func (d *DB) Scan(ctx context.Context, yield func(Entry) error) error {
	w := walker{d: d}
	w.leaf = func(key []byte, flags uint16, value []byte, off int64) error {
		switch {
		case flags&nodeDatabase != 0:
			return &errs.Error{Kind: errs.Unsupported, Op: "lmdb", Want: "keys and values",
				Got: fmt.Sprintf("a database named %q", key), Remedy: "copy that database into a file of its own"}
		case flags&nodeBig == 0:
			return yield(Entry{key, off, int64(len(value))})
		}
		length := int64(le.Uint32(w.node))
		at, err := d.overflow(le.Uint64(value), length)
		if err != nil {
			return err
		}
		return yield(Entry{key, at, length})
	}
	if err := w.walk(ctx); err != nil {
		return err
	}
	if w.seen != d.entries {
		return damaged(d.root, fmt.Sprintf("%d entries in the tree", d.entries), fmt.Sprint(w.seen))
	}
	return nil
}

// overflow returns where a value lies that begins on a page of its own.
func (d *DB) overflow(page uint64, length int64) (int64, error) {
	pages := uint64(headerSize+length+d.pageSize-1) / uint64(d.pageSize)
	if page < 2 || page >= d.pages || pages > d.pages-page || int64(page)*d.pageSize+headerSize+length > d.size {
		return 0, damaged(page, fmt.Sprintf("%d pages for a value, within %d pages and %d bytes", pages, d.pages, d.size),
			"an end behind them")
	}
	return int64(page)*d.pageSize + headerSize, nil
}

// Lead returns how many bytes directly before a value at an offset describe it: 16 for a value with
// pages of its own, else 0. [DB.CheckLead] checks them.
func (d *DB) Lead(offset int64) int {
	if offset%d.pageSize == headerSize {
		return headerSize
	}
	return 0
}

// CheckLead checks the Lead of a value.
func (d *DB) CheckLead(lead []byte, offset, length int64) error {
	if len(lead) == 0 {
		return nil
	}
	page := uint64(offset / d.pageSize)
	need := uint64(headerSize+length+d.pageSize-1) / uint64(d.pageSize)
	number, flags, pages := le.Uint64(lead), le.Uint16(lead[10:]), uint64(le.Uint32(lead[12:]))
	if number != page || flags&^pageDirty != pageOverflow || pages < need {
		return damaged(page, fmt.Sprintf("page %d, flags %#x, for %d pages", page, pageOverflow, need),
			fmt.Sprintf("page %d, flags %#x, for %d pages", number, flags, pages))
	}
	return nil
}

// Value returns the value of an entry.
func (d *DB) Value(e Entry) ([]byte, error) {
	if e.Offset < headerSize || e.Length < 0 || e.Offset > d.size || e.Length > d.size-e.Offset {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "lmdb", Want: fmt.Sprintf("a value within %d bytes", d.size),
			Got: fmt.Sprintf("%d bytes at %d", e.Length, e.Offset)}
	}
	lead := d.Lead(e.Offset)
	b := make([]byte, int64(lead)+e.Length)
	if err := readFull(d.r, b, e.Offset-int64(lead)); err != nil {
		return nil, err
	}
	return b[lead:], d.CheckLead(b[:lead], e.Offset, e.Length)
}

// walker walks a tree.
type walker struct {
	d    *DB
	leaf func(key []byte, flags uint16, value []byte, off int64) error
	node []byte // of the entry that leaf is called for
	seen uint64 // entries
	read uint64 // pages
	last []byte // key
	buf  [maxDepth][]byte
}

func (w *walker) walk(ctx context.Context) error {
	if w.d.root == noPage {
		return nil
	}
	return w.page(ctx, w.d.root, 0)
}

// page walks the part of the tree below a page.
func (w *walker) page(ctx context.Context, number uint64, level int) error {
	d := w.d
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.read++; w.read > d.pages { // a page is its own descendant, or has two parents
		return damaged(number, fmt.Sprintf("a tree of at most %d pages", d.pages), "more")
	}
	if number < 2 || number >= d.pages || int64(number+1)*d.pageSize > d.size {
		return damaged(number, fmt.Sprintf("a page below %d in a file of %d bytes", d.pages, d.size), "a page outside")
	}
	if w.buf[level] == nil {
		w.buf[level] = make([]byte, d.pageSize)
	}
	b := w.buf[level]
	at := int64(number) * d.pageSize
	if err := readFull(d.r, b, at); err != nil {
		return err
	}
	kind := uint16(pageBranch)
	if level == d.depth-1 {
		kind = pageLeaf
	}
	lower, upper := int(le.Uint16(b[12:])), int(le.Uint16(b[14:]))
	if upper == 0 && d.pageSize == maxPage {
		upper = maxPage
	}
	if n, flags := le.Uint64(b), le.Uint16(b[10:])&^pageDirty; n != number || flags != kind {
		return damaged(number, fmt.Sprintf("page %d, flags %#x", number, kind), fmt.Sprintf("page %d, flags %#x", n, flags))
	}
	if lower < headerSize || lower > upper || upper > len(b) || lower%2 != 0 {
		return damaged(number, fmt.Sprintf("free room within %d to %d", headerSize, len(b)),
			fmt.Sprintf("%d to %d", lower, upper))
	}
	for i := headerSize; i < lower; i += 2 {
		off := int(le.Uint16(b[i:]))
		if off < upper || off > len(b)-nodeSize || int(le.Uint16(b[off+6:])) > len(b)-nodeSize-off {
			return damaged(number, fmt.Sprintf("node %d within %d to %d", (i-headerSize)/2, upper, len(b)),
				fmt.Sprintf("offset %d", off))
		}
		node := b[off:]
		end := nodeSize + int(le.Uint16(node[6:]))
		key := node[nodeSize:end]
		if kind == pageBranch {
			child := uint64(le.Uint16(node)) | uint64(le.Uint16(node[2:]))<<16 | uint64(le.Uint16(node[4:]))<<32
			if err := w.page(ctx, child, level+1); err != nil {
				return err
			}
			continue
		}
		if err := w.entry(number, node, key, at+int64(off+end)); err != nil {
			return err
		}
	}
	return nil
}

// entry passes a node of a leaf on.
func (w *walker) entry(number uint64, node, key []byte, off int64) error {
	flags, rest := le.Uint16(node[4:]), node[nodeSize+len(key):]
	length := uint64(le.Uint32(node))
	switch {
	case flags&nodeDuplicates != 0:
		return &errs.Error{Kind: errs.Unsupported, Op: "lmdb", Subject: fmt.Sprintf("page %d", number),
			Want: "one value for each key", Got: fmt.Sprintf("several for %q", key)}
	case flags&nodeBig != 0:
		length = 8
	case flags&nodeDatabase != 0 && length != recordSize:
		return damaged(number, fmt.Sprintf("a database of %d bytes", recordSize), fmt.Sprint(length))
	}
	if length > uint64(len(rest)) {
		return damaged(number, fmt.Sprintf("a value within the page, key %q", key),
			fmt.Sprintf("%d bytes where %d are left", length, len(rest)))
	}
	if w.seen > 0 && w.d.compare(w.last, key) >= 0 {
		return damaged(number, fmt.Sprintf("a key after %q", w.last), fmt.Sprintf("%q", key))
	}
	if w.seen++; w.seen > w.d.entries {
		return damaged(number, fmt.Sprintf("%d entries in the tree", w.d.entries), "more")
	}
	w.last, w.node = append(w.last[:0], key...), node
	return w.leaf(key, flags, rest[:length], off)
}

// compare orders keys as the database does.
func (d *DB) compare(a, b []byte) int {
	switch {
	case d.flags&(keysReversed|keysIntegers) == 0:
		return bytes.Compare(a, b)
	case d.flags&keysIntegers != 0 && len(a) != len(b):
		return len(a) - len(b)
	}
	for i := range min(len(a), len(b)) { // from the last byte, which counts most
		if x, y := a[len(a)-1-i], b[len(b)-1-i]; x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

// readFull fills b from an offset on.
func readFull(r io.ReaderAt, b []byte, off int64) error {
	n, err := r.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// damaged returns the error of a page.
func damaged(page uint64, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "lmdb", Subject: fmt.Sprintf("page %d", page), Want: want, Got: got,
		Remedy: "the file is damaged, or another process writes it; mdb_stat checks it"}
}
