package tokenizer

import (
	"path/filepath"
	"testing"
)

// BenchmarkEncode encodes the documents of testdata.
func BenchmarkEncode(b *testing.B) {
	documents := lists(b, "documents.bin", 1)
	for _, name := range names(b) {
		b.Run(name, func(b *testing.B) {
			k, err := Open(filepath.Join("testdata", name+".json"))
			if err != nil {
				b.Fatal(err)
			}
			size := 0
			for _, d := range documents {
				size += len(d)
			}
			b.SetBytes(int64(size))
			var ids []int32
			for b.Loop() {
				for _, d := range documents {
					if ids, err = k.Encode(d, ids[:0]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
