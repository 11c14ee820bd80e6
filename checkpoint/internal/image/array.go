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
	param string
	src   tensor.Tensor
	enc   *zarr.Encoder
	meta  []byte // zarr.json
	size  int    // of the shard; 0 when the array has no elements

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
func newArray(param string, src tensor.Tensor) (*array, error) {
	m, err := zarr.NewMetadata(src.DType, src.Shape, cut(src.DType, src.Shape))
	if err != nil {
		return nil, err
	}
	a := &array{param: param, src: src}
	align := 1
	if src.Shape.Len()*src.DType.Size() >= alignFrom {
		align = alignment
	}
	if a.enc, err = zarr.NewEncoder(m, &zarr.EncoderOptions{Align: align}); err != nil {
		return nil, err
	}
	if a.meta, err = m.JSON(); err != nil {
		return nil, err
	}
	if src.Shape.Len() == 0 {
		return a, nil
	}
	size, ok := a.enc.ChunkSize(a.cell())
	if !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: param, Want: "codecs of fixed size"}
	}
	a.size = size
	n := a.enc.SubChunks()
	sums := make([]uint32, 2*n)
	a.stored, a.source = sums[:n], sums[n:]
	if size <= inlineBytes {
		a.value = make([]byte, size)
		_, err = a.encode(piece{array: a, sub: wholeShard, size: size}, a.value)
	}
	return a, err
}

// cell is the place of the one shard in the grid.
func (a *array) cell() []int { return make([]int, len(a.src.Shape)) }

// inFile reports whether the array lies in a data file.
func (a *array) inFile() bool { return a.size > 0 && a.value == nil }

// encode writes the bytes of a piece into dst, which has its size, and returns
// their checksum. Pieces may be encoded at once, each once.
func (a *array) encode(p piece, dst []byte) (sum uint32, err error) {
	cell := a.cell()
	src := zarr.Source{Data: a.src.Data, Box: zarr.WholeBox(a.src.Shape)}
	switch p.sub {
	case shardIndex:
		_, err = a.enc.EncodeIndex(dst, cell)
		return crc.Sum(dst), err
	case wholeShard:
		if _, sum, err = a.enc.EncodeChunk(dst, cell, src, a.stored); err != nil {
			return 0, err
		}
		for i := range a.stored {
			a.sumSource(cell, i)
		}
		return sum, nil
	}
	n, sum, err := a.enc.EncodeSubChunk(dst, cell, p.sub, src)
	if err != nil {
		return 0, err
	}
	a.stored[p.sub] = sum
	a.sumSource(cell, p.sub)
	return crc.Update(sum, dst[n-suffix:n]), nil
}

// sumSource sets the checksum of the bytes of the source in sub-chunk i, each of
// which is one run of it: that of the sub-chunk, unless it is padded.
func (a *array) sumSource(cell []int, i int) {
	a.source[i] = a.stored[i]
	region, ok := a.enc.Region(cell, i)
	if !ok {
		return
	}
	if n := region.Len() * a.src.DType.Size(); n != a.enc.MaxSubChunkSize()-suffix {
		at := a.at(region)
		a.source[i] = crc.Sum(a.src.Data[at : at+n])
	}
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
	l := manifest.Leaf{Item: item, Param: a.param, Size: int64(len(a.src.Data))}
	if len(a.stored) > 1 {
		l.Chunks = a.stored
	}
	cell := a.cell()
	for i, sum := range a.source {
		if region, ok := a.enc.Region(cell, i); ok {
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
	return append(out, ocdbt.Entry{Key: prefix + a.enc.Key(a.cell()), Value: ref})
}
