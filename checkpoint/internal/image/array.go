package image

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// array is one array on its way to disk.
type array struct {
	*form
	param string
	src   tensor.Tensor

	// Where it is stored.
	value  []byte    // the shard, when it lies in a B+tree node
	file   *dataFile // else
	offset int64

	watched *uint32 // what the checksum of the source was when it was handed over

	// Set while its pieces are encoded, each by whoever encodes that piece.
	stored []uint32 // checksum of each sub-chunk with its padding
	source []uint32 // checksum of the bytes of the source in it
}

// newArray plans the storage of one array. Small ones are encoded at once.
func newArray(param string, src tensor.Tensor, known forms) (*array, error) {
	f, err := known.of(src)
	if err != nil {
		return nil, err
	}
	a := &array{form: f, param: param, src: src}
	if f.size == 0 {
		return a, nil
	}
	n := a.enc.SubChunks()
	sums := make([]uint32, 2*n)
	a.stored, a.source = sums[:n], sums[n:]
	if f.size <= inlineBytes {
		a.value = make([]byte, f.size)
		_, err = a.encode(piece{array: a, sub: wholeShard, size: f.size}, a.value)
	}
	return a, err
}

// inFile reports whether the array lies in a data file.
func (a *array) inFile() bool { return a.size > 0 && a.value == nil }

// encode writes the bytes of a piece into dst, which has its size, and returns
// their checksum. Pieces may be encoded at once, each once.
func (a *array) encode(p piece, dst []byte) (sum uint32, err error) {
	src := zarr.Source{Data: a.src.Data, Box: zarr.WholeBox(a.src.Shape)}
	switch p.sub {
	case shardIndex:
		_, err = a.enc.EncodeIndex(dst, a.cell)
		return crc.Sum(dst), err
	case wholeShard:
		if _, sum, err = a.enc.EncodeChunk(dst, a.cell, src, a.stored); err != nil {
			return 0, err
		}
		for i := range a.stored {
			a.sumSource(i)
		}
		return sum, nil
	}
	n, sum, err := a.enc.EncodeSubChunk(dst, a.cell, p.sub, src)
	if err != nil {
		return 0, err
	}
	a.stored[p.sub] = sum
	a.sumSource(p.sub)
	return crc.Update(sum, dst[n-suffix:n]), nil
}

// sumSource sets the checksum of the bytes of the source in sub-chunk i, each of
// which is one run of it: that of the sub-chunk, unless it is padded.
func (a *array) sumSource(i int) {
	a.source[i] = a.stored[i]
	region, ok := a.enc.Region(a.cell, i)
	if !ok {
		return
	}
	if run := a.run(region); len(run) != a.enc.MaxSubChunkSize()-suffix {
		a.source[i] = crc.Sum(run)
	}
}

// run returns the bytes of the source in a region that is one run of it.
func (a *array) run(region zarr.Box) []byte {
	at := a.at(region)
	return a.src.Data[at : at+region.Len()*a.src.DType.Size()]
}

// bytes is the size of the array.
func (a *array) bytes() int { return a.src.Shape.Len() * a.src.DType.Size() }

// whole returns the sub-chunk that a piece consists of, if it is one, without
// padding: then its bytes are a run of the source and their checksum.
func (a *array) whole(p *piece) (i int, region zarr.Box, ok bool) {
	if p.sub == shardIndex || p.size != a.enc.MaxSubChunkSize() {
		return 0, region, false
	}
	i = max(p.sub, 0)
	region, ok = a.enc.Region(a.cell, i)
	return i, region, ok && region.Len()*a.src.DType.Size() == p.size-suffix
}

// seal is encode for a whole sub-chunk whose elements are in dst already.
func (a *array) seal(i int, region zarr.Box, dst []byte) (sum uint32, err error) {
	n, sum, err := a.enc.EncodeSubChunk(dst, a.cell, i, zarr.Source{Data: dst[:len(dst)-suffix], Box: region})
	if err != nil {
		return 0, err
	}
	a.stored[i], a.source[i] = sum, sum
	return crc.Update(sum, dst[n-suffix:n]), nil
}

// at returns where in the source the first element of a region lies.
func (a *array) at(region zarr.Box) int {
	n := 0
	for k, extent := range a.src.Shape {
		n = n*extent + region.Origin[k]
	}
	return n * a.src.DType.Size()
}

// leaf is the entry of the manifest, when all pieces were encoded.
func (a *array) leaf(item string) manifest.Leaf {
	l := manifest.Leaf{Item: item, Param: a.param, Size: int64(a.bytes())}
	if len(a.stored) > 1 {
		l.Chunks = a.stored
	}
	for i, sum := range a.source {
		if region, ok := a.enc.Region(a.cell, i); ok {
			l.CRC = crc.Combine(l.CRC, sum, int64(region.Len()*a.src.DType.Size()))
		}
	}
	return l
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

// entries are the keys of the array in the database.
func (a *array) entries() []ocdbt.Entry {
	prefix := ""
	if a.param != "" {
		prefix = a.param + "/"
	}
	out := []ocdbt.Entry{{Key: prefix + zarr.MetadataKey, Value: ocdbt.InlineRef(a.meta)}}
	if a.size == 0 {
		return out
	}
	ref := ocdbt.InlineRef(a.value)
	if a.inFile() {
		ref = ocdbt.Ref{File: ocdbt.File{Name: a.file.name}, Offset: a.offset, Length: int64(a.size)}
	}
	return append(out, ocdbt.Entry{Key: prefix + a.key, Value: ref})
}
