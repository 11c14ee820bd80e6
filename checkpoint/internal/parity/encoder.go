package parity

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// encoder computes parity blocks and checksums from data that arrives in any order, from several
// goroutines. It holds the parity blocks of a region from the first byte of the region to its last.
type encoder struct {
	*table
	emit func(r region, blocks []byte) error // takes the parity blocks of a region

	mu      sync.Mutex
	regions map[int]*held  // by first block
	pieces  map[int][]part // of blocks that arrive in several parts
}

// held is a region whose data has not all arrived.
type held struct {
	region
	blocks []byte
	left   int64 // missing bytes; guarded by encoder.mu
	groups [depth]sync.Mutex
}

// part is a part of a block.
type part struct {
	off, n int
	sum    uint32
}

func newEncoder(t *table, emit func(r region, blocks []byte) error) *encoder {
	return &encoder{table: t, emit: emit, regions: map[int]*held{}, pieces: map[int][]part{}}
}

// add takes the data b at off. Each byte arrives once.
func (e *encoder) add(b []byte, off int64) error {
	if off < 0 || off > e.size || int64(len(b)) > e.size-off {
		return &errs.Error{Kind: errs.Invalid, Op: "parity", Got: "bytes beyond the end of the file"}
	}
	for len(b) > 0 {
		i, from := int(off/int64(e.block)), int(off%int64(e.block))
		n := min(e.block-from, len(b))
		var err error
		if blocks := e.run(i, from, len(b)); blocks > 0 {
			n = blocks * e.block
			err = e.addRun(i, blocks, b[:n])
		} else {
			err = e.addBlock(i, from, b[:n])
		}
		if err != nil {
			return err
		}
		b, off = b[n:], off+int64(n)
	}
	return nil
}

// addBlock takes a part of data block i.
func (e *encoder) addBlock(i, from int, b []byte) error {
	h := e.hold(i)
	code, err := codeOf(h.parity)
	if err != nil {
		return err
	}
	group, shard := h.place(i)
	into := make([][]byte, h.parity)
	for p := range into {
		at := (p*h.region.groups+group)*e.block + from
		into[p] = h.blocks[at : at+len(b)]
	}
	h.groups[group].Lock()
	err = code.EncodeIdx(b, shard, into)
	h.groups[group].Unlock()
	if err != nil {
		return &errs.Error{Kind: errs.Invalid, Op: "parity", Err: err}
	}
	sum := crc.Sum(b)
	e.mu.Lock()
	e.sum(i, part{from, len(b), sum})
	e.mu.Unlock()
	return e.took(h, len(b))
}

// fewParity is the largest number of parity blocks of a group that stay in the cache while data
// blocks are multiplied one by one. Up to it EncodeIdx is as fast.
const fewParity = 4

// run returns how many whole blocks of the region of block i, starting with block i, are in n
// bytes. It returns 0 if taking them together does not pay, because no group has two of them.
func (e *encoder) run(i, from, n int) int {
	if from != 0 {
		return 0
	}
	r := e.region(i)
	blocks := min(n/e.block, r.first+r.n-i)
	if blocks <= r.groups || r.parity <= fewParity {
		return 0
	}
	return blocks
}

// addRun takes n whole blocks of one region, starting with block i. The blocks of a group are
// multiplied together, up to columns of them in one pass over its parity blocks.
func (e *encoder) addRun(i, n int, b []byte) error {
	h := e.hold(i)
	g := h.region.groups
	ins := make([][]byte, 0, columns)
	into := make([][]byte, h.parity)
	for d := range g {
		group, shard := h.place(i + d)
		for p := range into {
			at := (p*g + group) * e.block
			into[p] = h.blocks[at : at+e.block]
		}
		for at := d; at < n; shard += len(ins) {
			ins = ins[:0]
			for ; at < n && len(ins) < columns; at += g {
				ins = append(ins, b[at*e.block:(at+1)*e.block])
			}
			if err := addShards(ins, shard, into, &h.groups[group]); err != nil {
				return err
			}
		}
	}
	sums := make([]uint32, n)
	for k := range sums {
		sums[k] = crc.Sum(b[k*e.block : (k+1)*e.block])
	}
	e.mu.Lock()
	copy(e.data[i:], sums)
	e.mu.Unlock()
	return e.took(h, len(b))
}

