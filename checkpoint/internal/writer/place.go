package writer

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// Sizes that decide where arrays lie.
const (
	unitBytes = subChunkBytes + 64<<10 // about one write: a sub-chunk and what lies around it
	fileBytes = 16 << 20               // size from which another data file pays
	maxFiles  = 4                      // data files of an item
)

// Values of piece.sub that are not a sub-chunk.
const (
	wholeShard = -1
	shardIndex = -2
)

// piece is what is encoded at once: a chunk, a sub-chunk of it, its index, a
// range of a raw chunk, or bytes that are known.
type piece struct {
	chunk *chunk
	sub   int
	known []byte // known bytes; then there is no chunk
	off   int64  // in the file
	size  int
	state pieceState
	sum   uint32 // of its bytes, once they are encoded
}

// pieceState is the state of a piece in a snapshot.
type pieceState uint8

const (
	elsewhere pieceState = iota // its elements are still with the source
	copied                      // its elements are where they will be written from
	encoded                     // it is complete there
)

// first reports whether the file holds an array that is copied before others.
func (f *file) first() bool {
	return slices.ContainsFunc(f.pieces, func(p *piece) bool { return p.chunk != nil && p.chunk.array.first })
}

// unit is what is written at once: whole blocks of a file, except at its end.
type unit struct {
	off     int64
	size    int
	pieces  []*piece
	tail    []byte         // follows the pieces
	placed  []byte         // memory of the pieces in a snapshot
	hash    manifest.Hash  // of its bytes, when the file is hashed
	digests []manifest.Run // of its bytes, when the checkpoint is signed
}

// file is one data file. It holds the pieces in ascending order, zeros between
// them, then the tail.
//
//	┌───────────────────────────┬─────────────┬─────────────┬──────┬─ … ─┬───────┐
//	│ small arrays, one shard   │ sub-chunk 0 │ sub-chunk 1 │ index│     │ nodes │
//	│ behind the other          │ of a large  │             │      │     │       │
//	└───────────────────────────┴─────────────┴─────────────┴──────┴─ … ─┴───────┘
//	0                           4096·k        4096·l                     4096·m
//	└─ unit 0 ──────────────────┴─ unit 1 ────┴─ unit 2 ───────────┴─ … ─┴───────┘
type file struct {
	name   string // below the directory of the item
	head   []byte // what it begins with, when that is a document
	size   int64
	pieces []*piece
	units  []*unit

	hashed bool // its hash is recorded, so that later checkpoints may take it over
	age    int  // when it was taken over: see manifest.File

	written bool   // as it was encoded
	crc     uint32 // then

	// Set when it is the turn of the file to be written.
	item string // of which it holds arrays
	path string // below the checkpoint
	made sync.Once
	out  store.Writer
	err  error // of making it

	// Owned by the schedule.
	stage   stage
	claimed int // units of this stage that a worker has taken or finished
	done    int // finished units of this stage
	active  int // workers
}

// place assigns the arrays to data files. Arrays that are copied first get separate files.
func place(arrays []*array, o *Options) []*file {
	deal := func(arrays []*array) []*file {
		if most := o.maxFileBytes(); most > 0 {
			return group(arrays, o.FileBytes, most)
		}
		return spread(arrays, o.FileBytes)
	}
	first, rest := []*array(nil), []*array(nil)
	for _, a := range arrays {
		if a.first {
			first = append(first, a)
		} else {
			rest = append(rest, a)
		}
	}
	if len(first) == 0 || len(rest) == 0 {
		return deal(arrays)
	}
	files := slices.DeleteFunc(deal(first), func(f *file) bool { return f.size == 0 })
	return append(files, deal(rest)...)
}

