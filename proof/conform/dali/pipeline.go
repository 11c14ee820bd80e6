package dali

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// daliOptions returns the options of a pipeline of the vectors: in DALI's mode, one thread, and
// seed 1 if the section gives no seed.
func daliOptions(batch int, seed *int64) dali.PipelineOptions {
	o := dali.PipelineOptions{Options: pipeline.Options{BatchSize: batch, Workers: 1, Seed: 1}, Log: silent()}
	if seed != nil {
		o.Seed = uint64(*seed)
	}
	return o
}

// silent takes what pipelines warn of.
func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// newPipeline defines a pipeline and makes it.
func newPipeline(ctx context.Context, o dali.PipelineOptions, define func(b *pipeline.Builder) ([]pipeline.Node, error)) (*dali.Pipeline, error) {
	var failed error
	def, err := dali.Define(o, func(b *pipeline.Builder) []pipeline.Node {
		nodes, err := define(b)
		failed = err
		return nodes
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	return def.New(ctx, nil)
}

// takeBatches returns copies of the next batches.
func takeBatches(ctx context.Context, p *dali.Pipeline, n int) (dalivec.Results, error) {
	var out dalivec.Results
	for range n {
		b, err := p.Next(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, samplesOf(b))
	}
	return out, nil
}

// samplesOf copies the samples of a batch: [output][sample].
func samplesOf(b *pipeline.Batch) [][]tensor.Tensor {
	var out [][]tensor.Tensor
	for _, o := range b.Outputs {
		samples := make([]tensor.Tensor, o.NumSamples())
		for i := range samples {
			samples[i] = o.Sample(i).Clone()
		}
		out = append(out, samples)
	}
	return out
}

// fileTree is the folder of the data set of n files in class folders in which the
// vectors' readers read: file k is c{k*classes//n}/f{k:05d}.jpg and holds k in ASCII. The
// cases share it. The names are in their order.
func fileTree(ctx context.Context, n, classes int) (root string, names []string, err error) {
	root = filepath.Join(suite.Scratch(ctx), fmt.Sprintf("files-%d-%d", n, classes))
	_, absent := os.Stat(root)
	for k := range n {
		name := filepath.Join(fmt.Sprintf("c%d", k*classes/n), fmt.Sprintf("f%05d.jpg", k))
		names = append(names, name)
		if absent == nil {
			continue
		}
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(file, fmt.Appendf(nil, "%d", k), 0o666); err != nil {
			return "", nil, err
		}
	}
	return root, names, nil
}

// severalPipelines makes n pipelines, which closeAll closes.
func severalPipelines(ctx context.Context, n int, o dali.PipelineOptions, define func(b *pipeline.Builder, i int) []pipeline.Node) (pipes []*dali.Pipeline, closeAll func(), err error) {
	closeAll = func() {
		for _, p := range pipes {
			p.Close() //nolint:errcheck // there is nothing to lose
		}
	}
	for i := range n {
		p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) { return define(b, i), nil })
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		pipes = append(pipes, p)
	}
	return pipes, closeAll, nil
}
