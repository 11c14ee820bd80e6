package zarr

import (
	"bytes"
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

// Place is a run of bytes in the memory of a box.
type Place struct {
	Offset, Length int
}

// Direct reports whether the first bytes of the part are the elements of its
// region as they lie in the memory of box, and where. Then they may be read
// straight into place; what is left of the part's Length is a suffix that Finish
// checks. Parts with Data are never direct.
func (p *Part) Direct(box Box) (Place, bool) {
	c := p.chain
	if p.Missing || p.Data != nil || len(c.filters) > 1 {
		return Place{}, false
	}
	if len(c.filters) == 1 {
		if _, ok := c.filters[0].(crc32c); !ok || !p.Region.Equal(p.chunk) {
			return Place{}, false
		}
	}
	target := strides(box.Shape, c.dtype.Size())
	if !newTransfer(p.Region.Shape, target, p.stored(), c.dtype.Size()).contiguous() {
		return Place{}, false
	}
	return Place{offset(p.Region.Origin, box.Origin, target), p.Region.Len() * c.dtype.Size()}, true
}

// Verbatim reports whether Finish leaves the bytes of a direct part as they are stored.
func (p *Part) Verbatim() bool { return !p.chain.bigEndian && p.chain.dtype.Bits() >= 8 }

// Finish checks the bytes of a direct part, which were read into target, against
// the rest of the part, and turns them into elements in place.
func (p *Part) Finish(target, suffix []byte) error {
	sum := uint32(0)
	if len(p.chain.filters) == 1 {
		sum = crc.Sum(target)
	}
	return p.FinishSummed(target, suffix, sum)
}

// FinishSummed is Finish for bytes whose CRC-32C the caller knows; it does not
// matter for a part without a suffix.
func (p *Part) FinishSummed(target, suffix []byte, sum uint32) error {
	if len(p.chain.filters) == 1 {
		if len(suffix) != suffixSize {
			return corrupt(p.Key, "%s: checksum of %d bytes", p.Region, len(suffix))
		}
		if err := compareSum(sum, suffix); err != nil {
			return corrupt(p.Key, "%s: %v", p.Region, err)
		}
	}
	if err := p.chain.finish(target); err != nil {
		return corrupt(p.Key, "%s: %v", p.Region, err)
	}
	return nil
}

// Rows reports whether the bytes of the part are the elements of a whole sub-chunk in C order,
// followed by a checksum, and into how many rows of how many bytes they fall: a row is one index of
// the first axis that is longer than 1. Such a part may be read, summed and placed by runs of rows
// (PlaceRows), before FinishSummed holds the sum of all of them against the suffix. Parts with Data
// have no rows.
func (p *Part) Rows() (count, size int, ok bool) {
	c := p.chain
	if p.Missing || p.Data != nil || len(c.filters) != 1 || p.Length != int64(c.raw)+suffixSize {
		return 0, 0, false
	}
	if _, ok := c.filters[0].(crc32c); !ok || !slices.Equal(p.stored(), strides(p.chunk.Shape, c.dtype.Size())) {
		return 0, 0, false
	}
	count = 1
	if axis := p.rowAxis(); axis >= 0 {
		count = p.chunk.Shape[axis]
	}
	return count, c.raw / count, true
}

// rowAxis returns the axis whose indices are the rows of a part, or -1 if there is no such axis.
func (p *Part) rowAxis() int {
	return slices.IndexFunc(p.chunk.Shape, func(n int) bool { return n > 1 })
}

// PlaceRows puts what the region of a part with Rows has of some of them, from
// row first on, into dst, the memory of box. It may change the bytes.
func (p *Part) PlaceRows(first int, rows []byte, box Box, dst []byte) error {
	if err := p.chain.finish(rows); err != nil {
		return corrupt(p.Key, "%s: %v", p.Region, err)
	}
	from := p.chunk
	if axis := p.rowAxis(); axis >= 0 {
		from = Box{slices.Clone(from.Origin), slices.Clone(from.Shape)}
		from.Origin[axis] += first
		from.Shape[axis] = len(rows) * from.Shape[axis] / p.chain.raw
	}
	region, ok := from.Intersect(p.Region)
	if !ok {
		return nil
	}
	size := p.chain.dtype.Size()
	d, s := strides(box.Shape, size), strides(from.Shape, size)
	t := newTransfer(region.Shape, d, s, size)
	t.copy(dst[offset(region.Origin, box.Origin, d):], rows[offset(region.Origin, from.Origin, s):])
	return nil
}

// Decode decodes the bytes of the part and puts its region into dst, the memory
// of box. It may change the bytes, unless they are p.Data. It is safe to decode
// parts of one box concurrently, as their regions do not overlap.
func (a *Array) Decode(p *Part, encoded []byte, box Box, dst []byte, o *ReadOptions) error {
	c := p.chain
	size := c.dtype.Size()
	target := strides(box.Shape, size)
	steps := p.stored()
	at := offset(p.Region.Origin, box.Origin, target)
	t := newTransfer(p.Region.Shape, target, steps, size)

	stored := encoded
	if len(c.filters) == 0 {
		if int64(len(encoded)) != p.Length {
			return corrupt(p.Key, "%s: %d bytes, want %d", p.Region, len(encoded), p.Length)
		}
		stored = encoded[offset(p.Region.Origin, p.chunk.Origin, steps)-p.skip:]
	} else {
		var into []byte
		if t.contiguous() && p.Region.Equal(p.chunk) {
			into = dst[at : at+c.raw : at+c.raw]
		} else if limit := o.withDefaults().MaxChunkBytes; c.size < 0 && int64(c.raw) > limit {
			return tooLarge(p.Key, int64(c.raw))
		}
		var err error
		if stored, err = c.unfilter(into, encoded, c.raw); err != nil {
			return corrupt(p.Key, "%s: %v", p.Region, err)
		}
		stored = stored[offset(p.Region.Origin, p.chunk.Origin, steps):]
	}
	if n := t.run; t.contiguous() {
		if &stored[0] != &dst[at] {
			copy(dst[at:at+n], stored[:n])
		}
	} else {
		t.copy(dst[at:], stored)
	}
	return p.finishRegion(dst, box, at, target)
}

// finishRegion finishes the elements of the region where they lie in dst.
func (p *Part) finishRegion(dst []byte, box Box, at int, target []int) error {
	c := p.chain
	if !c.needsFinish() {
		return nil
	}
	t := newTransfer(p.Region.Shape, target, target, c.dtype.Size())
	// Axes that lie together in dst are one run; each run is finished in place.
	var fault error
	t.do(func(d, _ int) {
		if fault == nil {
			fault = c.finish(dst[at+d : at+d+t.run])
		}
	})
	if fault != nil {
		return corrupt(p.Key, "%s: %v", p.Region, fault)
	}
	return nil
}

// Fill puts the fill value into the region of the part in dst, the memory of
// box.
func (a *Array) Fill(p *Part, box Box, dst []byte) {
	size := a.meta.DType.Size()
	target := strides(box.Shape, size)
	at := offset(p.Region.Origin, box.Origin, target)
	t := newTransfer(p.Region.Shape, target, target, size)
	t.do(func(d, _ int) { fillElements(dst[at+d:at+d+t.run], a.meta.Fill) })
}

// single describes an array of one chunk whose elements are in C order and little-endian, alone or
// as the only sub-chunk of a shard, with or without their CRC-32C. Numbers and other small arrays
// are stored in this way. Trees have many such arrays, most of them alike.
type single struct {
	key   string // below the array
	inner *chain
	index []byte // of the shard as it is as a rule, behind the elements; none without a shard
}

// newSingle returns nil for other arrays.
func newSingle(m *Metadata, c *chain) *single {
	if !slices.Equal(m.Shape, m.ChunkShape) {
		return nil
	}
	s := &single{key: m.Keys.Key(make([]int, len(m.Shape))), inner: c}
	if h := c.shard; h != nil {
		if h.count != 1 || h.atStart || !c.plain(0) || h.inner.size < 0 {
			return nil
		}
		s.inner, s.index = h.inner, make([]byte, h.index.size)
		h.putIndex(s.index, appendEntry(nil, 0, h.inner.size, true))
	}
	if s.inner.shard != nil || s.inner.size < 0 || !s.inner.plain(1) {
		return nil
	}
	for _, f := range s.inner.filters {
		if _, ok := f.(crc32c); !ok {
			return nil
		}
	}
	return s
}

// plain reports whether the chain keeps the order of the elements and their bytes, and has at most
// the given number of filters.
func (c *chain) plain(filters int) bool {
	return !c.bigEndian && len(c.filters) <= filters && slices.Equal(c.order, identity(len(c.order)))
}

// ReadAtHand reads the whole array into dst, which has its size, if that takes no
// reading: where it is one plain chunk that the KV has in memory. Otherwise ok is
// false, dst is untouched, and ReadBox or Plan read it or say what is wrong.
func (a *Array) ReadAtHand(ctx context.Context, dst []byte) (ok bool, err error) {
	kv, inline := a.kv.(InlineKV)
	if a.small == nil || !inline {
		return false, nil
	}
	c, key := a.small.inner, a.prefix+a.small.key
	_, value, err := kv.Look(ctx, key)
	if err != nil || len(value) != c.size+len(a.small.index) || len(dst) != c.raw || !bytes.Equal(value[c.size:], a.small.index) {
		return false, nil //nolint:nilerr // the next reader reports the error
	}
	if len(c.filters) == 1 {
		if err := compareSum(crc.Sum(value[:c.raw]), value[c.raw:c.size]); err != nil {
			return false, corrupt(key, "%v", err)
		}
	}
	copy(dst, value)
	if err := c.finish(dst); err != nil {
		return false, corrupt(key, "%v", err)
	}
	return true, nil
}
