package writer

import (
	"context"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// array is one array on its way to disk.
type array struct {
	*form
	raw     bool // as in a safetensors file: the form is not used
	param   string
	path    tree.Path
	first   bool     // copied and written before others: Options.Copied
	tracked *tracked // nil without a Status
	src     source
	chunks  []chunk  // one for each chunk that is stored
	one     [1]chunk // memory of chunks, if there is one chunk
	size    int      // total size of the chunks in data files, if known
	file    *file    // the file of a database that holds its chunks, or nil
	watched *uint32  // checksum of the source when it was handed over
}

// chunk is one chunk of an array: what is stored under one key.
type chunk struct {
	array  *array
	at     int    // index in the list of the form
	size   int    // -1 until it is encoded, if it depends on the data
	inline []byte // the bytes, if they lie in a B+tree node or a small file
	file   *file
	offset int64 // in file

	// Set while its pieces are encoded, each by the worker that encodes that piece.
	stored []uint32 // checksum of each sub-chunk with its padding
	plain  []uint32 // checksum of the elements of the array in it
	share  []uint32 // their contribution to the checksum of the array
	one    [3]uint32
	shares [][]runShare // of a raw chunk: contribution of each piece to the checksums of sub-chunks
}

// newArray plans the storage of one array in a, or in new memory if a is nil. Small arrays are
// encoded at once, unless their elements must still be read.
func newArray(a *array, param string, src source, how Storage, known *forms) (*array, error) {
	f, err := known.of(&src, how)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = new(array)
	}
	*a = array{form: f, param: param, src: src}
	a.chunks = a.one[:0]
	mine := a.cellsOf()
	if len(mine) > 1 {
		a.chunks = make([]chunk, 0, len(mine))
	}
	for _, i := range mine {
		a.chunks = append(a.chunks, chunk{array: a, at: i, size: f.sizes[i]})
		c := &a.chunks[len(a.chunks)-1]
		c.makeSums(f.enc.SubChunks())
		if c.size < 0 || c.size > inlineBytes {
			a.size += max(0, c.size)
			continue
		}
		c.inline = make([]byte, c.size)
	}
	if src.read != nil {
		return a, nil
	}
	return a, a.fillInline(context.Background())
}

// cellsOf lists the chunks that this process writes: of a thousand processes each has a few.
func (a *array) cellsOf() []int {
	all := make([]int, 0, 1)
	for i := range a.cells {
		if a.src.grid != nil {
			if region, ok := a.chunkBox(i); !ok || !a.src.has(region) {
				continue
			}
		}
		all = append(all, i)
	}
	return all
}

// fillInline encodes the chunks that lie in B+tree nodes or small files.
func (a *array) fillInline(ctx context.Context) error {
	for i := range a.chunks {
		c := &a.chunks[i]
		if c.inFile() {
			continue
		}
		if _, err := c.encode(ctx, &piece{chunk: c, sub: wholeShard, size: c.size}, c.inline); err != nil {
			return err
		}
	}
	return nil
}

func (c *chunk) makeSums(n int) {
	sums := c.one[:]
	if n > 1 {
		sums = make([]uint32, 3*n)
	}
	c.stored, c.plain, c.share = sums[:n:n], sums[n:2*n:2*n], sums[2*n:]
}

func (c *chunk) cell() []int { return c.array.cells[c.at] }

func (c *chunk) key() string { return c.array.keys[c.at] }

// inFile reports whether the chunk lies in a data file.
func (c *chunk) inFile() bool { return c.inline == nil }

// bytes returns the size of the array.
func (a *array) bytes() int { return a.src.Shape.Len() * a.src.DType.Size() }

// region returns the part of the array that a piece of a chunk holds.
func (c *chunk) region(sub int) (zarr.Box, bool) {
	if sub != wholeShard {
		return c.array.enc.Region(c.cell(), sub)
	}
	return c.array.chunkBox(c.at)
}

// encode writes the bytes of a piece into dst and returns their checksum. dst has the size of the
// piece, unless that depends on the data; then encode sets p.size. Different pieces may be encoded
// at the same time, each once.
func (c *chunk) encode(ctx context.Context, p *piece, dst []byte) (sum uint32, err error) {
	a := c.array
	switch {
	case a.raw:
		return c.encodeRaw(ctx, p, dst)
	case p.sub == shardIndex:
		_, err = a.enc.EncodeIndex(dst, c.cell())
		return crc.Sum(dst), err
	}
	region, ok := c.region(p.sub)
	if !ok {
		return 0, &errs.Error{Kind: errs.Invalid, Want: "a sub-chunk inside of the array"}
	}
	src, done, err := a.elements(ctx, region, c.bare(p, region), dst)
	if err != nil {
		return 0, err
	}
	defer done()
	if p.sub == wholeShard {
		if p.size, sum, err = a.enc.EncodeChunk(dst, c.cell(), src, c.stored); err != nil {
			return 0, err
		}
		for i := range c.stored {
			c.sumSource(i, src)
		}
		return sum, nil
	}
	n, sum, err := a.enc.EncodeSubChunk(dst, c.cell(), p.sub, src)
	if err != nil {
		return 0, err
	}
	c.stored[p.sub] = sum
	c.sumSource(p.sub, src)
	return crc.Update(sum, dst[n-a.suffix:n]), nil
}

// elements returns memory that holds the elements of a region. It is the memory of the source, if
// one piece of it holds the region. Otherwise the elements are read or gathered: into dst if bare,
// else into scratch memory, which done releases.
func (a *array) elements(ctx context.Context, region zarr.Box, bare bool,
	dst []byte) (src zarr.Source, done func(), err error) {
	done = func() {}
	if src, ok := a.src.view(region); ok {
		return src, done, nil
	}
	n := region.Len() * a.src.DType.Size()
	if bare {
		dst = dst[:n]
	} else {
		room, _ := a.scratch.Get().(*[]byte)
		if room == nil {
			room = new([]byte)
		}
		*room = slices.Grow((*room)[:0], n)
		dst = (*room)[:n]
		done = func() { a.scratch.Put(room) }
	}
	return zarr.Source{Data: dst, Box: region}, done, a.src.fill(ctx, region, dst)
}