// spread assigns the arrays to at most maxFiles files of similar size, the largest first, and
// places them in each file in the given order.
func spread(arrays []*array, perFile int64) []*file {
	var stored []*array
	total := int64(0)
	for _, a := range arrays {
		if a.size > 0 {
			stored = append(stored, a)
			total += int64(a.size)
		}
	}
	n := max(1, min(maxFiles, int(total/perFile), len(stored)))
	files := make([]*file, n)
	for i := range files {
		files[i] = &file{}
	}
	load := make([]int64, n)
	bySize := slices.Clone(stored)
	slices.SortStableFunc(bySize, func(a, b *array) int { return cmp.Compare(b.size, a.size) })
	for _, a := range bySize {
		i := 0
		for k := range load {
			if load[k] < load[i] {
				i = k
			}
		}
		a.file = files[i]
		load[i] += int64(a.size)
	}
	for _, a := range stored {
		a.file.placeArray(a)
	}
	return files
}

func alignUp(n int64) int64 { return (n + alignment - 1) &^ (alignment - 1) }

// placeArray appends the chunks of an array whose sizes are known.
func (f *file) placeArray(a *array) {
	for i := range a.chunks {
		if c := &a.chunks[i]; c.inFile() {
			f.place(c)
		}
	}
}

// place appends a chunk.
func (f *file) place(c *chunk) {
	c.file, c.offset = f, f.size
	if c.size >= alignFrom || f.full(f.size+int64(c.size)) {
		c.offset = alignUp(f.size)
	}
	enc, cell := c.array.enc, c.cell()
	if c.undivided() {
		f.add(&piece{chunk: c, sub: wholeShard, off: c.offset, size: c.size})
		return
	}
	for i := range enc.SubChunks() {
		if off, n, ok := enc.SubChunk(cell, i); ok {
			f.add(&piece{chunk: c, sub: i, off: c.offset + int64(off), size: n})
		}
	}
	if off, n, ok := enc.IndexPlace(cell); ok && n > 0 {
		f.add(&piece{chunk: c, sub: shardIndex, off: c.offset + int64(off), size: n})
	}
}

// undivided reports whether a chunk is one piece: it is small, it would have too many pieces, or it
// is not sharded.
func (c *chunk) undivided() bool {
	enc := c.array.enc
	if n := enc.SubChunks(); n > 1 {
		return c.size <= unitBytes
	}
	_, index, _ := enc.IndexPlace(c.cell())
	return c.size < alignFrom || index == 0
}

// placeBytes appends bytes that are known.
func (f *file) placeBytes(b []byte) {
	f.stream(len(b), func(from, to int) *piece { return &piece{known: b[from:to]} })
}

// placeRaw appends a raw chunk directly behind the previous content.
func (f *file) placeRaw(c *chunk) {
	c.file, c.offset = f, f.size
	f.stream(c.size, func(int, int) *piece {
		c.share, c.shares = append(c.share, 0), append(c.shares, nil)
		return &piece{chunk: c, sub: len(c.share) - 1}
	})
}

// stream appends n bytes as pieces that are cut where units end: at multiples of
// subChunkBytes.
func (f *file) stream(n int, next func(from, to int) *piece) {
	for at := 0; at < n; {
		if f.size%subChunkBytes == 0 {
			f.cutUnit(f.size)
		}
		end := min(n, at+subChunkBytes-int(f.size%subChunkBytes))
		p := next(at, end)
		p.off, p.size = f.size, end-at
		u := f.units[len(f.units)-1]
		u.pieces, f.pieces = append(u.pieces, p), append(f.pieces, p)
		f.size += int64(end - at)
		u.size, at = int(f.size-u.off), end
	}
}

// full reports whether the last unit must not grow to end.
func (f *file) full(end int64) bool {
	n := len(f.units)
	return n > 0 && end-f.units[n-1].off > unitBytes
}

// add appends a piece: to the last unit, unless that is full and the piece
// begins on a block.
func (f *file) add(p *piece) {
	end := p.off + int64(p.size)
	if len(f.units) == 0 || p.off%alignment == 0 && f.full(end) {
		f.cutUnit(p.off)
	}
	u := f.units[len(f.units)-1]
	u.pieces = append(u.pieces, p)
	u.size = int(end - u.off)
	f.pieces = append(f.pieces, p)
	f.size = end
}