// took counts bytes of a region, and emits its parity after the last of them.
func (e *encoder) took(h *held, n int) error {
	e.mu.Lock()
	h.left -= int64(n)
	last := h.left == 0
	if last {
		delete(e.regions, h.first)
	}
	e.mu.Unlock()
	if !last {
		return nil
	}
	for k := range h.region.groups * h.parity {
		e.parity[h.at+k] = crc.Sum(h.blocks[k*e.block : (k+1)*e.block])
	}
	return e.emit(h.region, h.blocks)
}

// hold returns the region with data block i.
func (e *encoder) hold(i int) *held {
	r := e.region(i)
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.regions[r.first]
	if h == nil {
		h = &held{region: r, left: min(int64(r.n)*int64(e.block), e.size-int64(r.first)*int64(e.block))}
		h.blocks = make([]byte, r.groups*r.parity*e.block)
		e.regions[r.first] = h
	}
	return h
}

// sum records the checksum of a part of block i. When all parts are there, it records the checksum
// of the block.
func (e *encoder) sum(i int, p part) {
	length := e.length(i)
	if p.n == length {
		e.data[i] = p.sum
		return
	}
	parts := append(e.pieces[i], p)
	e.pieces[i] = parts
	n := 0
	for _, p := range parts {
		n += p.n
	}
	if n < length {
		return
	}
	slices.SortFunc(parts, func(a, b part) int { return a.off - b.off })
	sum := uint32(0)
	for _, p := range parts {
		sum = crc.Combine(sum, p.sum, int64(p.n))
	}
	e.data[i] = sum
	delete(e.pieces, i)
}

// sharedName returns the name of the n-th parity file that several files share.
func sharedName(tag string, n int) string { return Prefix + tag + strconv.Itoa(n) }

// isShared reports whether a parity file is for several files.
func isShared(name string) bool { return Is(name) && name != CopyName && len(name) < len(Prefix)+32 }

// sharedTable returns the table for small files, from their names and sizes.
func sharedTable(small []manifest.File, percent int) *table {
	slices.SortFunc(small, func(a, b manifest.File) int { return strings.Compare(a.Name, b.Name) })
	var spans []span
	next := int64(0)
	for _, f := range small {
		spans = append(spans, span{first: next, size: f.Size, name: f.Name})
		next += blocksOf(f.Size)
	}
	return newTable(shape{size: next * smallBlock, block: smallBlock, percent: percent, shared: true}, spans)
}

// writeShared writes the parity file of small files.
func writeShared(ctx context.Context, to files, small []blob, name string, percent int,
	signed bool) (manifest.File, error) {
	slices.SortFunc(small, func(a, b blob) int { return strings.Compare(a.name, b.name) })
	list := make([]manifest.File, len(small))
	for i, b := range small {
		list[i] = manifest.File{Name: b.name, Size: int64(len(b.data))}
	}
	t := sharedTable(list, percent)
	out := &output{to: to, name: name, t: t, signed: signed}
	enc := newEncoder(t, func(r region, b []byte) error { return out.blocks(ctx, r, b) })
	padding := make([]byte, smallBlock)
	for i, b := range small {
		off := t.files[i].first * smallBlock
		if err := enc.add(b.data, off); err != nil {
			return manifest.File{}, err
		}
		if rest := len(b.data) % smallBlock; rest > 0 {
			if err := enc.add(padding[rest:], off+int64(len(b.data))); err != nil {
				return manifest.File{}, err
			}
		}
	}
	return out.finish(ctx)
}
