package zarr

import (
	"encoding/binary"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// residue is the CRC-32C of any bytes followed by their own CRC-32C, as the codec
// crc32c appends it.
const residue = 0x48674bc7

// EncodeChunk writes the value of the chunk at cell into dst, and returns its length and CRC-32C.
// sums, unless it is nil, has SubChunks elements and gets the checksums of EncodeSubChunk. The
// checksums of sub-chunks that are not stored become 0.
//
// src must hold all elements that the chunk has in the array; elements beyond the edge are padded
// with the fill value. EncodeChunk writes at most MaxChunkSize bytes to dst. Every byte of the
// source is read once: checksums are made while copying, and combined.
func (e *Encoder) EncodeChunk(dst []byte, cell []int, src Source, sums []uint32) (n int, sum uint32, err error) {
	if e.shard == nil {
		n, payload, err := e.EncodeSubChunk(dst, cell, 0, src)
		if err == nil && sums != nil {
			sums[0] = payload
		}
		return n, e.whole(payload), err
	}
	if size, ok := e.ChunkSize(cell); ok && len(dst) < size {
		return 0, 0, tooSmall("zarr.EncodeChunk", size, len(dst))
	}
	index := make([]byte, 0, e.shard.index.raw)
	at := e.first()
	if at > len(dst) {
		return 0, 0, tooSmall("zarr.EncodeChunk", at, len(dst))
	}
	start := at
	end := at
	for i := range e.shard.count {
		if _, ok := e.slot(cell, i); !ok {
			index = appendEntry(index, 0, 0, false)
			if sums != nil {
				sums[i] = 0
			}
			continue
		}
		if at > len(dst) {
			return 0, 0, tooSmall("zarr.EncodeChunk", at, len(dst))
		}
		n, payload, err := e.EncodeSubChunk(dst[at:], cell, i, src)
		if err != nil {
			return 0, 0, err
		}
		clear(dst[end:at])
		sum = crc.Combine(sum, crc.Zeros(int64(at-end)), int64(at-end))
		sum = crc.Combine(sum, e.whole(payload), int64(n))
		if sums != nil {
			sums[i] = payload
		}
		index = appendEntry(index, at, n, true)
		end = at + n
		at = e.alignUp(end)
	}
	size := e.shard.index.size
	if e.shard.atStart {
		e.shard.putIndex(dst, index)
		clear(dst[size:start])
		return end, crc.Combine(crc.Sum(dst[:start]), sum, int64(end-start)), nil
	}
	if len(dst)-end < size {
		return 0, 0, tooSmall("zarr.EncodeChunk", end+size, len(dst))
	}
	e.shard.putIndex(dst[end:], index)
	return end + size, crc.Combine(sum, crc.Sum(dst[end:end+size]), int64(size)), nil
}

// checked reports whether sub-chunks end in their own checksum.
func (e *Encoder) checked() bool {
	f := e.inner.filters
	if len(f) == 0 {
		return false
	}
	_, ok := f[len(f)-1].(crc32c)
	return ok
}

// whole turns the checksum that EncodeSubChunk returns into the checksum of all bytes of the
// encoded sub-chunk.
func (e *Encoder) whole(payload uint32) uint32 {
	if e.checked() {
		return residue
	}
	return payload
}

// EncodeSubChunk writes sub-chunk i of the chunk at cell into dst and returns its length and the
// CRC-32C of its bytes; if the codecs end in crc32c, it is the CRC-32C of the bytes before this
// suffix, which equals the suffix. It is safe to encode sub-chunks concurrently.
func (e *Encoder) EncodeSubChunk(dst []byte, cell []int, i int, src Source) (n int, sum uint32, err error) {
	c := e.inner
	if c.size >= 0 && len(dst) < c.size {
		return 0, 0, tooSmall("zarr.EncodeSubChunk", c.size, len(dst))
	}
	box := e.box(cell, i)
	region, ok := e.Region(cell, i)
	if !ok {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: "zarr.EncodeSubChunk", Subject: box.String(),
			Want: "a sub-chunk inside of the array"}
	}
	if inner, ok := region.Intersect(src.Box); !ok || !inner.Equal(region) || len(src.Data) != src.Box.Len()*c.dtype.Size() {
		return 0, 0, &errs.Error{Kind: errs.Invalid, Op: "zarr.EncodeSubChunk", Subject: region.String(),
			Want: "a source that holds the region", Got: itoa(len(src.Data)) + " bytes for " + src.Box.String()}
	}
	axes := identity(len(cell))
	// Codecs of fixed size are at most one checksum behind the elements.
	if c.size >= 0 && len(c.filters) <= 1 && !c.bigEndian {
		sum, err = e.gather(dst[:c.raw], c, axes, box, region, src)
		if err == nil && len(c.filters) == 1 {
			binary.LittleEndian.PutUint32(dst[c.raw:], sum)
		}
		return c.size, sum, err
	}
	out, err := e.encode(dst[:0:len(dst)], c, axes, box, src)
	if err != nil {
		return 0, 0, err
	}
	if len(out) > len(dst) {
		return 0, 0, tooSmall("zarr.EncodeSubChunk", len(out), len(dst))
	}
	if &out[0] != &dst[0] {
		copy(dst, out) // a codec wanted more room meanwhile
	}
	if e.checked() {
		return len(out), binary.LittleEndian.Uint32(out[len(out)-suffixSize:]), nil
	}
	return len(out), crc.Sum(out), nil
}