// cutUnit begins a unit at off and extends the one before to it.
func (f *file) cutUnit(off int64) {
	if n := len(f.units); n > 0 {
		f.units[n-1].size = int(off - f.units[n-1].off)
	}
	f.units = append(f.units, &unit{off: off})
}

// joinBytes is the largest size of a tail that shares the block and the write of the bytes before
// it.
const joinBytes = 64 << 10

// beginTail reserves the place of a tail, which may be short or long, and returns its offset.
func (f *file) beginTail(short bool) (offset int64) {
	if n := len(f.units); n == 0 || !short || f.units[n-1].size > joinBytes {
		f.cutUnit(alignUp(f.size))
	}
	u := f.units[len(f.units)-1]
	return u.off + int64(u.size)
}

// append adds the tail at the place that beginTail reserved.
func (f *file) append(tail []byte) {
	u := f.units[len(f.units)-1]
	u.tail = tail
	u.size += len(tail)
	f.size = u.off + int64(u.size)
}

// bytes returns the bytes of the unit. If necessary it encodes them into memory.
func (u *unit) bytes(ctx context.Context, memory []byte) ([]byte, error) {
	switch {
	case len(u.pieces) == 0:
		return u.tail, nil
	case u.placed == nil:
		dst := memory[:u.size]
		return dst, u.encode(ctx, dst)
	}
	n := u.size - len(u.tail) // includes the gap for the tail of another unit
	dst := u.placed[:n:n]
	err := u.encode(ctx, dst)
	return append(dst, u.tail...), err // copies if there is a tail, which is short then
}

// encode completes the piece in dst, which has its size.
func (p *piece) encode(ctx context.Context, dst []byte) (err error) {
	switch {
	case p.state == encoded:
	case p.known != nil:
		copy(dst, p.known)
		p.sum = crc.Sum(dst)
	case p.state == copied:
		if content, ok := p.content(dst); ok {
			p.seal(content, dst[len(content):])
			return nil
		}
		p.sum, err = p.chunk.seal(p, dst)
	default:
		p.sum, err = p.chunk.encode(ctx, p, dst)
	}
	return err
}

// encode writes the bytes of the unit into dst, which has the size of the unit. In a snapshot
// dst has no room for the tail.
func (u *unit) encode(ctx context.Context, dst []byte) (err error) {
	at := 0
	for _, p := range u.pieces {
		from := int(p.off - u.off)
		clear(dst[at:from])
		at = from + p.size
		if err = p.encode(ctx, dst[from:at]); err != nil {
			return p.explain(err)
		}
		if u.placed != nil {
			p.state = encoded
		}
	}
	if u.placed != nil {
		clear(dst[at:])
		return nil
	}
	at += copy(dst[at:], u.tail)
	clear(dst[at:])
	return nil
}

// explain adds to an error the array that it is about.
func (p *piece) explain(err error) error {
	if err == nil || p.chunk == nil {
		return err
	}
	return errs.Wrap("", "array "+strconv.Quote(p.chunk.array.param), err)
}

// lastPart returns the record of the tail.
func (f *file) lastPart(name string) manifest.File {
	tail := f.units[len(f.units)-1].tail
	return manifest.File{Name: name, Size: int64(len(tail)), CRC: crc.Sum(tail), Hash: manifest.HashOf(tail)}
}

// sum returns the checksum of the file, after all pieces were encoded.
func (f *file) sum() uint32 {
	if f.written {
		return f.crc
	}
	total, end := uint32(0), int64(0)
	skip := func(to int64) {
		total = crc.Combine(total, crc.Zeros(to-end), to-end)
		end = to
	}
	for _, p := range f.pieces {
		skip(p.off)
		total = crc.Combine(total, p.sum, int64(p.size))
		end += int64(p.size)
	}
	if n := len(f.units); n > 0 && f.units[n-1].tail != nil {
		tail := f.units[n-1].tail
		skip(f.size - int64(len(tail)))
		total = crc.Update(total, tail)
	}
	return total
}
