package main

import (
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

const epoch = images / batchSize

type nodes = []pipeline.Node

// graphs are Bivouac's side of the cases, those of peers.py in Go.
var graphs = map[string]graph{
	"train": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, labels := read(p, data, true)
		decoded := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
		return nodes{normalized(p, fn.RandomResizedCrop(p, decoded, fn.RandomResizedCropArgs{Size: []int{224, 224}})), labels}
	}},
	"decode": {batches: epoch, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, _ := read(p, data, false)
		return nodes{fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})}
	}},
	"uniform-64": {batches: 1000, iterations: true, define: func(p *pipeline.Builder, _ string) nodes {
		return nodes{fn.RandomUniform(p, fn.RandomUniformArgs{})}
	}},
	"checkpoint": {batches: 1, define: func(p *pipeline.Builder, data string) nodes {
		jpegs, _ := read(p, data, true)
		return nodes{jpegs, fn.RandomUniform(p, fn.RandomUniformArgs{})}
	}},
}