// bare reports whether a piece begins with the unchanged elements of region and holds no others.
func (c *chunk) bare(p *piece, region zarr.Box) bool {
	a := c.array
	return p.sub != shardIndex && a.enc.Fixed() && (p.sub != wholeShard || len(c.stored) == 1) &&
		region.Len()*a.src.DType.Size() == a.enc.MaxSubChunkSize()-a.suffix
}

// sumSource computes the checksums of the elements in sub-chunk i, which src holds.
func (c *chunk) sumSource(i int, src zarr.Source) {
	a := c.array
	region, ok := a.enc.Region(c.cell(), i)
	if !ok {
		return
	}
	size := a.src.DType.Size()
	bare := a.enc.Fixed() && region.Len()*size == a.enc.MaxSubChunkSize()-a.suffix
	if bare && region.Len()*size == a.bytes() {
		c.plain[i], c.share[i] = c.stored[i], c.stored[i]
		return
	}
	c.plain[i], c.share[i] = sumRuns(region, src, a.src.Shape, size, c.stored[i], bare)
}

// sumRuns returns the checksum of the elements of region, in C order, and their contribution to the
// checksum of an array of that shape. If known is true, sum is the checksum of the elements, and a
// region that forms one run of the array is not read.
func sumRuns(region zarr.Box, src zarr.Source, shape tensor.Shape, size int, sum uint32,
	known bool) (plain, share uint32) {
	total := shape.Len() * size
	zarr.Runs(region, src.Box, shape, size, func(at, whole, n int) {
		one := sum
		if !known || n != region.Len()*size {
			one = crc.Sum(src.Data[at : at+n])
		}
		plain = crc.Combine(plain, one, int64(n))
		share ^= crc.Combine(one, 0, int64(total-whole-n))
	})
	return plain, share
}

// run returns the bytes of the source that form a piece, if the piece is one sub-chunk without
// padding and its elements are one run of memory.
func (c *chunk) run(p *piece) ([]byte, bool) {
	a := c.array
	switch {
	case a.raw && a.src.direct() && a.src.DType.Bits()%8 == 0:
		at := p.off - c.offset
		return a.src.Data[at : at+int64(p.size)], true
	case a.raw || p.sub == shardIndex:
		return nil, false
	}
	region, ok := c.region(p.sub)
	if !ok || !c.bare(p, region) {
		return nil, false
	}
	src, ok := a.src.view(region)
	if !ok {
		return nil, false
	}
	var run []byte
	zarr.Runs(region, src.Box, src.Box.Shape, a.src.DType.Size(), func(at, _, n int) { run = src.Data[at : at+n] })
	return run, len(run) == region.Len()*a.src.DType.Size()
}

// seal works like encode for a piece whose elements are already in dst.
func (c *chunk) seal(p *piece, dst []byte) (sum uint32, err error) {
	a := c.array
	if a.raw {
		return c.sealRaw(p, dst), nil
	}
	region, _ := c.region(p.sub)
	src := zarr.Source{Data: dst[:region.Len()*a.src.DType.Size()], Box: region}
	i := max(p.sub, 0)
	if p.sub == wholeShard {
		_, sum, err = a.enc.EncodeChunk(dst, c.cell(), src, c.stored)
	} else {
		var n int
		n, c.stored[i], err = a.enc.EncodeSubChunk(dst, c.cell(), i, src)
		sum = crc.Update(c.stored[i], dst[n-a.suffix:n])
	}
	if err == nil {
		c.sumSource(i, src)
	}
	return sum, err
}

// inNode reports whether a node of a database holds the unencoded elements of the array, so that
// the hash of the nodes covers them.
func (a *array) inNode() bool {
	return !a.raw && a.enc.AtHand() && len(a.cells) == 1 && len(a.chunks) == 1 && !a.chunks[0].inFile()
}

// absent reports whether another process writes the whole of the array.
func (a *array) absent() bool { return a.src.grid != nil && len(a.chunks) == 0 && len(a.cells) > 0 }

// record returns the entry of the manifest, after all pieces were encoded.
func (a *array) record(item string) manifest.Leaf {
	l := manifest.Leaf{Item: item, Param: a.param, Size: int64(a.bytes())}
	if n := tensor.Shape(a.grid).Len(); n > 1 {
		l.Chunks = make([]uint32, n)
	}
	for i := range a.chunks {
		c := &a.chunks[i]
		for k := range c.share {
			l.CRC ^= c.share[k]
			if l.Chunks == nil {
				continue
			}
			if a.raw {
				for _, r := range c.shares[k] {
					l.Chunks[r.at] ^= r.sum
				}
				continue
			}
			region, ok := a.enc.Region(c.cell(), k)
			if !ok {
				continue
			}
			sum := c.plain[k]
			if a.tied {
				sum = c.stored[k]
			}
			l.Chunks[manifest.Place(a.grid, a.sub, region.Origin)] = sum
		}
	}
	return l
}

// unchanged returns an error if the array was changed after it was handed over.
func (a *array) unchanged(l manifest.Leaf) error {
	if a.watched == nil || *a.watched == l.CRC {
		return nil
	}
	return &errs.Error{
		Kind: errs.Mismatch, Subject: "array " + strconv.Quote(a.param), Want: "the bytes that were handed over", Got: "different bytes",
		Remedy: "change nothing before Release is called",
	}
}