// encode appends the region box, part of which lies in the array, as c encodes it. axes are the
// axes of the array, in the order of the axes of c.
func (e *Encoder) encode(dst []byte, c *chain, axes []int, box Box, src Source) ([]byte, error) {
	if c.shard != nil {
		return e.encodeShard(dst, c, axes, box, src)
	}
	region, _ := box.Intersect(WholeBox(e.meta.Shape))
	raw := e.borrow(c.raw)
	defer e.scratch.Put(raw)
	if _, err := e.gather(*raw, c, axes, box, region, src); err != nil {
		return nil, err
	}
	if c.bigEndian {
		swapBytes(*raw, c.dtype)
	}
	return c.filter(dst, *raw), nil
}

// encodeShard appends a shard, its sub-chunks back to back. Those outside of the
// array are left out.
func (e *Encoder) encodeShard(dst []byte, c *chain, axes []int, box Box, src Source) ([]byte, error) {
	s := c.shard
	shard := dst
	if len(c.filters) > 0 {
		shard = nil
	}
	start := len(shard)
	if s.atStart {
		shard = append(shard, make([]byte, s.index.size)...)
	}
	axes = c.storageAxes(axes)
	index := make([]byte, 0, s.index.raw)
	high := make([]int, len(axes))
	for k := range high {
		high[k] = s.grid[k] * s.inner.shape[k]
	}
	for cell := range cells(make([]int, len(axes)), high, s.inner.shape) {
		sub := s.subBox(box, axes, cell)
		if _, ok := sub.Intersect(WholeBox(e.meta.Shape)); !ok {
			index = appendEntry(index, 0, 0, false)
			continue
		}
		at := len(shard)
		var err error
		if shard, err = e.encode(shard, s.inner, axes, sub, src); err != nil {
			return nil, err
		}
		index = appendEntry(index, at-start, len(shard)-at, true)
	}
	if s.atStart {
		s.putIndex(shard[start:], index)
	} else {
		shard = append(shard, make([]byte, s.index.size)...)
		s.putIndex(shard[len(shard)-s.index.size:], index)
	}
	if len(c.filters) > 0 {
		return c.filter(dst, shard), nil
	}
	return shard, nil
}

func (e *Encoder) borrow(n int) *[]byte {
	if p, ok := e.scratch.Get().(*[]byte); ok {
		return p
	}
	p := make([]byte, n) // the same for all sub-chunks of an array
	return &p
}

// gather copies the region into dst, the memory of box as c stores it, and
// returns the CRC-32C of dst.
func (e *Encoder) gather(dst []byte, c *chain, axes []int, box, region Box, src Source) (sum uint32, err error) {
	size := c.dtype.Size()
	padded := !region.Equal(box)
	if padded {
		fillElements(dst, e.meta.Fill)
	}
	to, from := c.strides(axes), strides(src.Box.Shape, size)
	t := newTransfer(region.Shape, to, from, size)
	if stored := c.storageAxes(axes); !slices.Equal(stored, identity(len(axes))) {
		// The order of dst, in which the checksum is made.
		t = newTransfer(pick(region.Shape, stored), pick(to, stored), pick(from, stored), size)
	}
	out := dst[offset(region.Origin, box.Origin, to):]
	in := src.Data[offset(region.Origin, src.Box.Origin, from):]
	switch {
	case padded:
		t.copy(out, in)
		sum = crc.Sum(dst)
	case t.contiguous():
		sum = crc.Copy(dst, in[:len(dst)])
	case t.run < crc.Tile:
		sum = t.copyTiled(out, in)
	default:
		t.do(func(d, s int) {
			sum = crc.Combine(sum, crc.Copy(out[d:d+t.run], in[s:s+t.run]), int64(t.run))
		})
	}
	if c.dtype == tensor.Bool {
		if err := checkBools(dst); err != nil {
			return 0, &errs.Error{Kind: errs.Invalid, Op: "zarr.EncodeSubChunk", Subject: region.String(), Err: err}
		}
	}
	return sum, nil
}

// copyTiled copies a region that fills dst without gaps, in order, and
// checksums it tile by tile while it is in the cache.
func (t transfer) copyTiled(dst, src []byte) (sum uint32) {
	done := 0
	t.do(func(d, s int) {
		copy(dst[d:d+t.run], src[s:s+t.run])
		if end := d + t.run; end-done >= crc.Tile {
			sum = crc.Update(sum, dst[done:end])
			done = end
		}
	})
	return crc.Update(sum, dst[done:])
}
