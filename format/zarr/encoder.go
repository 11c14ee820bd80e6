package zarr

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// EncoderOptions tune an Encoder.
type EncoderOptions struct {
	Align int // sub-chunks of a shard begin at multiples of this, counted from the start of the chunk; 0, 1: back to back
}

// Encoder writes chunks of one array as the bytes that their values consist of.
// It is immutable and safe for concurrent use.
//
// Where the codecs have fixed sizes, everything has its place before the data is
// known: ChunkSize, SubChunk and EncodeIndex say so, and the sub-chunks of one
// chunk can be encoded concurrently by EncodeSubChunk. In any case EncodeChunk
// encodes a whole chunk.
//
// Chunks whose sub-chunks cannot be placed like that, because shards are
// transposed, nested or compressed as a whole, have one sub-chunk for all
// purposes here: the chunk.
type Encoder struct {
	meta    *Metadata
	inner   *chain // of the sub-chunks; the chain of the chunk where there is no shard
	shard   *shard // nil: the chunk is the one sub-chunk
	align   int
	single  bool      // the array is one plain chunk
	scratch sync.Pool // of *[]byte, memory for sub-chunks before codecs
}

// Source is data to encode: the elements of a box of the array in C order, as
// tensors hold them.
type Source struct {
	Data []byte
	Box  Box
}

// NewEncoder returns an encoder for the array, of which it keeps the metadata.
// Codecs that can only be read are errs.Unsupported.
func NewEncoder(m *Metadata, o EncoderOptions) (*Encoder, error) {
	c, err := m.chain(&document{key: "metadata", made: true})
	if err != nil {
		return nil, err
	}
	e := &Encoder{meta: m, inner: c, align: 1, single: newSingle(m, c) != nil}
	if o.Align > 1 {
		e.align = o.Align
	}
	if why := c.writable(); why != "" {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "zarr.NewEncoder", Got: why}
	}
	if s := c.shard; s != nil && s.inner.shard == nil && len(c.filters) == 0 && slices.Equal(c.order, identity(len(m.Shape))) {
		e.shard, e.inner = s, s.inner
	}
	return e, nil
}

// Metadata returns the metadata of the array, which must not be changed.
func (e *Encoder) Metadata() *Metadata { return e.meta }

// Key returns the key of the chunk at cell, relative to the array.
func (e *Encoder) Key(cell []int) string { return e.meta.Keys.Key(cell) }

// AtHand reports whether Array.ReadAtHand reads the array, where its one value is
// in memory.
func (e *Encoder) AtHand() bool { return e.single }

// Fixed reports whether all sub-chunks have one size, whatever their data.
func (e *Encoder) Fixed() bool { return e.inner.size >= 0 }

// SubChunks returns how many sub-chunks a chunk has; 1 where there is no shard.
func (e *Encoder) SubChunks() int {
	if e.shard == nil {
		return 1
	}
	return e.shard.count
}

// box returns the region of sub-chunk i of the chunk at cell.
func (e *Encoder) box(cell []int, i int) Box {
	b := Box{make([]int, len(cell)), slices.Clone(e.inner.shape)}
	for k := len(cell) - 1; k >= 0; k-- {
		b.Origin[k] = cell[k] * e.meta.ChunkShape[k]
		if e.shard != nil {
			b.Origin[k] += i % e.shard.grid[k] * e.inner.shape[k]
			i /= e.shard.grid[k]
		}
	}
	return b
}

// Region returns the part of the array that sub-chunk i of the chunk at cell
// holds. It is smaller than the sub-chunk at the edge of the array; ok is false
// for a sub-chunk that lies beyond it, which is not stored.
func (e *Encoder) Region(cell []int, i int) (region Box, ok bool) {
	return e.box(cell, i).Intersect(WholeBox(e.meta.Shape))
}

// stored returns how many sub-chunks along axis k of the chunk at cell hold
// elements of the array.
func (e *Encoder) stored(cell []int, k int) int {
	if e.shard == nil {
		return 1
	}
	left := e.meta.Shape[k] - cell[k]*e.meta.ChunkShape[k]
	return min(ceilDiv(left, e.inner.shape[k]), e.shard.grid[k])
}

// count returns the number of sub-chunks of the chunk at cell that are stored.
func (e *Encoder) count(cell []int) int {
	n := 1
	for k := range cell {
		n *= e.stored(cell, k)
	}
	return n
}

