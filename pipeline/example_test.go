package pipeline_test

import (
	"context"
	"fmt"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// A pipeline for training, interrupted and carried on by another one.
func Example() {
	ctx := context.Background()
	def, err := pipeline.Define(pipeline.Options{BatchSize: 2, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{
			Files:         []string{"testdata/flower.jpg", "testdata/flower.jpg", "testdata/flower.jpg"}, // or FileRoot
			RandomShuffle: true,
		})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{32}, RandomArea: []float64{0.8, 1}})
		images = fn.BrightnessContrast(p, images, fn.BrightnessContrastArgs{
			Contrast: op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.9, 1.1})})),
		})
		images = fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{
			Mean: op.Const([]float64{124, 116, 104}), Std: op.Const([]float64{58, 57, 57}),
		})
		return []pipeline.Node{images, labels}
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
	for batch, err := range pipe.Batches(ctx) { // one epoch
		if err != nil {
			fmt.Println(err)
			return
		}
		images, err := batch.Outputs[0].Tensor()
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("epoch", batch.Epoch, "batch", batch.Index, images, images.Layout)
	}

	saved, err := pipe.AppendState(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	later, err := def.New(ctx, &pipeline.Options{Workers: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer later.Close()
	if err := later.SetState(saved); err != nil {
		fmt.Println(err)
		return
	}
	batch, err := later.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("epoch", batch.Epoch, "batch", batch.Index)
	// Output:
	// epoch 0 batch 0 float32[2,3,32,32] NCHW
	// epoch 0 batch 1 float32[1,3,32,32] NCHW
	// epoch 1 batch 0
}
