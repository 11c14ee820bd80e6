package dali_test

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Each step by itself.
func ExamplePipeline_ScheduleRun() {
	ctx := context.Background()
	def, err := dali.Define(dali.PipelineOptions{Options: pipeline.Options{BatchSize: 1}},
		func(p *pipeline.Builder) []pipeline.Node {
			return pipeline.ExternalSource(p, pipeline.BatchFunc(func(_ context.Context,
				b pipeline.BatchInfo) ([]pipeline.Data, error) {
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
	if err := pipe.ScheduleRun(ctx); err != nil { // the first call begins all that are prefetched: two
		fmt.Println(err)
		return
	}
	for {
		batch, err := pipe.ShareOutputs(ctx)
		if errors.Is(err, io.EOF) { // nothing more is scheduled
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("position", batch.Position)
		if err := pipe.ReleaseOutputs(); err != nil {
			fmt.Println(err)
			return
		}
	}
	// Output:
	// position 0
	// position 1
}

// trainer is a pipeline as a type.
type trainer struct{ size int }

// DefineGraph implements dali.Definer.
func (t trainer) DefineGraph(p *pipeline.Builder) []pipeline.Node {
	return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{t.size})}).Shape()}
}

func ExampleDefineBy() {
	def, err := dali.DefineBy(dali.PipelineOptions{}, trainer{size: 5})
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
	batch, err := pipe.Run(context.Background(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Outputs[0].Sample(0))
	// Output: int64[1] [5]
}

func ExampleTemplate() {
	template := dali.Template[int]{
		Options: dali.PipelineOptions{Options: pipeline.Options{BatchSize: 8}},
		Define: func(p *pipeline.Builder, size int) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{size})})}
		},
	}
	pipe, err := template.New(context.Background(), 5, &dali.PipelineOptions{Options: pipeline.Options{BatchSize: 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pipe.Close()
	batch, err := pipe.Next(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(batch.Outputs[0].NumSamples(), batch.Outputs[0].Sample(0).Shape)
	// Output: 2 [5]
}