// slot returns the place of sub-chunk i among those that are stored; ok is false
// if it is not.
func (e *Encoder) slot(cell []int, i int) (slot int, ok bool) {
	weight := 1
	for k := len(cell) - 1; k >= 0 && e.shard != nil; k-- {
		at, n := i%e.shard.grid[k], e.stored(cell, k)
		if at >= n {
			return 0, false
		}
		slot += at * weight
		weight *= n
		i /= e.shard.grid[k]
	}
	return slot, true
}

func (e *Encoder) alignUp(n int) int { return (n + e.align - 1) / e.align * e.align }

// first returns the offset of the first sub-chunk.
func (e *Encoder) first() int {
	if e.shard != nil && e.shard.atStart {
		return e.alignUp(e.shard.index.size)
	}
	return 0
}

// span returns the size of the chunk at cell if every sub-chunk takes n bytes.
func (e *Encoder) span(cell []int, n int) int {
	size := e.first() + (e.count(cell)-1)*e.alignUp(n) + n
	if e.shard != nil && !e.shard.atStart {
		size += e.shard.index.size
	}
	return size
}

// ChunkSize returns the size of the value of the chunk at cell; ok is false if
// it depends on the data.
func (e *Encoder) ChunkSize(cell []int) (n int, ok bool) {
	if !e.Fixed() {
		return 0, false
	}
	return e.span(cell, e.inner.size), true
}

// MaxChunkSize returns the memory that EncodeChunk needs at most.
func (e *Encoder) MaxChunkSize(cell []int) int {
	if e.Fixed() {
		return e.span(cell, e.inner.size)
	}
	return e.span(cell, e.inner.encodedBound())
}

// MaxSubChunkSize returns the memory that EncodeSubChunk needs at most; where
// Fixed reports true it is the size of every sub-chunk.
func (e *Encoder) MaxSubChunkSize() int {
	if e.Fixed() {
		return e.inner.size
	}
	return e.inner.encodedBound()
}

// SubChunk returns the place of sub-chunk i in the chunk at cell, for codecs of
// fixed size. ok is false if it is not stored, or its place depends on the data.
func (e *Encoder) SubChunk(cell []int, i int) (offset, length int, ok bool) {
	if !e.Fixed() {
		return 0, 0, false
	}
	slot, ok := e.slot(cell, i)
	if !ok {
		return 0, 0, false
	}
	return e.first() + slot*e.alignUp(e.inner.size), e.inner.size, true
}

// IndexPlace returns where in the chunk at cell the index lies, for codecs of
// fixed size. A plain chunk has an index of length 0.
func (e *Encoder) IndexPlace(cell []int) (offset, length int, ok bool) {
	size, ok := e.ChunkSize(cell)
	switch {
	case !ok:
		return 0, 0, false
	case e.shard == nil:
		return size, 0, true
	case e.shard.atStart:
		return 0, e.shard.index.size, true
	}
	return size - e.shard.index.size, e.shard.index.size, true
}

// EncodeIndex writes the index of the chunk at cell, for codecs of fixed size,
// into dst and returns its length.
func (e *Encoder) EncodeIndex(dst []byte, cell []int) (n int, err error) {
	_, length, ok := e.IndexPlace(cell)
	if !ok {
		return 0, &errs.Error{Kind: errs.Invalid, Op: "zarr.EncodeIndex", Want: "codecs of fixed size"}
	}
	if length == 0 {
		return 0, nil
	}
	if len(dst) < length {
		return 0, tooSmall("zarr.EncodeIndex", length, len(dst))
	}
	index := make([]byte, 0, e.shard.index.raw)
	for i := range e.shard.count {
		offset, length, ok := e.SubChunk(cell, i)
		index = appendEntry(index, offset, length, ok)
	}
	return e.shard.putIndex(dst, index), nil
}

func appendEntry(index []byte, offset, length int, ok bool) []byte {
	o, n := uint64(offset), uint64(length)
	if !ok {
		o, n = noEntry, noEntry
	}
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(index, o), n)
}

func tooSmall(op string, want, got int) error {
	return &errs.Error{Kind: errs.Invalid, Op: op, Want: itoa(want) + " bytes of memory", Got: itoa(got)}
}
