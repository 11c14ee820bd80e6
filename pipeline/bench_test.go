package pipeline_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func measure(b *testing.B, p *pipeline.Pipeline) {
	b.Helper()
	ctx := context.Background()
	if _, err := p.Next(ctx); err != nil {
		b.Fatal(err)
	}
	samples := 0
	b.ReportAllocs()
	for b.Loop() {
		batch, err := p.Next(ctx)
		if err != nil {
			b.Fatal(err)
		}
		samples += batch.Outputs[0].NumSamples()
	}
	b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkOverhead is the cost of an iteration that does next to nothing.
func BenchmarkOverhead(b *testing.B) {
	sample := make([]byte, 1000)
	batchOf := func(n int) []pipeline.Data {
		list := make([]tensor.Tensor, n)
		for i := range list {
			list[i] = tensor.FromSlice(sample, len(sample))
		}
		return []pipeline.Data{list}
	}
	for _, c := range []struct {
		name   string
		define func(batch int) func(p *pipeline.Builder) []pipeline.Node
	}{
		{"constant", func(int) func(p *pipeline.Builder) []pipeline.Node {
			return func(p *pipeline.Builder) []pipeline.Node {
				return p.Op("constant", op.Args{"fdata": []float64{1}})
			}
		}},
		{"uniform", func(int) func(p *pipeline.Builder) []pipeline.Node {
			return func(p *pipeline.Builder) []pipeline.Node {
				return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{})}
			}
		}},
		{"external-1kB", func(n int) func(p *pipeline.Builder) []pipeline.Node {
			data := batchOf(n)
			return func(p *pipeline.Builder) []pipeline.Node {
				return pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) { return data, nil }), pipeline.SourceOptions{})
			}
		}},
	} {
		for _, batch := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s/batch=%d", c.name, batch), func(b *testing.B) {
				measure(b, start(b, pipeline.Options{BatchSize: batch}, c.define(batch)))
			})
		}
	}
}

// photographs is a folder of copies of one photograph of 640x427.
func photographs(b *testing.B, n int) string {
	b.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "flower.jpg"))
	if err != nil {
		b.Fatal(err)
	}
	dir := b.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "flowers"), 0o777); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, "flowers", fmt.Sprintf("%d.jpg", i)), data, 0o666); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkTraining is the chain of image training, from file to float32 CHW.
func BenchmarkTraining(b *testing.B) {
	dir := photographs(b, 32)
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			measure(b, start(b, pipeline.Options{BatchSize: 16, Workers: threads}, func(p *pipeline.Builder) []pipeline.Node {
				jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir, RandomShuffle: true})
				images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
				images = fn.RandomResizedCrop(p, images, fn.RandomResizedCropArgs{Size: []int{224}})
				images = fn.CropMirrorNormalize(p, images, fn.CropMirrorNormalizeArgs{
					Mirror: op.Of[int](fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})),
					Mean:   op.Const([]float64{124, 116, 104}), Std: op.Const([]float64{58, 57, 57}),
				})
				return []pipeline.Node{images, labels}
			}))
		})
	}
}

// BenchmarkRead delivers small files as they are.
func BenchmarkRead(b *testing.B) {
	dir := dataset(b, 256)
	measure(b, start(b, pipeline.Options{BatchSize: 64, Workers: 1}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dir, RandomShuffle: true})
		return []pipeline.Node{jpegs, labels}
	}))
}

func BenchmarkState(b *testing.B) {
	p := start(b, pipeline.Options{BatchSize: 4}, training(dataset(b, 23)))
	st, err := p.AppendState(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("append", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if st, err = p.AppendState(st[:0]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(st)), "bytes")
	})
	b.Run("set", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := p.SetState(st); err != nil {
				b.Fatal(err)
			}
		}
	})
}
