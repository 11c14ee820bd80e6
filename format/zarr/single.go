package zarr

import (
	"bytes"
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/internal/crc"
)

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
