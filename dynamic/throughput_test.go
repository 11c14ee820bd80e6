package dynamic_test

import (
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/photos"
	"github.com/bivouac-ml/bivouac/tensor"
)

var (
	toSquare  = opargs.Resize{Size: op.Const([]float64{224, 224})}
	normalize = opargs.CropMirrorNormalize{Mean: op.Const([]float64{124, 116, 104}), Std: op.Const([]float64{58, 57, 57})}
)

// BenchmarkTraining is decoding, resizing and normalizing 64 photographs, as a pipeline
// and call by call.
func BenchmarkTraining(b *testing.B) {
	const n = 64
	files := make([]tensor.Tensor, n)
	for i := range files {
		jpeg, err := photos.JPEG(i)
		if err != nil {
			b.Fatal(err)
		}
		files[i] = tensor.FromSlice(jpeg)
	}
	ctx := context.Background()
	const threads = 2
	b.Run("pipeline", func(b *testing.B) {
		d, err := pipeline.Define(pipeline.Options{BatchSize: n, Workers: threads},
			func(p *pipeline.Builder) []pipeline.Node {
				jpegs := pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) {
					return []pipeline.Data{files}, nil
				}), pipeline.SourceOptions{NoCopy: true})[0]
				images := p.Op("decoders.image", nil, jpegs)[0]
				return p.Op("crop_mirror_normalize", normalize, p.Op("resize", toSquare, images)[0])
			})
		if err != nil {
			b.Fatal(err)
		}
		p, err := d.New(ctx, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer p.Close()
		for range 3 { // as many frames as are under way are made at first
			if _, err := p.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "samples/s")
	})
	for _, mode := range modes {
		for _, release := range []bool{false, true} {
			name := mode.String()
			if release {
				name += " release"
			}
			b.Run(name, func(b *testing.B) {
				e := dynamic.NewEvalContext(dynamic.Options{Workers: threads})
				defer e.Close()
				ctx := dynamic.WithMode(dynamic.With(ctx, e), mode)
				jpegs := dynamic.BatchOf(files, dynamic.Form{NoCopy: true})
				b.ReportAllocs()
				for b.Loop() {
					images := fn.DecodersImage(ctx, jpegs, opargs.DecodersImage{})
					small := fn.Resize(ctx, images, toSquare)[0]
					out := fn.CropMirrorNormalize(ctx, small, normalize)
					if err := out.Evaluate(ctx); err != nil {
						b.Fatal(err)
					}
					if release {
						images.Release()
						small.Release()
						out.Release()
					}
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}
