package writer

import (
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// form holds the properties that arrays of one dtype, shape and cut share.
type form struct {
	enc     *zarr.Encoder
	meta    []byte // zarr.json or .zarray
	metaKey string
	cells   [][]int  // cells of the grid of chunks, in C order; empty without elements
	keys    []string // keys of the chunks, relative to the array
	sizes   []int    // sizes of the chunks; -1 if the size depends on the data
	suffix  int      // bytes of checksum behind each sub-chunk
	tied    bool     // sub-chunks are the bytes of their elements and this checksum
	grid    []int    // sub-chunks along each axis, including those beyond the edge
	sub     []int    // shape of a sub-chunk

	scratch sync.Pool // of *[]byte: elements of a sub-chunk that must be gathered or read first
}

// newForm plans the storage of arrays.
func newForm(d tensor.DType, shape tensor.Shape, l zarr.Layout) (*form, error) {
	if _, ok := d.Zarr(); !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Got: "dtype " + d.String(), Want: "a dtype that zarr supports",
			Remedy: "cast it, or save its bytes as uint8"}
	}
	m, err := zarr.NewMetadata(d, shape, l)
	if err != nil {
		return nil, err
	}
	f := &form{metaKey: m.Format.MetadataKey()}
	if f.sub, err = m.SubChunkShape(); err != nil {
		return nil, err
	}
	align := 1
	if shape.Len()*d.Size() >= alignFrom {
		align = alignOf(tensor.Shape(f.sub).Len() * d.Size())
	}
	if f.enc, err = zarr.NewEncoder(m, zarr.EncoderOptions{Align: align}); err != nil {
		return nil, err
	}
	if f.meta, err = m.JSON(); err != nil {
		return nil, err
	}
	if m.Format == zarr.V3 {
		f.suffix = suffix
	}
	f.tied = m.Format == zarr.V3 && f.enc.Fixed()
	f.grid = m.Grid()
	if shape.Len() > 0 {
		f.listChunks(f.grid)
	}
	for k, n := range f.grid {
		f.grid[k] = n * (m.ChunkShape[k] / f.sub[k])
	}
	return f, nil
}

// chunkBox returns the part of the array that chunk i of the list holds.
func (f *form) chunkBox(i int) (zarr.Box, bool) {
	m := f.enc.Metadata()
	box := zarr.Box{Origin: slices.Clone(f.cells[i]), Shape: m.ChunkShape}
	for k := range box.Origin {
		box.Origin[k] *= m.ChunkShape[k]
	}
	return box.Intersect(zarr.WholeBox(m.Shape))
}

// alignOf returns the alignment of sub-chunks: a block, or for small sub-chunks a fraction of a
// block that is small beside them, so that some of them begin on a block.
func alignOf(subChunkBytes int) int {
	align := alignment
	for align > 1 && align > subChunkBytes/16 {
		align /= 2
	}
	return align
}

// listChunks lists the chunks of the grid.
func (f *form) listChunks(grid []int) {
	cell := make([]int, len(grid))
	for {
		at := append([]int(nil), cell...)
		size, ok := f.enc.ChunkSize(at)
		if !ok {
			size = -1
		}
		f.cells, f.keys, f.sizes = append(f.cells, at), append(f.keys, f.enc.Key(at)), append(f.sizes, size)
		k := len(cell) - 1
		for ; k >= 0; k-- {
			if cell[k]++; cell[k] < grid[k] {
				break
			}
			cell[k] = 0
		}
		if k < 0 {
			return
		}
	}
}

// forms makes forms and caches them: a model has many arrays and few shapes.
type forms struct {
	layout options.Layout
	key    string // of metadata of zarr v2; "" is the key of the format
	shards int    // size of shards, in which sub-chunks of unknown encoded size are grouped
	known  map[string]*form
}

func newForms(o *Options) *forms {
	return &forms{layout: o.Layout, key: o.MetadataKey, shards: o.shardBytes(), known: map[string]*form{}}
}

// of returns the form of an array. Arrays that fit into a node of the database are not compressed.
func (fs *forms) of(s *source, how Storage) (*form, error) {
	if s.Shape.Len()*s.DType.Size() <= inlineBytes {
		how.Compression = options.Uncompressed
	}
	part := s.cells()
	key := strconv.AppendUint(make([]byte, 0, 64), uint64(s.DType), 10)
	for _, n := range s.Shape {
		key = strconv.AppendInt(append(key, ','), int64(n), 10)
	}
	for _, n := range part {
		key = strconv.AppendInt(append(key, '/'), int64(n), 10)
	}
	key = strconv.AppendInt(append(key, ' '), int64(how.ChunkBytes), 10)
	key = append(key, byte(how.Compression))
	for _, axis := range how.ShardAxes {
		key = strconv.AppendInt(append(key, ','), int64(axis), 10)
	}
	if f, ok := fs.known[string(key)]; ok {
		return f, nil
	}
	l := cut(s.DType, s.Shape, part, how)
	if err := checkCount(s.Shape, l.SubChunk); err != nil {
		return nil, err
	}
	l.Codecs = codecs(fs.layout, how.Compression)
	if inZarr2(fs.layout) {
		l.Format = zarr.V2
	}
	switch {
	case l.SubChunk == nil:
	case inZarr2(fs.layout) || how.Compression != options.Uncompressed && InDatabase(fs.layout):
		l.Chunk, l.SubChunk = l.SubChunk, nil // each sub-chunk is stored by itself
	case how.Compression != options.Uncompressed:
		l.Chunk = shard(l.Chunk, l.SubChunk, fs.shards/s.DType.Size(), part != nil)
	}
	f, err := newForm(s.DType, s.Shape, l)
	if err != nil {
		return nil, err
	}
	if fs.key != "" && inZarr2(fs.layout) {
		f.metaKey = fs.key
	}
	fs.known[string(key)] = f
	return f, nil
}
