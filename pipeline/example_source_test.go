package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Samples that a function makes by their number: the position is in the state, and the
// numbers of threads and goroutines do not enter.
func ExampleExternalSource() {
	ctx := context.Background()
	squares := pipeline.SampleFunc(func(_ context.Context, s pipeline.SampleInfo) ([]tensor.Tensor, error) {
		if s.IdxInEpoch == 6 {
			return nil, io.EOF // the epoch ends
		}
		return []tensor.Tensor{tensor.FromSlice([]int32{int32(s.IdxInEpoch * s.IdxInEpoch)}, 1)}, nil
	})
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2, SourceWorkers: 4}, func(p *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(p, squares, pipeline.SourceOptions{Parallel: true, Prefetch: 2})
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
	for range 2 {
		for batch, err := range pipe.Batches(ctx) { // until io.EOF; the next range begins another epoch
			if err != nil {
				fmt.Println(err)
				return
			}
			numbers, _ := batch.Outputs[0].Tensor()
			values, _ := tensor.Of[int32](numbers)
			fmt.Println("epoch", batch.Epoch, values)
		}
	}
	// Output:
	// epoch 0 [0 1]
	// epoch 0 [4 9]
	// epoch 0 [16 25]
	// epoch 1 [0 1]
	// epoch 1 [4 9]
	// epoch 1 [16 25]
}

// A sequence, of which the last sample does not fill a batch.
func ExampleSampleSeq() {
	ctx := context.Background()
	var numbers iter.Seq2[[]tensor.Tensor, error] = func(yield func([]tensor.Tensor, error) bool) {
		for i := range int32(5) {
			if !yield([]tensor.Tensor{tensor.FromSlice([]int32{i}, 1)}, nil) {
				return
			}
		}
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2}, func(p *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(p, pipeline.SampleSeq(numbers), pipeline.SourceOptions{EachEpoch: true})
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
	for range 2 {
		n := 0
		for _, err := range pipe.Batches(ctx) {
			if err != nil {
				fmt.Println(err)
				return
			}
			n++
		}
		fmt.Println(n, "batches")
	}
	// Output:
	// 2 batches
	// 2 batches
}

// Data that the program has anyway. The first batch shows type, rank and layout.
func ExamplePipeline_Feed() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 8}, func(p *pipeline.Builder) []pipeline.Node {
		images := pipeline.ExternalSource(p, pipeline.Source{}, pipeline.SourceOptions{Name: "images"})[0]
		return []pipeline.Node{fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{Std: op.Const([]float64{255})})}
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
	for n := 1; n <= 2; n++ { // batches of any size up to the batch size
		images := tensor.New(tensor.Uint8, n, 4, 6, 3)
		if err := pipe.Feed("images", []pipeline.Data{images}, &pipeline.FeedOptions{Layout: "HWC"}); err != nil {
			fmt.Println(err)
			return
		}
		batch, err := pipe.Next(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		out, _ := batch.Outputs[0].Tensor()
		fmt.Println(out, out.Layout)
	}
	// Output:
	// float32[1,3,4,6] NCHW
	// float32[2,3,4,6] NCHW
}

// A file that is no image is passed over, and noted.
func ExamplePipeline_Faults() {
	ctx := context.Background()
	bad, err := os.CreateTemp("", "*.jpg")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(bad.Name())
	bad.Close()
	options := pipeline.Options{
		BatchSize: 3,
		OnError:   map[string]faults.Action{"train": faults.Skip},
	}
	def, err := pipeline.Define(options, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "train", Files: []string{"testdata/flower.jpg", bad.Name(), "testdata/flower.jpg"}})
		return []pipeline.Node{fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{}), labels}
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
	fmt.Println("samples", batch.IDs)
	for _, f := range pipe.Faults().Last {
		fmt.Println("position", f.Position, "of", f.Reader, "was left out:", f.Action)
	}
	// Output:
	// samples [0 2]
	// position 1 of train was left out: skip
}

// A consumer that says itself when each batch is begun, taken and released.
func ExamplePipeline_Begin() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1}, func(p *pipeline.Builder) []pipeline.Node {
		return pipeline.ExternalSource(p, pipeline.BatchFunc(func(_ context.Context, b pipeline.BatchInfo) ([]pipeline.Data, error) {
			return []pipeline.Data{tensor.FromSlice([]int32{int32(b.Iteration)}, 1)}, nil
		}), pipeline.SourceOptions{})
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
	for range 2 {
		if _, err := pipe.Begin(ctx, true); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println(pipe.InFlight(), "batches in the making")
	for {
		batch, err := pipe.Take(ctx)
		if errors.Is(err, io.EOF) { // no other batch was begun
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("position", batch.Position)
		if err := pipe.Release(); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// 2 batches in the making
	// position 0
	// position 1
}
