package main

import (
	"context"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

// pipelined is the case of images as a pipeline.
func pipelined(ctx context.Context, r turns.Request) (turns.Runner, error) {
	def, err := pipeline.Define(pipeline.Options{BatchSize: batchSize, Workers: r.Threads}, func(p *pipeline.Builder) []pipeline.Node {
		jpegs, _ := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: filepath.Join(r.Data, "train")})
		return []pipeline.Node{fn.Resize(p, fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{}), fn.ResizeArgs{Size: op.Const([]float64{224, 224})})[0]}
	})
	if err != nil {
		return nil, err
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	begin, err := p.AppendState(nil)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (units int, digest uint64, err error) {
		for b, err := range p.Batches(ctx) {
			if err != nil {
				return 0, 0, err
			}
			units += b.Outputs[0].NumSamples()
			digest ^= turns.Fold(b.Outputs[0])
		}
		// What is made ahead now would not count, and would take the time of the side that is next.
		return units, digest, p.SetState(begin)
	}, nil
}
