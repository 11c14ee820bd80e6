package zarr

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	maxSubChunks = 1 << 30
	entrySize    = 16             // of the index: offset and length
	noEntry      = math.MaxUint64 // both, of a sub-chunk that is missing
)

// Sharding returns the codec that cuts a chunk into sub-chunks of the given
// shape, encoded by the codecs inner, with a checked index at the end.
func Sharding(shape []int, inner ...CodecSpec) CodecSpec {
	return CodecSpec{Name: "sharding_indexed", Config: map[string]any{
		"chunk_shape":  nonNil(shape),
		"codecs":       inner,
		"index_codecs": []CodecSpec{Bytes(tensor.Uint64), CRC32C()},
	}}
}

// shard is the codec sharding_indexed, bound to the stored axes of its chain.
type shard struct {
	grid    []int // sub-chunks along each axis
	count   int   // of sub-chunks
	inner   *chain
	index   *chain // of an array of shape grid+[2] of uint64
	atStart bool
}

func (c *chain) readSharding(config object, depth int) {
	d := config.d
	sub := config.extents("chunk_shape")
	inner := config.specs("codecs")
	index := config.specs("index_codecs")
	location := config.text("index_location", "end")
	if d.err != nil {
		return
	}
	s := &shard{count: 1, atStart: location == "start"}
	if location != "start" && location != "end" {
		d.corrupt("index_location is %q", location)
		return
	}
	if len(sub) != len(c.shape) {
		d.corrupt("sub-chunk shape %v in chunks of shape %v", sub, c.shape)
		return
	}
	for k, n := range sub {
		extent := c.shape[c.order[k]]
		if n < 1 || extent%n != 0 {
			d.corrupt("sub-chunk shape %v does not divide chunk shape %v", sub, c.shape)
			return
		}
		s.grid = append(s.grid, extent/n)
		if s.count > maxSubChunks/(extent/n) {
			d.corrupt("more than %d sub-chunks in a chunk", maxSubChunks)
			return
		}
		s.count *= extent / n
	}
	s.inner = buildChain(d, inner, c.dtype, sub, depth+1)
	s.index = buildChain(d, index, tensor.Uint64, append(slices.Clone(s.grid), 2), depth+1)
	if d.err != nil {
		return
	}
	if s.index.size < 0 || s.index.shard != nil || !slices.Equal(s.index.order, identity(len(s.index.order))) {
		d.unsupported("index_codecs other than bytes and crc32c")
		return
	}
	c.shard = s
}

// extents takes a list of integers, as metadata or as Go code made it.
func (o object) extents(name string) []int {
	v := o.must(name)
	if s, ok := v.([]int); ok || o.d.err != nil {
		return s
	}
	return o.d.extents(v, 1, name)
}

// specs reads a list of codecs, as metadata or as Sharding made it.
func (o object) specs(name string) []CodecSpec {
	v := o.must(name)
	if s, ok := v.([]CodecSpec); ok {
		return s
	}
	if o.d.err != nil {
		return nil
	}
	return o.d.codecList(v, name)
}

func (s *shard) json() map[string]any {
	config := map[string]any{
		"chunk_shape":  nonNil(s.inner.shape),
		"codecs":       s.inner.json(),
		"index_codecs": s.index.json(),
	}
	if s.atStart {
		config["index_location"] = "start"
	}
	return named("sharding_indexed", config)
}

// bound returns the greatest size of the shard before its filters, sub-chunks
// back to back.
func (s *shard) bound() int { return s.index.size + s.count*s.inner.encodedBound() }

// entry returns the place of sub-chunk i of the decoded index; ok is false if it
// is missing. Faults are reported against a chunk of size bytes.
func (s *shard) entry(index []byte, i int, size int64) (offset, length int64, ok bool, err error) {
	o := binary.LittleEndian.Uint64(index[i*entrySize:])
	n := binary.LittleEndian.Uint64(index[i*entrySize+8:])
	switch {
	case o == noEntry && n == noEntry:
		return 0, 0, false, nil
	case o > uint64(size) || n > uint64(size)-o:
		return 0, 0, false, errors.New("sub-chunk " + itoa(i) + " reaches beyond the end of the chunk")
	}
	return int64(o), int64(n), true, nil
}

// subBox returns the region of the sub-chunk at cell of the shard that holds box. axes are the axes
// of the array, in the order in which the shard stores them.
func (s *shard) subBox(box Box, axes, cell []int) Box {
	sub := Box{slices.Clone(box.Origin), make([]int, len(axes))}
	for k, n := range cell {
		sub.Origin[axes[k]] += n * s.inner.shape[k]
		sub.Shape[axes[k]] = s.inner.shape[k]
	}
	return sub
}

// putIndex encodes the index, whose bytes it may change, into dst and returns
// its length.
func (s *shard) putIndex(dst, index []byte) int {
	c := s.index
	if c.bigEndian {
		swapBytes(index, c.dtype)
	}
	return copy(dst, c.filter(dst[:0:c.size], index))
}

// decodeIndex decodes the index from its bytes.
func (s *shard) decodeIndex(b []byte) ([]byte, error) {
	p, err := s.index.unfilter(nil, b, s.index.raw)
	if err != nil {
		return nil, err
	}
	if s.index.bigEndian {
		p = append([]byte(nil), p...)
		swapBytes(p, s.index.dtype)
	}
	return p, nil
}
