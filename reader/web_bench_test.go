package reader_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// webReused is memory that Fetch writes to again and again, as the memory of an executor.
type webReused struct{ b [2][]byte }

func (r *webReused) Output(i, _, size int) []byte {
	if cap(r.b[i]) < size {
		r.b[i] = make([]byte, size)
	}
	return r.b[i][:size]
}
func (r *webReused) Scratch(size int) []byte { return make([]byte, size) }

// BenchmarkMembers compares readers.webdataset with reading the same bytes of the same file by
// pread. The figure "of-pread" is the part of the speed of pread.
func BenchmarkMembers(b *testing.B) {
	for _, size := range []int{1000, 100_000} {
		const samples = 2000
		var members []readertest.Member
		for i := range min(samples, 200_000_000/size) {
			members = append(members,
				readertest.Member{Name: fmt.Sprintf("%06d.jpg", i), Data: bytes.Repeat([]byte{byte(i)}, size)})
		}
		path := filepath.Join(b.TempDir(), "a.tar")
		if err := readertest.Tar(path, members...); err != nil {
			b.Fatal(err)
		}
		src, specs, err := openAs("readers.webdataset", op.Args{"paths": path, "ext": "jpg"})
		if err != nil {
			b.Fatal(err)
		}
		n := src.Info().Samples
		order := make([]int64, n)
		for i := range order {
			order[i] = int64(i) * 7919 % n
		}
		b.Run(fmt.Sprintf("%d", size), func(b *testing.B) {
			var block op.Block
			x := block.Binding()
			x.Memory, x.Positions, x.Specs, x.Out = &webReused{}, make([]int64,
				1), specs, [][]tensor.Tensor{make([]tensor.Tensor, 1)}
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			buffer := make([]byte, size)
			stride := int64(512 + (size+511)/512*512)
			ctx := context.Background()
			b.SetBytes(int64(size))
			b.ReportAllocs()
			pread := time.Duration(0)
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				if _, err := f.ReadAt(buffer, 512+stride*order[i%len(order)]); err != nil {
					b.Fatal(err)
				}
				pread += time.Since(start)
				other := (i + len(order)/2) % len(order) // which pread did not bring into a cache
				if err := src.Fetch(ctx, order[other:other+1], &block); err != nil || len(x.Errors) > 0 {
					b.Fatal(err, x.Errors)
				}
			}
			b.ReportMetric(float64(pread)/float64(b.Elapsed()-pread), "of-pread")
		})
		if err := src.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
