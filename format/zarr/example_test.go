package zarr_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
)

// values is a key-value store in memory.
type values map[string][]byte

func (v values) Get(_ context.Context, key string) ([]byte, error) {
	b, ok := v[key]
	if !ok {
		return nil, &errs.Error{Kind: errs.NotFound, Subject: key}
	}
	return b, nil
}

func (v values) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	b, err := v.Get(ctx, key)
	if err == nil {
		copy(p, b[off:])
	}
	return err
}

func (v values) Size(ctx context.Context, key string) (int64, error) {
	b, err := v.Get(ctx, key)
	return int64(len(b)), err
}

// An array of one shard with four checked sub-chunks is written, and a part of
// it read.
func Example() {
	ctx := context.Background()
	t := tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)

	meta, err := zarr.NewMetadata(t.DType, t.Shape, zarr.Layout{SubChunk: []int{1, 2}, Codecs: []zarr.CodecSpec{zarr.CRC32C()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	enc, err := zarr.NewEncoder(meta, zarr.EncoderOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	cell := []int{0, 0}
	size, _ := enc.ChunkSize(cell) // known before the data is
	shard := make([]byte, size)
	if _, _, err := enc.EncodeChunk(shard, cell, zarr.Source{Data: t.Data, Box: zarr.WholeBox(t.Shape)}, nil); err != nil {
		fmt.Println(err)
		return
	}
	document, err := meta.JSON()
	if err != nil {
		fmt.Println(err)
		return
	}

	kv := values{"w/zarr.json": document, "w/" + enc.Key(cell): shard}
	array, err := zarr.Open(ctx, kv, "w")
	if err != nil {
		fmt.Println(err)
		return
	}
	part := tensor.New(tensor.Float32, 2, 1)
	if err := array.ReadBox(ctx, zarr.Box{Origin: []int{1, 1}, Shape: part.Shape}, part.Data, nil); err != nil {
		fmt.Println(err)
		return
	}
	column, _ := tensor.Of[float32](part)
	fmt.Println(size, column)
	// Output: 116 [4 6]
}
