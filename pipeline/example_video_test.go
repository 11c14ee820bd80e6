package pipeline_test

import (
	"context"
	"fmt"
	"os"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader/video"
	"github.com/bivouac-ml/bivouac/tensor"
)

func ExampleFromFed() {
	in, err := video.NewInput(video.InputOptions{SequenceLength: 5, BatchSize: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer in.Close()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(p, pipeline.FromFed(in), pipeline.SourceOptions{Name: "video"})
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
	file, err := os.ReadFile("../codec/video/testdata/motion.avi") // 12 frames
	if err != nil {
		fmt.Println(err)
		return
	}
	bytes := tensor.FromSlice(file, len(file))
	if err := pipe.Feed("video", []pipeline.Data{[]tensor.Tensor{bytes}}, nil); err != nil {
		fmt.Println(err)
		return
	}
	for {
		if missing, err := pipe.Unfed(1); err != nil || len(missing) > 0 {
			break // here the next video is fed
		}
		batch, err := pipe.Next(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		for i := range batch.Outputs[0].NumSamples() {
			fmt.Println(batch.Outputs[0].Sample(i).Shape)
		}
	}
	// Output:
	// [5,48,64,3]
	// [5,48,64,3]
	// [2,48,64,3]
}
