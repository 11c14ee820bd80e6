package zarr

import (
	"context"
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// failing is a store in which one call fails.
type failing struct {
	*mem
	after int // calls that succeed
}

var errRead = errors.New("the read failed")

func (f *failing) call() error {
	if f.after--; f.after == -1 {
		return errRead
	}
	return nil
}

func (f *failing) Get(ctx context.Context, key string) ([]byte, error) {
	if err := f.call(); err != nil {
		return nil, err
	}
	return f.mem.Get(ctx, key)
}

func (f *failing) ReadAt(ctx context.Context, key string, p []byte, off int64) error {
	if err := f.call(); err != nil {
		return err
	}
	return f.mem.ReadAt(ctx, key, p, off)
}

func (f *failing) Size(ctx context.Context, key string) (int64, error) {
	if err := f.call(); err != nil {
		return 0, err
	}
	return f.mem.Size(ctx, key)
}

// Each read of an array fails in turn: the error is the one of the read.
func TestEveryReadFails(t *testing.T) {
	ctx := context.Background()
	const width = wholeBelow / 4 // so that a sub-chunk is not read with its shard
	shape := tensor.Shape{8, width}
	for name, l := range map[string]Layout{
		"plain":            {Chunk: []int{4, width}},
		"crc32c":           {Chunk: []int{4, width}, Codecs: []CodecSpec{CRC32C()}},
		"shards":           {Chunk: []int{8, width}, SubChunk: []int{2, width}},
		"shards of crc32c": {Chunk: []int{8, width}, SubChunk: []int{2, width}, Codecs: []CodecSpec{CRC32C()}},
		"columns":          {Chunk: []int{8, width}, SubChunk: []int{8, width / 2}, Codecs: []CodecSpec{CRC32C()}},
		"zstd":             {Chunk: []int{4, width}, Codecs: []CodecSpec{Zstd(1)}},
	} {
		m, err := NewMetadata(tensor.Float32, shape, l)
		if err != nil {
			t.Fatal(err)
		}
		e, err := NewEncoder(m, EncoderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		data := make([]byte, shape.Len()*4)
		for i := range data {
			data[i] = byte(i * 7)
		}
		whole := store(t, e, data)
		for n := 0; ; n++ {
			kv := &failing{mem: whole, after: n}
			a, err := Open(ctx, kv, "a")
			if err == nil {
				err = a.ReadBox(ctx, WholeBox(shape), make([]byte, len(data)), nil)
			}
			if kv.after >= 0 {
				if err != nil || n < 2 {
					t.Errorf("%s: %d reads, error %v", name, n, err)
				}
				break
			}
			if !errors.Is(err, errRead) {
				t.Errorf("%s: read %d failed: %v", name, n, err)
			}
		}
	}
}
