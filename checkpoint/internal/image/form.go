package image

import (
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// form is what arrays of one dtype, shape and cut have in common.
type form struct {
	enc     *zarr.Encoder
	meta    []byte // zarr.json or .zarray
	metaKey string
	cells   [][]int  // of the grid of chunks, in C order; none when there are no elements
	keys    []string // of the chunks, below the array
	sizes   []int    // of the chunks; -1 where that depends on the data
	suffix  int      // bytes of checksum behind each sub-chunk
	tied    bool     // sub-chunks are the bytes of their elements and this checksum
	grid    []int    // sub-chunks along each axis, those beyond the edge included
	sub     []int    // shape of a sub-chunk

	scratch sync.Pool // of *[]byte: elements of a sub-chunk that must be gathered or read first
}

// newForm plans the storage of arrays.
func newForm(d tensor.DType, shape tensor.Shape, l zarr.Layout) (*form, error) {
	if _, ok := d.Zarr(); !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Got: "dtype " + d.String(), Want: "a dtype that zarr has",
			Remedy: "cast it, or save its bytes as uint8"}
	}
	m, err := zarr.NewMetadata(d, shape, l)
	if err != nil {
		return nil, err
	}
	f := &form{metaKey: m.Format.MetadataKey()}
	align := 1
	if shape.Len()*d.Size() >= alignFrom {
		align = alignment
	}
	if f.enc, err = zarr.NewEncoder(m, &zarr.EncoderOptions{Align: align}); err != nil {
		return nil, err
	}
	if f.meta, err = m.JSON(); err != nil {
		return nil, err
	}
	if f.sub, err = m.SubChunkShape(); err != nil {
		return nil, err
	}
	if m.Format == zarr.V3 {
		f.suffix = suffix
	}
	f.tied = m.Format == zarr.V3 && f.enc.Fixed()
	f.grid = m.Grid()
	if shape.Len() > 0 {
		f.chunks(f.grid)
	}
	for k, n := range f.grid {
		f.grid[k] = n * (m.ChunkShape[k] / f.sub[k])
	}
	return f, nil
}

// chunks lists the chunks of the grid.
func (f *form) chunks(grid []int) {
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

// forms makes forms and keeps those that were met: a model has many arrays and
// few shapes.
type forms struct {
	layout      Layout
	compression Compression
	axes        []int
	known       map[string]*form
}

func newForms(o *Options) *forms {
	return &forms{layout: o.Layout, compression: o.Compression, axes: o.ShardAxes, known: map[string]*form{}}
}

// of returns the form of an array. Those that fit into a node of the database
// are not compressed.
func (fs *forms) of(s *source) (*form, error) {
	part := regular(s.Shape, s.parts)
	key := strconv.AppendUint(make([]byte, 0, 64), uint64(s.DType), 10)
	for _, n := range s.Shape {
		key = strconv.AppendInt(append(key, ','), int64(n), 10)
	}
	for _, n := range part {
		key = strconv.AppendInt(append(key, '/'), int64(n), 10)
	}
	if f, ok := fs.known[string(key)]; ok {
		return f, nil
	}
	compression := fs.compression
	if s.Shape.Len()*s.DType.Size() <= inlineBytes {
		compression = Uncompressed
	}
	l := cut(s.DType, s.Shape, part, fs.axes)
	l.Codecs = codecs(fs.layout, compression)
	if fs.layout.zarr2() {
		l.Format = zarr.V2
	}
	if l.SubChunk != nil && (fs.layout.zarr2() || compression != Uncompressed) {
		l.Chunk, l.SubChunk = l.SubChunk, nil // what is encoded at once is stored by itself
	}
	f, err := newForm(s.DType, s.Shape, l)
	if err != nil {
		return nil, err
	}
	fs.known[string(key)] = f
	return f, nil
}
