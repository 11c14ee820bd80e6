package image

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// form is what arrays of one dtype and shape have in common.
type form struct {
	enc  *zarr.Encoder
	meta []byte // zarr.json
	key  string // of the shard, below the array
	cell []int  // its place in the grid
	size int    // of the shard; 0 when there are no elements
}

// newForm plans the storage of arrays.
func newForm(d tensor.DType, shape tensor.Shape) (*form, error) {
	m, err := zarr.NewMetadata(d, shape, cut(d, shape))
	if err != nil {
		return nil, err
	}
	f := &form{cell: make([]int, len(shape))}
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
	f.key = f.enc.Key(f.cell)
	if shape.Len() == 0 {
		return f, nil
	}
	size, ok := f.enc.ChunkSize(f.cell)
	if !ok {
		return nil, &errs.Error{Kind: errs.Unsupported, Want: "codecs of fixed size"}
	}
	f.size = size
	return f, nil
}

// forms are those that were met: a model has many arrays and few shapes.
type forms map[string]*form

// of returns the form of an array.
func (fs forms) of(t tensor.Tensor) (*form, error) {
	key := strconv.AppendUint(make([]byte, 0, 64), uint64(t.DType), 10)
	for _, n := range t.Shape {
		key = strconv.AppendInt(append(key, ','), int64(n), 10)
	}
	if f, ok := fs[string(key)]; ok {
		return f, nil
	}
	f, err := newForm(t.DType, t.Shape)
	if err != nil {
		return nil, err
	}
	fs[string(key)] = f
	return f, nil
}
