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
	raw     bool // as in a safetensors file: the form says nothing
	param   string
	path    tree.Path
	first   bool     // is copied and written before others: Options.Copied
	tracked *tracked // nil where nobody is told
	src     source
	values  []value   // one for each chunk that is stored
	one     [1]value  // memory of values, where there is one
	size    int       // of the values in data files, where that is known
	file    *dataFile // that they lie in, where it is one
	watched *uint32   // what the checksum of the source was when it was handed over
}

// value is one chunk of an array: what is stored under one key.
type value struct {
	array  *array
	at     int    // in the list of the form
	size   int    // -1 until it is encoded, where it depends on the data
	inline []byte // the bytes, when they lie in a B+tree node or a small file
	file   *dataFile
	offset int64 // in file

	// Set while its pieces are encoded, each by whoever encodes that piece.
	stored []uint32 // checksum of each sub-chunk with its padding
	plain  []uint32 // of the elements of the array in it
	share  []uint32 // what they add to the checksum of the array
	one    [3]uint32
	shares [][]runShare // of a raw value: what each piece adds to the checksums of sub-chunks
}

// newArray plans the storage of one array in a, or in memory of its own where that is
// nil. Small arrays are encoded at once, unless they are still to be read.
func newArray(a *array, param string, src source, how Storage, known *forms) (*array, error) {
	f, err := known.of(&src, how)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = new(array)
	}
	*a = array{form: f, param: param, src: src}
	a.values = a.one[:0]
	if len(f.cells) > 1 {
		a.values = make([]value, 0, len(f.cells))
	}
	for i := range f.cells {
		if region, ok := f.chunk(i); src.grid != nil && (!ok || !src.has(region)) {
			continue
		}
		a.values = append(a.values, value{array: a, at: i, size: f.sizes[i]})
		v := &a.values[len(a.values)-1]
		v.makeSums(f.enc.SubChunks())
		if v.size < 0 || v.size > inlineBytes {
			a.size += max(0, v.size)
			continue
		}
		v.inline = make([]byte, v.size)
	}
	if src.read != nil {
		return a, nil
	}
	return a, a.fillInline(context.Background())
}

// fillInline encodes the values that lie in B+tree nodes or small files.
func (a *array) fillInline(ctx context.Context) error {
	for i := range a.values {
		v := &a.values[i]
		if v.inFile() {
			continue
		}
		if _, err := v.encode(ctx, &piece{value: v, sub: wholeShard, size: v.size}, v.inline); err != nil {
			return err
		}
	}
	return nil
}

func (v *value) makeSums(n int) {
	sums := v.one[:]
	if n > 1 {
		sums = make([]uint32, 3*n)
	}
	v.stored, v.plain, v.share = sums[:n:n], sums[n:2*n:2*n], sums[2*n:]
}

func (v *value) cell() []int { return v.array.cells[v.at] }

func (v *value) key() string { return v.array.keys[v.at] }

// inFile reports whether the value lies in a data file.
func (v *value) inFile() bool { return v.inline == nil }

// bytes is the size of the array.
func (a *array) bytes() int { return a.src.Shape.Len() * a.src.DType.Size() }

// region returns the part of the array that a piece of a chunk holds.
func (v *value) region(sub int) (zarr.Box, bool) {
	if sub != wholeShard {
		return v.array.enc.Region(v.cell(), sub)
	}
	return v.array.chunk(v.at)
}

// encode writes the bytes of a piece into dst, which has its size unless that
// depends on the data, and returns their checksum. p.size becomes their number.
// Pieces may be encoded at once, each once.
func (v *value) encode(ctx context.Context, p *piece, dst []byte) (sum uint32, err error) {
	a := v.array
	switch {
	case a.raw:
		return v.encodeRaw(ctx, p, dst)
	case p.sub == shardIndex:
		_, err = a.enc.EncodeIndex(dst, v.cell())
		return crc.Sum(dst), err
	}
	region, ok := v.region(p.sub)
	if !ok {
		return 0, &errs.Error{Kind: errs.Invalid, Want: "a sub-chunk inside of the array"}
	}
	src, done, err := a.elements(ctx, region, v.bare(p, region), dst)
	if err != nil {
		return 0, err
	}
	defer done()
	if p.sub == wholeShard {
		if p.size, sum, err = a.enc.EncodeChunk(dst, v.cell(), src, v.stored); err != nil {
			return 0, err
		}
		for i := range v.stored {
			v.sumSource(i, src)
		}
		return sum, nil
	}
	n, sum, err := a.enc.EncodeSubChunk(dst, v.cell(), p.sub, src)
	if err != nil {
		return 0, err
	}
	v.stored[p.sub] = sum
	v.sumSource(p.sub, src)
	return crc.Update(sum, dst[n-a.suffix:n]), nil
}

