package reader_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// slab is memory for one output that is used again for each sample.
type slab struct{ out [3][]byte }

func (m *slab) Output(i, _, size int) []byte {
	if cap(m.out[i]) < size {
		m.out[i] = make([]byte, size)
	}
	return m.out[i][:size]
}

func (*slab) Scratch(size int) []byte { return make([]byte, size) }

// BenchmarkColumnReaders reads samples of 1 kB and 100 kB in an order that jumps. pread reads as
// many bytes from a file of the same size.
func BenchmarkColumnReaders(b *testing.B) {
	for _, size := range []int{1000, 100_000} {
		n := 64_000_000 / size
		texts := make([][]byte, n)
		for i := range texts {
			texts[i] = bytes.Repeat([]byte{byte(i)}, size)
		}
		b.Run(fmt.Sprintf("pread/%d", size), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "data")
			if err := os.WriteFile(path, bytes.Join(texts, nil), 0o666); err != nil {
				b.Fatal(err)
			}
			f, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			p := make([]byte, size)
			b.SetBytes(int64(size))
			for i := 0; b.Loop(); i++ {
				if _, err := f.ReadAt(p, int64(i*7919%n*size)); err != nil {
					b.Fatal(err)
				}
			}
		})
		dir := b.TempDir()
		sets := map[string]func() (string, op.Args, error){
			"mds": func() (string, op.Args, error) {
				return "readers.mds", op.Args{"paths": []string{dir}}, readertest.MDSOf(dir, n/2, texts)
			},
			"array_record": func() (string, op.Args, error) {
				path := filepath.Join(dir, "data.array_record")
				return "readers.array_record", op.Args{"paths": []string{path}}, readertest.ArrayRecordOf(path, 1,
					texts)
			},
			"arrow": func() (string, op.Args, error) {
				path := filepath.Join(dir, "data.arrow")
				return "readers.arrow", op.Args{"paths": []string{path}, "columns": []string{"text"}},
					os.WriteFile(path, readertest.ArrowOf(n/4, texts), 0o666)
			},
			"parquet": func() (string, op.Args, error) {
				path, rows := filepath.Join(dir, "data.parquet"), make([]parquettest.Row, n)
				for i := range rows {
					rows[i].Text = texts[i]
				}
				return "readers.parquet", op.Args{"paths": []string{path},
					"columns": []string{"text"}}, parquettest.Write(path, n/4, rows)
			},
		}
		for _, kind := range []string{"mds", "array_record", "arrow", "parquet"} {
			b.Run(fmt.Sprintf("%s/%d", kind, size),
				func(b *testing.B) { benchmarkReader(b, size, n, sets[kind], kind == "parquet") })
		}
	}
}

func benchmarkReader(b *testing.B, size, n int, build func() (string, op.Args, error), ordered bool) {
	ctx := context.Background()
	name, args, err := build()
	if err != nil {
		b.Fatal(err)
	}
	d, err := readertest.Open(ctx, name, args)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	var block op.Block
	var local any
	x := block.Binding()
	x.Memory, x.Local, x.Specs, x.Out = &slab{}, &local, d.Specs, make([][]tensor.Tensor, len(d.Specs))
	x.Positions, x.Slots = make([]int64, 1), make([]int32, 1)
	for i := range x.Out {
		x.Out[i] = make([]tensor.Tensor, 1)
	}
	ids := make([]int64, 1)
	for i := range n { // hashes are verified once
		if ids[0] = int64(i); i%(1+n/200) == 0 {
			if err := d.Fetch(ctx, ids, &block); err != nil || x.Errors[0] != nil {
				b.Fatal(err, x.Errors[0])
			}
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		ids[0] = int64(i * 7919 % n)
		if ordered {
			ids[0] = int64(i % n)
		}
		if err := d.Fetch(ctx, ids, &block); err != nil || x.Errors[0] != nil {
			b.Fatal(err, x.Errors[0])
		}
	}
}
