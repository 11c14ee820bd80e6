package ocdbt

import (
	"fmt"
	"testing"
)

// benchEntries are the keys of a checkpoint of 50,000 arrays.
func benchEntries() []Entry {
	var entries []Entry
	for i := range 50_000 {
		name := fmt.Sprintf("model.layers.%05d.mlp.kernel", i)
		entries = append(entries,
			Entry{name + "/c/0/0", Ref{File: File{Name: "d/0123456789abcdef0123456789abcdef"}, Offset: int64(i) << 20, Length: 1 << 20}},
			Entry{name + "/zarr.json", InlineRef(make([]byte, 400))})
	}
	return entries
}

func BenchmarkEncodeTree(b *testing.B) {
	entries := benchEntries()
	for name, method := range map[string]Compression{"raw": CompressionNone, "zstd": CompressionZstd} {
		b.Run(name, func(b *testing.B) {
			c := OrbaxConfig([16]byte{})
			c.Compression = method
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := EncodeTree(entries, c, func(int) (File, int64) { return File{Name: "d/n"}, 0 }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeNode decodes a leaf of 100,000 entries.
func BenchmarkDecodeNode(b *testing.B) {
	for name, method := range map[string]Compression{"raw": CompressionNone, "zstd": CompressionZstd} {
		b.Run(name, func(b *testing.B) {
			c := OrbaxConfig([16]byte{})
			c.Compression = method
			nodes, root, err := EncodeTree(benchEntries(), c, func(int) (File, int64) { return File{Name: "d/n"}, 0 })
			if err != nil || len(nodes) != 1 {
				b.Fatal(len(nodes), err)
			}
			b.SetBytes(int64(len(nodes[0].Bytes)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeNode(nodes[0].Bytes, root, DefaultMaxNodeBytes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	entries := benchEntries()
	files, _, _ := build(b, OrbaxConfig([16]byte{}), entries, File{Name: "d/n"})
	db, err := Open(b.Context(), files, Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, ok, err := db.Get(b.Context(), entries[i%len(entries)].Key); !ok || err != nil {
			b.Fatal(err)
		}
		i += 7919
	}
}
