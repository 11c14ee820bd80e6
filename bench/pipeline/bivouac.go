package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

const batchSize = 64

func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	if r.Who == "limit" {
		return memory(r.Threads), nil
	}
	g, ok := graphs[r.Case]
	if !ok {
		return nil, fmt.Errorf("no case %q", r.Case)
	}
	o := pipeline.Options{BatchSize: batchSize, Workers: r.Threads, Seed: 1, Tail: order.Span}
	if r.Case == "constant-1" {
		o.BatchSize = 1
	}
	def, err := pipeline.Define(o, func(p *pipeline.Builder) []pipeline.Node { return g.define(p, r.Data) })
	if err != nil {
		return nil, err
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	if r.Case == "checkpoint" {
		if _, err := p.Next(ctx); err != nil {
			return nil, err
		}
		return turns.States(20_000, p.AppendState), nil
	}
	return func(ctx context.Context) (units int, digest uint64, err error) {
		for range g.batches {
			b, err := p.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			for _, o := range b.Outputs {
				digest ^= turns.Fold(o)
			}
		}
		if g.iterations {
			return g.batches, digest, nil
		}
		return g.batches * o.BatchSize, digest, nil
	}, nil
}

// memory moves the bytes of the normalize case: reads a byte and writes a float a
// value, by copies from a cached source, each thread its own.
func memory(threads int) turns.Runner {
	const values = 224 * 224 * 3
	done := make(chan bool)
	return func(context.Context) (int, uint64, error) {
		const batches = 4
		for t := range threads {
			go func() {
				from, to := make([]byte, 4*values), make([]byte, 4*values*batchSize/threads)
				for range batches {
					for at := 0; at < len(to); at += len(from) {
						copy(to[at:], from)
					}
				}
				done <- t >= 0
			}()
		}
		for range threads {
			<-done
		}
		return batches * batchSize, 0, nil
	}
}

// graph is a case: what is defined, and how many batches a round has.
type graph struct {
	define     func(p *pipeline.Builder, data string) []pipeline.Node
	batches    int
	iterations bool // these are the units, not the samples
}

func read(p *pipeline.Builder, data string, shuffle bool) (jpegs, labels pipeline.Node) {
	return fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: filepath.Join(data, "train"), RandomShuffle: shuffle})
}

func normalized(p *pipeline.Builder, x pipeline.Node) pipeline.Node {
	return fn.CropMirrorNormalize(p, x, fn.CropMirrorNormalizeArgs{
		Mean: op.Const([]float64{123.7, 116.3, 103.5}), Std: op.Const([]float64{58.4, 57.1, 57.4}),
		Mirror: op.Of[int](fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{})),
	})
}

// noise are samples that do not compress.
func noise(n int, shape ...int) []tensor.Tensor {
	r := rand.New(rand.NewPCG(1, 1))
	list := make([]tensor.Tensor, n)
	for i := range list {
		list[i] = tensor.New(tensor.Uint8, shape...)
		for k := range list[i].Data {
			list[i].Data[k] = byte(r.Uint32())
		}
		if len(shape) == 3 {
			list[i].Layout = "HWC"
		}
	}
	return list
}
