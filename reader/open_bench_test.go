package reader_test

import (
	"context"
	"os"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
)

// BenchmarkOpenFiles opens the data set that BIVOUAC_FILES names.
func BenchmarkOpenFiles(b *testing.B) {
	root := os.Getenv("BIVOUAC_FILES")
	if root == "" {
		b.Skip("BIVOUAC_FILES names no data set")
	}
	s, err := op.Lookup("readers.file")
	if err != nil {
		b.Fatal(err)
	}
	o, err := reader.Lookup(s)
	if err != nil {
		b.Fatal(err)
	}
	c, _, err := op.Resolve(s, "r", 0, map[string]op.Argument{"file_root": {Const: root}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		f, err := o.Open(context.Background(), c)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(f.Info().Samples), "files")
	}
}
