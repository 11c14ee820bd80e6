package zarr

import (
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

// benchArray is an array of 64 MiB in 16 sub-chunks.
func benchArray(b *testing.B, sub []int, codecs ...CodecSpec) (*Encoder, Source) {
	b.Helper()
	m, err := NewMetadata(tensor.Float32, tensor.Shape{4096, 4096}, Layout{SubChunk: sub, Codecs: codecs})
	if err != nil {
		b.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{Align: 4096})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 64<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	return e, Source{Data: data, Box: WholeBox(m.Shape)}
}

func BenchmarkEncode(b *testing.B) {
	for name, c := range map[string]struct {
		sub    []int
		codecs []CodecSpec
	}{
		"rows/crc32c": {[]int{256, 4096}, []CodecSpec{CRC32C()}},
		"rows/bare":   {[]int{256, 4096}, nil},
		"tiles":       {[]int{1024, 1024}, []CodecSpec{CRC32C()}},
		"zstd":        {[]int{256, 4096}, []CodecSpec{Zstd(1)}},
	} {
		b.Run(name, func(b *testing.B) {
			e, src := benchArray(b, c.sub, c.codecs...)
			cell := []int{0, 0}
			dst := make([]byte, e.MaxChunkSize(cell))
			sums := make([]uint32, e.SubChunks())
			for b.Loop() {
				if _, _, err := e.EncodeChunk(dst, cell, src, sums); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, c := range map[string]struct {
		sub    []int
		codecs []CodecSpec
	}{
		"rows/crc32c": {[]int{256, 4096}, []CodecSpec{CRC32C()}},
		"tiles":       {[]int{1024, 1024}, []CodecSpec{CRC32C()}},
		"zstd":        {[]int{256, 4096}, []CodecSpec{Zstd(1)}},
	} {
		b.Run(name, func(b *testing.B) {
			e, src := benchArray(b, c.sub, c.codecs...)
			a, err := Open(b.Context(), store(b, e, src.Data), "a")
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]byte, len(src.Data))
			for b.Loop() {
				if err := a.ReadBox(b.Context(), src.Box, dst, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// The copy of a snapshot allocates next to nothing, whatever its size.
func TestEncodeAllocations(t *testing.T) {
	m, err := NewMetadata(tensor.Float32, tensor.Shape{512, 512}, Layout{Codecs: []CodecSpec{CRC32C()}})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEncoder(m, EncoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	src := Source{Data: make([]byte, 1<<20), Box: WholeBox(m.Shape)}
	dst, cell := make([]byte, e.MaxSubChunkSize()), []int{0, 0}
	n := testing.AllocsPerRun(10, func() {
		if _, _, err := e.EncodeSubChunk(dst, cell, 0, src); err != nil {
			t.Fatal(err)
		}
	})
	if n > 16 {
		t.Errorf("%v allocations a sub-chunk", n)
	}
}
