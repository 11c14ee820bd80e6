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

// Format is the version of the zarr specification that the keys of an array
// follow.
type Format uint8

// The formats. The zero value is the current one.
const (
	V3 Format = iota
	V2
)

// MetadataKey returns the key of the metadata of an array, relative to the array.
func (f Format) MetadataKey() string {
	if f == V2 {
		return ".zarray"
	}
	return "zarr.json"
}

// MetadataKey is the key of the metadata of an array of format 3, relative to
// the array.
const MetadataKey = "zarr.json"

// Metadata describes an array. The members mean the same in all formats. In
// format 2 the codecs are at most a transpose to Fortran order, then bytes, and
// at most one compressor, in the words of that format.
type Metadata struct {
	Format     Format
	Shape      tensor.Shape
	DType      tensor.DType
	ChunkShape []int // of the chunks in the grid; every extent is at least 1
	Keys       KeyEncoding
	Fill       []byte          // one element, in the layout of tensors; nil is zero, in format 2 null
	Codecs     []CodecSpec     // of a chunk, in the order of encoding
	DimNames   []string        // of each axis, "" where it has none; nil: no names at all; none in format 2
	Attributes json.RawMessage // none in format 2, which keeps them under a key of its own
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
	SubChunk []int       // shape of a sub-chunk; nil: the chunk's shape
	Plain    bool        // chunks without shards; SubChunk must be nil
	Codecs   []CodecSpec // bytes → bytes codecs of each sub-chunk (or plain chunk), after the codec "bytes"
	Format   Format      // V2: chunks are plain, and Codecs is at most one compressor
	Fortran  bool        // of plain chunks: elements lie in Fortran order
}

// NewMetadata returns the metadata of an array that is cut as l says: shards of
// little-endian sub-chunks with a checked index at their end, as Orbax writes
// them, or plain chunks. Extents of 0 in the shape become chunk extents of 1.
func NewMetadata(d tensor.DType, shape tensor.Shape, l Layout) (*Metadata, error) {
	m := &Metadata{Format: l.Format, Shape: slices.Clone(shape), DType: d, ChunkShape: slices.Clone(l.Chunk)}
	if l.Format == V2 {
		m.Keys.V2, l.Plain = true, true
	}
	if l.Chunk == nil {
		m.ChunkShape = make([]int, len(shape))
		for i, n := range shape {
			m.ChunkShape[i] = max(n, 1)
		}
	}
	inner := append([]CodecSpec{Bytes(d)}, l.Codecs...)
	switch {
	case !l.Plain && l.Fortran:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "zarr.NewMetadata", Subject: "Fortran", Want: "a plain layout"}
	case !l.Plain:
		sub := l.SubChunk
		if sub == nil {
			sub = m.ChunkShape
		}
		m.Codecs = []CodecSpec{Sharding(sub, inner...)}
	case l.SubChunk != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "zarr.NewMetadata", Subject: "SubChunk", Want: "no sub-chunk in a plain layout"}
	case l.Fortran && len(shape) > 1:
		m.Codecs = append([]CodecSpec{Fortran(len(shape))}, inner...)
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

// SubChunkShape returns the shape of the smallest region that can be read by itself, in the axes of
// the array: the shape of the innermost sub-chunks, or of the chunks if there are no shards.
func (m *Metadata) SubChunkShape() ([]int, error) {
	c, err := m.chain(&document{key: "metadata", made: true})
	if err != nil {
		return nil, err
	}
	return c.subChunkShape(), nil
}

// subChunkShape returns the shape of the innermost chunk along the axes of the
// array.
func (c *chain) subChunkShape() []int {
	axes := identity(len(c.shape))
	for c.shard != nil {
		axes = c.storageAxes(axes)
		c = c.shard.inner
	}
	shape := make([]int, len(axes))
	for k, n := range c.shape {
		shape[axes[k]] = n
	}
	return shape
}

// chain checks the metadata and binds its codecs to chunk shape and dtype.
// Faults are reported through d.
func (m *Metadata) chain(d *document) (*chain, error) {
	d.format = m.Format
	switch {
	case m.Format > V2:
		d.corrupt("format %d", m.Format)
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
	if _, ok := m.DType.Zarr(); !ok { // nor has format 2
		d.unsupported("data type %v, which zarr has no name for", m.DType)
	}
	if m.Format == V2 {
		d.checkV2(m)
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
