package image

import (
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// array is one array on its way into an image.
type array struct {
	param string
	src   tensor.Tensor
	enc   *zarr.Encoder
	meta  []byte // zarr.json
	size  int    // of the shard; 0 when the array has no elements

	// Set when it has a place.
	inline bool
	file   int // index into the item's data files
	offset int64
	dst    []byte // size bytes, in the image or, when inline, apart

	// Set when it is encoded.
	sum  uint32 // of the shard
	leaf manifest.Leaf
}

// newArray plans the storage of one array.
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
	return a, nil
}

// cell is the place of the one shard in the grid.
func (a *array) cell() []int { return make([]int, len(a.src.Shape)) }

// encode writes the shard to its place and takes the checksums on the way. It
// may run for several arrays at once.
func (a *array) encode() error {
	a.leaf = manifest.Leaf{Param: a.param, Size: int64(len(a.src.Data))}
	if a.size == 0 {
		return nil
	}
	cell := a.cell()
	sums := make([]uint32, a.enc.SubChunks())
	n, sum, err := a.enc.EncodeChunk(a.dst, cell, zarr.Source{Data: a.src.Data, Box: zarr.WholeBox(a.src.Shape)}, sums)
	if err != nil {
		return err
	}
	a.dst, a.sum = a.dst[:n], sum
	if len(sums) > 1 {
		a.leaf.Chunks = sums
	}
	a.leaf.CRC = a.sourceSum(cell, sums)
	return nil
}

// sourceSum combines the checksum of the whole array from those of its
// sub-chunks, each of which is one run of the source, the last one aside when
// it is padded.
func (a *array) sourceSum(cell []int, sums []uint32) uint32 {
	total, at := uint32(0), 0
	sub, err := a.enc.Metadata().SubChunkShape()
	if err != nil {
		return crc.Sum(a.src.Data)
	}
	full := tensor.Shape(sub).Len() * a.src.DType.Size()
	for i, sum := range sums {
		region, ok := a.enc.Region(cell, i)
		if !ok {
			continue
		}
		n := region.Len() * a.src.DType.Size()
		if n != full {
			sum = crc.Sum(a.src.Data[at : at+n])
		}
		total = crc.Combine(total, sum, int64(n))
		at += n
	}
	return total
}

// entries are the keys of the array in the database.
func (a *array) entries(files []dataFile) []ocdbt.Entry {
	prefix := ""
	if a.param != "" {
		prefix = a.param + "/"
	}
	out := []ocdbt.Entry{{Key: prefix + zarr.MetadataKey, Value: ocdbt.InlineRef(a.meta)}}
	if a.size == 0 {
		return out
	}
	ref := ocdbt.InlineRef(a.dst)
	if !a.inline {
		ref = ocdbt.Ref{File: ocdbt.File{Name: files[a.file].name}, Offset: a.offset, Length: int64(len(a.dst))}
	}
	return append(out, ocdbt.Entry{Key: prefix + a.enc.Key(a.cell()), Value: ref})
}
