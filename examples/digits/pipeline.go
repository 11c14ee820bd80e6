package digits

import (
	"context"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// PipelineOptions are what a pipeline leaves open. Threads and Prefetch do not
// enter what it delivers; 0 is the pipeline's default.
type PipelineOptions struct {
	Seed     uint64
	Threads  int // that decode and augment
	Prefetch int // batches in the making
}

// What pixels, 0 to 255, are centred at and divided by.
const mean, deviation = 128, 64

// Pixel is the pixel, 0 to 255, that a normalised value is nearest to.
func Pixel(v float32) uint8 {
	return uint8(math.Round(max(0, min(255, float64(v)*deviation+mean))))
}

// TrainPipeline opens the training digits: shuffled anew each epoch, cropped at
// random to at least four fifths of their area, of varied brightness and
// contrast. A batch has BatchSize images, float32 [1, Side, Side], and labels,
// int32 [1].
func TrainPipeline(ctx context.Context, d Dataset, o PipelineOptions) (*pipeline.Pipeline, error) {
	return open(ctx, o, order.Span, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "digits", FileRoot: d.TrainDir(), RandomShuffle: true})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{OutputType: op.Gray})
		images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{
			Name: "window", Size: []int{Side}, RandomArea: []float64{0.8, 1}, RandomAspectRatio: []float64{0.9, 1.1}})
		images = fn.BrightnessContrast(p, images, fn.BrightnessContrastArgs{
			Brightness: op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Name: "brightness", Range: op.Const([]float64{0.8, 1.2})})),
			Contrast:   op.Of[float64](fn.RandomUniform(p, fn.RandomUniformArgs{Name: "contrast", Range: op.Const([]float64{0.8, 1.2})})),
		})
		return []pipeline.Node{normalize(p, images), labels}
	})
}

// TestPipeline opens the test digits in their order, cropped at the centre. An
// epoch ends with a smaller batch.
func TestPipeline(ctx context.Context, d Dataset, o PipelineOptions) (*pipeline.Pipeline, error) {
	return open(ctx, o, order.Short, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: "digits", FileRoot: d.TestDir()})
		images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{OutputType: op.Gray})
		return []pipeline.Node{normalize(p, images), labels}
	})
}

func open(ctx context.Context, o PipelineOptions, last order.Tail, define func(*pipeline.Builder) []pipeline.Node) (*pipeline.Pipeline, error) {
	def, err := pipeline.Define(pipeline.Options{
		BatchSize: BatchSize, Seed: o.Seed, Tail: last, Workers: o.Threads, Prefetch: o.Prefetch,
	}, define)
	if err != nil {
		return nil, err
	}
	return def.New(ctx, nil)
}

// normalize cuts the central window out of images and makes it a float32 CHW tensor.
func normalize(p *pipeline.Builder, images pipeline.Node) pipeline.Node {
	return fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{
		Crop: op.Const([]float64{Side, Side}), Mean: op.Const([]float64{mean}), Std: op.Const([]float64{deviation})})
}

// Accuracy returns the share of the test digits that s classifies rightly,
// from 0 to 1. threads does not enter the result.
func Accuracy(ctx context.Context, s *State, d Dataset, threads int) (float64, error) {
	pipe, err := TestPipeline(ctx, d, PipelineOptions{Threads: threads})
	if err != nil {
		return 0, err
	}
	defer pipe.Close()
	c, right := newClassifier(s), 0
	for batch, err := range pipe.Batches(ctx) {
		if err != nil {
			return 0, err
		}
		n, err := c.right(batch.Outputs[0], batch.Outputs[1])
		if err != nil {
			return 0, err
		}
		right += n
	}
	return float64(right) / float64(pipe.NumSamples()), nil
}
