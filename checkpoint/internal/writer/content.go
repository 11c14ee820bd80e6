package writer

import (
	"context"
	"encoding/binary"

	"github.com/zeebo/xxh3"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Most pieces are a run: elements as they lie in the memory of their source, followed by their
// checksum if the layout has one. Such a piece is compared with a base without being encoded.
//
//	┌──────────────────────────────┬──────────┐
//	│ content: elements, a run     │ checksum │
//	└──────────────────────────────┴──────────┘

// content returns the content of a piece that is a run. dst is the memory of the piece, which
// holds the content if the snapshot copied it there. A piece of booleans is not a run: its
// elements are checked while they are copied.
func (p *piece) content(dst []byte) ([]byte, bool) {
	if p.chunk == nil || p.state == encoded || p.sub == shardIndex || p.chunk.array.src.DType == tensor.Bool {
		return nil, false
	}
	n := p.size - p.chunk.array.suffix
	if p.state == copied {
		return dst[:n], p.chunk.elementBytes(p) == n
	}
	b, ok := p.chunk.run(p)
	return b, ok && len(b) == n
}

// elementBytes returns the number of bytes of elements in a piece.
func (c *chunk) elementBytes(p *piece) int {
	if c.array.raw {
		return p.size
	}
	region, _ := c.region(p.sub)
	return region.Len() * c.array.src.DType.Size()
}

// seal computes the checksums of a piece that is a run, and writes the checksum of its content
// behind the content.
func (p *piece) seal(content, behind []byte) {
	if p.chunk.array.raw {
		p.sum = p.chunk.sealRaw(p, content)
		return
	}
	sum := crc.Sum(content)
	if len(behind) > 0 {
		binary.LittleEndian.PutUint32(behind, sum)
	}
	p.sum = crc.Update(sum, behind)
	p.chunk.setSums(p, content, sum)
}

// setSums records sum as the checksum of the content of a piece.
func (c *chunk) setSums(p *piece, content []byte, sum uint32) {
	i := max(p.sub, 0)
	c.stored[i] = sum
	region, _ := c.region(p.sub)
	c.sumSource(i, zarr.Source{Data: content, Box: region})
}

// checksums returns the assumed checksum of a sub-chunk; ok is false if it is unknown.
type checksums func(c *chunk, sub int) (sum uint32, ok bool)

// quickHash returns the hash of the bytes of the unit with the least work: it takes known checksums
// of runs from believed. If a unit of the base has the same hash, content and checksums are right.
// If no unit has it, the unit must be encoded, and its present checksums are meaningless.
func (u *unit) quickHash(ctx context.Context, memory []byte, believed checksums) (manifest.Hash, error) {
	if len(u.pieces) == 0 || u.tail != nil {
		b, err := u.bytes(ctx, memory)
		return manifest.HashOf(b), err
	}
	dst := u.placed
	if dst == nil {
		dst = memory[:u.size]
	}
	h := xxh3.New()
	at := 0
	for _, p := range u.pieces {
		from := int(p.off - u.off)
		addZeros(h, from-at)
		at = from + p.size
		if err := p.addHash(ctx, h, dst[from:at], believed); err != nil {
			return manifest.Hash{}, p.explain(err)
		}
		if u.placed != nil && p.state == elsewhere {
			p.state = encoded
		}
	}
	addZeros(h, u.size-at)
	return h.Sum128().Bytes(), nil
}

// addHash adds the bytes of the piece to a hash. dst is its memory.
func (p *piece) addHash(ctx context.Context, h *xxh3.Hasher, dst []byte, believed checksums) error {
	content, ok := p.content(dst)
	if ok {
		if sum, ok := believed(p.chunk, p.sub); ok {
			var behind [suffix]byte
			binary.LittleEndian.PutUint32(behind[:], sum)
			h.Write(content)   //nolint:errcheck // never fails
			h.Write(behind[:]) //nolint:errcheck // as above
			p.sum = crc.Update(sum, behind[:])
			p.chunk.setSums(p, content, sum)
			return nil
		}
	}
	state := p.state
	err := p.encode(ctx, dst)
	h.Write(dst) //nolint:errcheck // as above
	p.state = state
	return err
}

// addZeros adds zero bytes to a hash.
func addZeros(h *xxh3.Hasher, n int) {
	var zeros [1024]byte
	for ; n > 0; n -= len(zeros) {
		h.Write(zeros[:min(n, len(zeros))]) //nolint:errcheck // never fails
	}
}

// believed returns the checksums that the base has for the arrays of an item. Only checksums that
// lie behind their content are used, because a hash shows whether they are right.
func (b *base) believed(item string) checksums {
	return func(c *chunk, sub int) (uint32, bool) {
		a := c.array
		if b.manifest == nil || a.raw || !a.tied {
			return 0, false
		}
		l, ok := b.manifest.Leaf(item, a.param)
		if !ok || l.Size != int64(a.bytes()) {
			return 0, false
		}
		region, ok := c.region(sub)
		if !ok {
			return 0, false
		}
		return l.Chunk(manifest.Place(a.grid, a.sub, region.Origin))
	}
}
