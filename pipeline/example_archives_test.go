package pipeline_test

import (
	"archive/tar"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Samples of two components in an archive: the second sample has no label.
func Example_archives() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "archives")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train-000000.tar")
	f, err := os.Create(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	w := tar.NewWriter(f)
	for _, file := range [][2]string{{"a/000.txt", "first"}, {"a/000.cls", "7"}, {"a/001.txt", "second"}} {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Size: int64(len(file[1])), Mode: 0o644}); err != nil {
			fmt.Println(err)
			return
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			fmt.Println(err)
			return
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
		return
	}
	if err := f.Close(); err != nil {
		fmt.Println(err)
		return
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return fn.ReadersWebdataset(p, fn.ReadersWebdatasetArgs{Paths: []string{path}, Ext: []string{"txt", "cls;label"}})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pipe.Close()
	batch, err := pipe.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range batch.Outputs[0].NumSamples() {
		fmt.Printf("%q %q\n", batch.Outputs[0].Sample(i).Data, batch.Outputs[1].Sample(i).Data)
	}
	// Output:
	// "first" "7"
	// "second" ""
}

// The middle of each array, without the rest of the file: 2 rows of 4 in the middle of 4 rows.
func Example_arrays() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1}, func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.ReadersNumpy(p, fn.ReadersNumpyArgs{
			Files: []string{"testdata/rows.npy"}, RelRoiStart: op.Const([]float64{0.25}), RelRoiShape: op.Const([]float64{0.5}), RoiAxes: []int{0},
		})}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pipe, err := def.New(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pipe.Close()
	batch, err := pipe.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := batch.Outputs[0].Sample(0)
	values, err := tensor.Of[int32](rows)
	fmt.Println(rows.Shape, values, err)
	// Output:
	// [2,4] [4 5 6 7 8 9 10 11] <nil>
}
