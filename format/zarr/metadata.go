package zarr

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// maxRank is the greatest rank that TensorStore reads.
const maxRank = 32

// Metadata describes an array. Of formats it knows only how to be one: the
// members mean the same whatever the metadata was read from.
type Metadata struct {
	Shape      tensor.Shape
	DType      tensor.DType
	ChunkShape []int // of the chunks in the grid; every extent is at least 1
	Keys       KeyEncoding
	Fill       []byte      // one element, in the layout of tensors; nil is zero
	Codecs     []CodecSpec // of a chunk, in the order of encoding
	DimNames   []string    // of each axis, "" where it has none; nil: no names at all
	Attributes json.RawMessage
}

// KeyEncoding says how the place of a chunk in the grid becomes a key. The zero
// value is the encoding "default" with "/".
type KeyEncoding struct {
	V2        bool   // "0.1" instead of "c/0/1"
	Separator string // "/" or "."; "": "/" for default, "." for v2
}

func (k KeyEncoding) separator() string {
	switch {
	case k.Separator != "":
		return k.Separator
	case k.V2:
		return "."
	}
	return "/"
}

// Key returns the key of the chunk at cell, relative to the array.
func (k KeyEncoding) Key(cell []int) string {
	if k.V2 && len(cell) == 0 {
		return "0"
	}
	var b strings.Builder
	if !k.V2 {
		b.WriteByte('c')
	}
	for i, c := range cell {
		if !k.V2 || i > 0 {
			b.WriteString(k.separator())
		}
		b.WriteString(strconv.Itoa(c))
	}
	return b.String()
}

// Layout is how NewMetadata cuts an array.
type Layout struct {
	Chunk    []int       // shape of a chunk of the grid; nil: the whole array
	SubChunk []int       // shape of a sub-chunk; nil: that of the chunk
	Plain    bool        // chunks without shards; SubChunk must be nil
	Codecs   []CodecSpec // bytes → bytes codecs of each sub-chunk (or plain chunk), after the codec "bytes"
}

// NewMetadata returns the metadata of an array that is cut as l says: shards of
// little-endian sub-chunks with a checked index at their end, as Orbax writes
// them, or plain chunks. Extents of 0 in the shape become chunk extents of 1.
func NewMetadata(d tensor.DType, shape tensor.Shape, l Layout) (*Metadata, error) {
	m := &Metadata{Shape: slices.Clone(shape), DType: d, ChunkShape: slices.Clone(l.Chunk)}
	if l.Chunk == nil {
		m.ChunkShape = make([]int, len(shape))
		for i, n := range shape {
			m.ChunkShape[i] = max(n, 1)
		}
	}
	inner := append([]CodecSpec{Bytes(d)}, l.Codecs...)
	switch {
	case !l.Plain:
		sub := l.SubChunk
		if sub == nil {
			sub = m.ChunkShape
		}
		m.Codecs = []CodecSpec{Sharding(sub, inner...)}
	case l.SubChunk != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "zarr.NewMetadata", Subject: "SubChunk", Want: "none in a plain layout"}
	default:
		m.Codecs = inner
	}
	if _, err := m.chain(&document{key: "metadata", made: true}); err != nil {
		return nil, err
	}
	return m, nil
}

// Grid returns the number of chunks along each axis.
func (m *Metadata) Grid() []int {
	g := make([]int, len(m.Shape))
	for i, n := range m.Shape {
		g[i] = ceilDiv(n, m.ChunkShape[i])
	}
	return g
}

func ceilDiv(a, b int) int {
	n := a / b
	if a%b != 0 {
		n++
	}
	return n
}

// SubChunkShape returns the shape of the smallest region that can be read by
// itself, in the axes of the array: that of the innermost sub-chunks, or of the
// chunks where there are no shards.
func (m *Metadata) SubChunkShape() ([]int, error) {
	c, err := m.chain(&document{key: "metadata", made: true})
	if err != nil {
		return nil, err
	}
	axes := identity(len(m.Shape))
	for c.shard != nil {
		axes = c.storageAxes(axes)
		c = c.shard.inner
	}
	shape := make([]int, len(axes))
	for k, n := range c.shape {
		shape[axes[k]] = n
	}
	return shape, nil
}

// chain checks the metadata and binds its codecs to chunk shape and dtype.
// Faults are reported through d.
func (m *Metadata) chain(d *document) (*chain, error) {
	switch {
	case len(m.Shape) > maxRank:
		d.unsupported("rank %d, at most %d", len(m.Shape), maxRank)
	case len(m.ChunkShape) != len(m.Shape):
		d.corrupt("chunk_shape %v does not fit shape %v", m.ChunkShape, m.Shape)
	case m.DimNames != nil && len(m.DimNames) != len(m.Shape):
		d.corrupt("%d dimension_names for rank %d", len(m.DimNames), len(m.Shape))
	case m.Fill != nil && len(m.Fill) != m.DType.Size():
		d.corrupt("fill value of %d bytes for %v", len(m.Fill), m.DType)
	case m.Keys.separator() != "/" && m.Keys.separator() != ".":
		d.corrupt("separator %q", m.Keys.Separator)
	}
	if _, ok := m.DType.Zarr(); !ok {
		d.unsupported("data type %v, which zarr has no name for", m.DType)
	}
	if d.err != nil {
		return nil, d.err
	}
	if _, err := m.Shape.Bytes(m.DType); err != nil {
		d.corrupt("%v", err)
		return nil, d.err
	}
	c := buildChain(d, m.Codecs, m.DType, m.ChunkShape, 0)
	if d.err != nil {
		return nil, d.err
	}
	return c, nil
}
