// Operators measures operators on sound, boxes, masks, images and videos against DALI, librosa and
// ffmpeg.
//
//	go run ./bench/operators                                Bivouac alone
//	go run ./bench/operators -only log-mel,flip -threads 1  less of it
//	bench/operators/peers                                   with DALI and librosa
//
// A batch has 64 samples. Signals are a second of noise at 16 kHz. Files of sound come from
// testdata/dali/inputs; a WAV file of a second is made. Boxes, masks and images are made by the
// same rules on all sides. The rules of bench/pipeline hold: every side is a process of its own,
// the rounds are interleaved, and the ratio of medians in one run counts.
//
// The tables go to standard output, every sample to a JSON file below bench/results.
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	batchSize = 64
	batches   = 4 // of a round
)

// graph defines Bivouac's side of a case. data is the directory of the files.
type graph func(p *pipeline.Builder, data string) ([]pipeline.Node, error)

// compare is a comparison of Bivouac with others.
func compare(name, title, unit string, others ...turns.Side) turns.Comparison {
	ours := turns.Side{Name: "Bivouac", Who: "bivouac"}
	return turns.Comparison{Name: name, Title: title, Unit: unit, Threaded: true,
		Sides: append([]turns.Side{ours}, others...)}
}

func dali(target float64) turns.Side { return turns.Side{Name: "DALI", Who: "dali", Target: target} }

func librosa(target float64) turns.Side {
	return turns.Side{Name: "librosa", Who: "librosa", Target: target}
}

func main() {
	b := &turns.Bench{Name: "operators",
		Comparisons: slices.Concat(onSound, onBoxes, onPictures, onAugment, onVideo),
		Own:         []string{"bivouac", "ffmpeg"}, Begin: begin,
		Peers: map[string]string{"python": "DALI and librosa", "librosa": "librosa"}}
	b.Prepare = func(dir string) error {
		if err := prepare(dir, b.Source); err != nil {
			return err
		}
		return prepareVideo(dir)
	}
	b.Main()
}

// graphOf returns the graph of a case, or nil.
func graphOf(name string) graph {
	g := boxGraphs[name]
	if g == nil {
		g = pictureGraphs[name]
	}
	if g == nil {
		g = augmentGraphs[name]
	}
	if g == nil {
		return soundGraphs[name]
	}
	return func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) { return g(p), nil }
}

func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	if r.Who == "ffmpeg" {
		return program(r), nil
	}
	g := graphOf(r.Case)
	size, times, perSample, prefetch := batchSize, batches, 1, 0
	if r.Case == videoCase {
		g, size, times, perSample, prefetch = decodeVideos, videoBatch, 1, videoFrames, pipeline.NoPrefetch
	}
	if g == nil {
		return nil, fmt.Errorf("no case %q", r.Case)
	}
	var failed error
	def, err := pipeline.Define(pipeline.Options{BatchSize: size, Workers: r.Threads, Seed: 1, Prefetch: prefetch},
		func(p *pipeline.Builder) []pipeline.Node {
			nodes, err := g(p, r.Data)
			failed = err
			return nodes
		})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	p, err := def.New(ctx, nil)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (units int, digest uint64, err error) {
		for range times {
			b, err := p.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			for _, o := range b.Outputs {
				digest ^= turns.Fold(o)
			}
		}
		return times * size * perSample, digest, nil
	}, nil
}

// fixed gives the same sample again and again, without copying it.
func fixed(p *pipeline.Builder, x tensor.Tensor) pipeline.Node {
	samples := slices.Repeat([]tensor.Tensor{x}, batchSize)
	return pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context,
		pipeline.BatchInfo) ([]pipeline.Data, error) {
		return []pipeline.Data{samples}, nil
	}), pipeline.SourceOptions{NoCopy: true})[0]
}
