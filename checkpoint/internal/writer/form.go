package writer

import (
	"math"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/checkpoint/options"
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
	if f.sub, err = m.SubChunkShape(); err != nil {
		return nil, err
	}
	align := 1
	if shape.Len()*d.Size() >= alignFrom {
		align = alignOf(tensor.Shape(f.sub).Len() * d.Size())
	}
	if f.enc, err = zarr.NewEncoder(m, &zarr.EncoderOptions{Align: align}); err != nil {
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

// alignOf is on what sub-chunks begin: on blocks, or where they are small on a
// part of one that is little beside them, so that every few begin on a block.
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

// forms makes forms and keeps those that were met: a model has many arrays and
// few shapes.
type forms struct {
	layout options.Layout
	key    string // of metadata of zarr v2; "" is the format's key
	shards int    // their size, where sub-chunks of unknown encoded sizes share one
	known  map[string]*form
}

func newForms(o *Options) *forms {
	return &forms{layout: o.Layout, key: o.MetadataKey, shards: o.shardBytes(), known: map[string]*form{}}
}

// of returns the form of an array. Those that fit into a node of the database
// are not compressed.
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
		l.Chunk, l.SubChunk = l.SubChunk, nil // what is encoded at once is stored by itself
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

// Sizes that decide how arrays are cut and placed.
const (
	subChunkBytes = 4 << 20   // by default, unit of checksum, verification and partial reads
	alignFrom     = 256 << 10 // arrays from this size on begin on alignment
	alignment     = 4096      // what direct I/O wants
	suffix        = 4         // bytes of checksum behind each sub-chunk

	axisParts     = 64       // into how many an axis is cut along which boxes will be read
	axisPartBytes = 96 << 10 // of a sub-chunk, at least, where such axes are cut: what aligns it is little beside it
)

// cut returns chunks and sub-chunks of an array: one chunk over the whole of it,
// or, when it is given in parts of one shape, one for each part. Sub-chunks have
// at most about ChunkBytes; they are cut along the leading axes, so that each
// is one run of the source, but first along the axes that are named.
//
// A chunk over the whole is padded by less than one row a sub-chunk where no
// count near the ideal divides the axis.
func cut(d tensor.DType, shape tensor.Shape, part []int, how Storage) zarr.Layout {
	chunk := []int(shape.Clone())
	if part != nil {
		chunk = slices.Clone(part)
	}
	sub := slices.Clone(chunk)
	bytes := tensor.Shape(chunk).Len() * d.Size()
	if bytes == 0 {
		return zarr.Layout{}
	}
	limit, axes := how.chunkBytes(), how.ShardAxes
	if bytes > axisPartBytes {
		bytes = cutAxes(chunk, sub, shape, axes, bytes)
	}
	for axis := 0; axis < len(sub) && bytes > limit; axis++ {
		row := bytes / sub[axis]
		switch {
		case row > limit && axis < len(sub)-1:
			sub[axis], bytes = 1, row
		case chunk[axis] < shape[axis] || slices.Contains(axes, axis):
			sub[axis] = divisor(sub[axis], max(1, limit/row))
			bytes = row * sub[axis]
		default:
			count := split(chunk[axis], max(1, limit/row))
			sub[axis] = (chunk[axis] + count - 1) / count
			chunk[axis] = sub[axis] * count
			bytes = 0
		}
	}
	switch {
	case !slices.Equal(sub, chunk):
		return zarr.Layout{Chunk: chunk, SubChunk: sub}
	case part != nil:
		return zarr.Layout{Chunk: chunk}
	}
	return zarr.Layout{}
}

// cutAxes cuts sub-chunks along the named axes, each into as many parts, and
// returns their size.
func cutAxes(chunk, sub []int, shape tensor.Shape, axes []int, bytes int) int {
	var named []int
	for _, axis := range axes {
		if axis < len(sub) && !slices.Contains(named, axis) {
			named = append(named, axis)
		}
	}
	parts := axisParts
	for parts > 1 && math.Pow(float64(parts), float64(len(named)))*axisPartBytes > float64(bytes) {
		parts /= 2
	}
	for _, axis := range named {
		want := (sub[axis] + parts - 1) / parts
		row := bytes / sub[axis]
		if chunk[axis] < shape[axis] {
			sub[axis] = divisor(sub[axis], want)
		} else {
			sub[axis] = want
			chunk[axis] = (chunk[axis] + want - 1) / want * want
		}
		bytes = row * sub[axis]
	}
	return bytes
}

// split returns into how many parts to cut n rows: the fewest of at most rows rows, or up to
// twice as many when their number divides n.
func split(n, rows int) int {
	least := (n + rows - 1) / rows
	for count := least; count <= 2*least && count <= n; count++ {
		if n%count == 0 {
			return count
		}
	}
	return least
}

// divisor returns the greatest divisor of n that is at most want; when that is
// far less, the smallest that is more.
func divisor(n, want int) int {
	below, above := 1, n
	for k := 1; k*k <= n; k++ {
		if n%k != 0 {
			continue
		}
		for _, v := range [2]int{k, n / k} {
			if v <= want {
				below = max(below, v)
			} else {
				above = min(above, v)
			}
		}
	}
	if below*8 < want {
		return above
	}
	return below
}

// Grid returns the largest chunks, in number the fewest, of which each part, inside
// of the shape, is made of whole ones: those at the far edges may be smaller. It
// fails where there would be too many.
func Grid(shape tensor.Shape, parts []Part) (tensor.Shape, error) {
	grid := shape.Clone()
	for k := range grid {
		step := 0
		for _, p := range parts {
			step = gcd(step, p.Origin[k])
			if end := p.Origin[k] + p.Data.Shape[k]; end < shape[k] {
				step = gcd(step, end)
			}
		}
		if step > 0 {
			grid[k] = step
		}
	}
	if checkCount(shape, grid) != nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "shards",
			Got:    "chunks of " + grid.String() + " in " + shape.String() + ", which are too many",
			Remedy: "cut the array at multiples of a common length"}
	}
	return grid, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// regular returns the shape of the parts if they are the chunks of a regular
// grid: all of one shape, except that parts at the far edges may be smaller. It returns nil
// when they are not, or when there is only one part.
func regular(shape tensor.Shape, parts []Part) []int {
	if len(parts) < 2 {
		return nil
	}
	first := slices.IndexFunc(parts,
		func(p Part) bool { return slices.Max(append([]int{0}, p.Origin...)) == 0 && p.Data.Len() > 0 })
	if first < 0 {
		return nil
	}
	chunk := []int(parts[first].Data.Shape.Clone())
	for _, p := range parts {
		for k, o := range p.Origin {
			if o%chunk[k] != 0 || p.Data.Shape[k] != min(chunk[k], shape[k]-o) {
				return nil
			}
		}
	}
	return chunk
}