// elements returns memory with the elements of a region: that of the source, or
// what is read or gathered, into dst where they lie at its beginning. done gives
// the memory back.
func (a *array) elements(ctx context.Context, region zarr.Box, bare bool, dst []byte) (src zarr.Source, done func(), err error) {
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

// bare reports whether a piece begins with the elements of region as they are,
// and holds no others.
func (v *value) bare(p *piece, region zarr.Box) bool {
	a := v.array
	return p.sub != shardIndex && a.enc.Fixed() && (p.sub != wholeShard || len(v.stored) == 1) &&
		region.Len()*a.src.DType.Size() == a.enc.MaxSubChunkSize()-a.suffix
}

// sumSource takes the checksums of the elements in sub-chunk i, which src holds.
func (v *value) sumSource(i int, src zarr.Source) {
	a := v.array
	region, ok := a.enc.Region(v.cell(), i)
	if !ok {
		return
	}
	size := a.src.DType.Size()
	bare := a.enc.Fixed() && region.Len()*size == a.enc.MaxSubChunkSize()-a.suffix
	if bare && region.Len()*size == a.bytes() {
		v.plain[i], v.share[i] = v.stored[i], v.stored[i]
		return
	}
	v.plain[i], v.share[i] = sumRuns(region, src, a.src.Shape, size, v.stored[i], bare)
}

// sumRuns returns the checksum of the elements of region, in C order, and what
// it adds to that of an array of that shape. Where the first is known already,
// and the region is one run of the array, nothing is read.
func sumRuns(region zarr.Box, src zarr.Source, shape tensor.Shape, size int, sum uint32, known bool) (plain, share uint32) {
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

// run returns the bytes of the source that a piece consists of, if it is one
// sub-chunk without padding whose elements are one run of memory.
func (v *value) run(p *piece) ([]byte, bool) {
	a := v.array
	switch {
	case a.raw && a.src.direct() && a.src.DType.Bits()%8 == 0:
		at := p.off - v.offset
		return a.src.Data[at : at+int64(p.size)], true
	case a.raw || p.sub == shardIndex:
		return nil, false
	}
	region, ok := v.region(p.sub)
	if !ok || !v.bare(p, region) {
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

// seal is encode for a piece whose elements are in dst already.
func (v *value) seal(p *piece, dst []byte) (sum uint32, err error) {
	a := v.array
	if a.raw {
		return v.sealRaw(p, dst), nil
	}
	region, _ := v.region(p.sub)
	src := zarr.Source{Data: dst[:region.Len()*a.src.DType.Size()], Box: region}
	i := max(p.sub, 0)
	if p.sub == wholeShard {
		_, sum, err = a.enc.EncodeChunk(dst, v.cell(), src, v.stored)
	} else {
		var n int
		n, v.stored[i], err = a.enc.EncodeSubChunk(dst, v.cell(), i, src)
		sum = crc.Update(v.stored[i], dst[n-a.suffix:n])
	}
	if err == nil {
		v.sumSource(i, src)
	}
	return sum, err
}

// inNode reports whether a database has the array in a node as its elements are,
// so that the hash of the nodes speaks for it.
func (a *array) inNode() bool {
	return !a.raw && a.enc.AtHand() && len(a.cells) == 1 && len(a.values) == 1 && !a.values[0].inFile()
}

// absent reports whether all of the array is in other images.
func (a *array) absent() bool { return a.src.grid != nil && len(a.values) == 0 && len(a.cells) > 0 }

// leaf is the entry of the manifest, when all pieces were encoded.
func (a *array) leaf(item string) manifest.Leaf {
	l := manifest.Leaf{Item: item, Param: a.param, Size: int64(a.bytes())}
	if n := tensor.Shape(a.grid).Len(); n > 1 {
		l.Chunks = make([]uint32, n)
	}
	for i := range a.values {
		v := &a.values[i]
		for k := range v.share {
			l.CRC ^= v.share[k]
			if l.Chunks == nil {
				continue
			}
			if a.raw {
				for _, r := range v.shares[k] {
					l.Chunks[r.at] ^= r.sum
				}
				continue
			}
			region, ok := a.enc.Region(v.cell(), k)
			if !ok {
				continue
			}
			sum := v.plain[k]
			if a.tied {
				sum = v.stored[k]
			}
			l.Chunks[a.place(region)] = sum
		}
	}
	return l
}

// place is where in the grid of sub-chunks, in C order, a region lies.
func (a *array) place(region zarr.Box) int {
	n := 0
	for k, g := range a.grid {
		n = n*g + region.Origin[k]/a.sub[k]
	}
	return n
}

// unchanged holds the array against what was handed over.
func (a *array) unchanged(l manifest.Leaf) error {
	if a.watched == nil || *a.watched == l.CRC {
		return nil
	}
	return &errs.Error{
		Kind: errs.Mismatch, Subject: "array " + strconv.Quote(a.param), Want: "the bytes that were handed over", Got: "others",
		Remedy: "change nothing before Release is called",
	}
}
