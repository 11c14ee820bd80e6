package reader_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// The tiny data sets of package readertest have as many samples as asked for, and all can be read.
func TestTinyDataSets(t *testing.T) {
	for name, data := range readertest.All {
		for _, n := range []int{1, 2, 7} {
			reader, args, err := data(t.TempDir(), n)
			if err != nil {
				t.Fatal(err)
			}
			src := must(t, reader, args)
			if src.Info().Samples != int64(n) || src.Info().Format != reader {
				t.Errorf("%s: %+v, want %d samples", name, src.Info(), n)
			}
			for id := range int64(n) {
				src.get(t, id)
			}
		}
	}
}
