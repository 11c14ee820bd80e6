package main

import (
	"context"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	epoch = images / batchSize
	few   = 4 // batches a round of the operators alone
)

type nodes = []pipeline.Node

// graphs are Bivouac's side of the cases: the graphs of peers.py in Go.
var graphs = map[string]graph{
	"train": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, labels := read(p, data, true)
		decoded := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		return nodes{normalized(p, fn.RandomResizedCrop(p, decoded, fn.RandomResizedCropArgs{Size: []int{224, 224}})), labels}
	}},
	"region": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, labels := read(p, data, true)
		decoded := fn.DecodersImageRandomCrop(p, jpegs, fn.DecodersImageRandomCropArgs{})
		return nodes{normalized(p, resized(p, decoded, true)), labels}
	}},
	"decode": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, _ := read(p, data, false)
		return nodes{fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})}
	}},
	"decode-region": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, _ := read(p, data, false)
		return nodes{fn.DecodersImageRandomCrop(p, jpegs, fn.DecodersImageRandomCropArgs{})}
	}},
	"resize": {batches: few, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{resized(p, fixed(p, noise(batchSize, 375, 500, 3)), true)}
	}},
	"resize-linear": {batches: few, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{resized(p, fixed(p, noise(batchSize, 375, 500, 3)), false)}
	}},
	"normalize": {batches: few, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{normalized(p, fixed(p, noise(batchSize, 224, 224, 3)))}
	}},
	"blur": {batches: few, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{fn.GaussianBlur(p, fixed(p, noise(batchSize, 224, 224, 3)), fn.GaussianBlurArgs{Sigma: op.Const([]float64{1})})}
	}},
	"constant-1":  {batches: 2000, iterations: true, define: constant},
	"constant-64": {batches: 1000, iterations: true, define: constant},
	"uniform-64": {batches: 1000, iterations: true, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{fn.RandomUniform(p, fn.RandomUniformArgs{})}
	}},
	"source-batch": {batches: 400, iterations: true, define: func(p *pipeline.Builder, _ string) nodes {
		small := noise(batchSize, 1024)
		return pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) {
			return []pipeline.Data{small}, nil
		}), pipeline.SourceOptions{})
	}},
	"source-sample": {batches: 100, iterations: true, define: func(p *pipeline.Builder, _ string) nodes {
		small := noise(batchSize, 1024)
		return pipeline.ExternalSource(p, pipeline.SampleFunc(func(_ context.Context, i pipeline.SampleInfo) ([]tensor.Tensor, error) {
			return small[i.IdxInBatch : i.IdxInBatch+1], nil
		}), pipeline.SourceOptions{})
	}},
	"checkpoint": {batches: 1, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, _ := read(p, data, true)
		return nodes{jpegs, fn.RandomUniform(p, fn.RandomUniformArgs{})}
	}},
}

func constant(p *pipeline.Builder, _ string) nodes {
	return nodes{fn.Constant(p, fn.ConstantArgs{FData: []float64{1}})}
}

func resized(p *pipeline.Builder, x pipeline.Node, antialias bool) pipeline.Node {
	return fn.Resize(p, x, fn.ResizeArgs{Size: op.Const([]float64{224, 224}), Antialias: op.Const(antialias)})[0]
}

// fixed gives the same batch again and again, without copying it.
func fixed(p *pipeline.Builder, samples []tensor.Tensor) pipeline.Node {
	return pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data, error) {
		return []pipeline.Data{samples}, nil
	}), pipeline.SourceOptions{NoCopy: true})[0]
}
