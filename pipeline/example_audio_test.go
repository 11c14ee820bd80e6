package pipeline_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A second of sound becomes 80 log mels. Its speed varies at random, and a range of frequencies and
// a range of times are masked.
func Example_logMels() {
	tone := make([]float32, 16000)
	for i := range tone {
		tone[i] = float32(math.Sin(2 * math.Pi * 440 * float64(i) / 16000))
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 1, Seed: 1}, func(p *pipeline.Builder) []pipeline.Node {
		sound := pipeline.ExternalSource(p, pipeline.BatchFunc(
			func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) {
				return []pipeline.Data{[]tensor.Tensor{tensor.FromSlice(tone, len(tone))}}, nil
			}), pipeline.SourceOptions{})[0]
		speed := fn.RandomUniform(p, fn.RandomUniformArgs{Range: op.Const([]float64{0.9, 1.1})})
		fast := fn.TimeStretch(p, sound, fn.TimeStretchArgs{Rate: op.Of[float64](speed), Nfft: op.Const(512)})
		mels := fn.LogMel(p, fast, fn.LogMelArgs{
			Nfft: op.Const(512), WindowLength: op.Const(400), WindowStep: op.Const(160), PreemphCoeff: op.Const(0.97),
			SampleRate: op.Const(16000.0), Nfilter: op.Const(80), CutoffDb: op.Const(-80.0),
		})
		masked := fn.FreqMask(p, mels, fn.FreqMaskArgs{MaxWidth: op.Const(27), FillValue: op.Const(-80.0)})
		masked = fn.TimeMask(p, masked, fn.TimeMaskArgs{
			MaxWidth: op.Const(100), MaxFraction: op.Const(0.2), FillValue: op.Const(-80.0),
		})
		return []pipeline.Node{masked}
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	pipe, err := def.New(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pipe.Close()
	for range 3 {
		batch, err := pipe.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Outputs[0].Sample(0))
	}
	// Output:
	// float32[80,93]
	// float32[80,108]
	// float32[80,106]
}
