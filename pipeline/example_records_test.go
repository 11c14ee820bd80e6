package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Features of the examples in TFRecord files, one of them absent in every other example.
func ExampleBuilder_records() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "train.tfrecord")
	if err := writeExamples(path); err != nil {
		fmt.Println(err)
		return
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return fn.ReadersTfrecord(p, fn.ReadersTfrecordArgs{
			Path: []string{path},
			Features: []op.Feature{
				op.FixedLen("image", nil, tensor.Uint8, ""),
				op.FixedLen("label", []int{1}, tensor.Int64, -1),
				op.VarLen("boxes", tensor.Float32, nil, 4),
			},
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	pipe, err := def.New(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pipe.Close()
	for batch, err := range pipe.Batches(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		images, labels, boxes := batch.Outputs[0], batch.Outputs[1], batch.Outputs[2]
		for i := range images.NumSamples() {
			label, _ := tensor.Of[int64](labels.Sample(i))
			fmt.Printf("%s %d boxes%v\n", images.Sample(i).Data, label, boxes.Sample(i).Shape)
		}
	}
	// Output:
	// image 0 [0] boxes[0,4]
	// image 1 [-1] boxes[1,4]
	// image 2 [2] boxes[2,4]
	// image 3 [-1] boxes[3,4]
}

// writeExamples writes a file of four examples.
func writeExamples(path string) error {
	var file []byte
	for i := range 4 {
		features := map[string]any{"image": fmt.Sprint("image ", i), "boxes": make([]float32, 4*i)}
		if i%2 == 0 {
			features["label"] = []int64{int64(i)}
		}
		message, err := tfrecord.EncodeExample(features)
		if err != nil {
			return err
		}
		file = tfrecord.Append(file, message)
	}
	return os.WriteFile(path, file, 0o666)
}
