package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	batchSize = 64
	rate      = 16000
	batches   = 4 // of a round
)

// noise returns a second of a signal.
func noise(n int) []float32 {
	r := rand.New(rand.NewPCG(1, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 0.3)
	}
	return x
}

func begin(ctx context.Context, r turns.Request) (turns.Runner, error) {
	g, ok := graphs[r.Case]
	if !ok {
		return nil, fmt.Errorf("no case %q", r.Case)
	}
	var failed error
	def, err := pipeline.Define(pipeline.Options{BatchSize: batchSize, Workers: r.Threads, Seed: 1},
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
		for range batches {
			b, err := p.Next(ctx)
			if err != nil {
				return 0, 0, err
			}
			for _, o := range b.Outputs {
				digest ^= turns.Fold(o)
			}
		}
		return batches * batchSize, digest, nil
	}, nil
}

// graphs are Bivouac's side of the cases: the graphs of peers.py in Go.
var graphs = map[string]func(p *pipeline.Builder, data string) ([]pipeline.Node, error){
	"log-mel": func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, "second.wav", true)
		if err != nil {
			return nil, err
		}
		return one(fn.LogMel(p, x, fn.LogMelArgs{PreemphCoeff: op.Const(0.97), Nfft: op.Const(512),
			WindowLength: op.Const(400), WindowStep: op.Const(160),
			SampleRate: op.Const(16000.0), Nfilter: op.Const(80)}))
	},
	"log-mel-chain": func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, "second.wav", true)
		if err != nil {
			return nil, err
		}
		x = fn.PreemphasisFilter(p, x, fn.PreemphasisFilterArgs{})
		x = fn.MelFilterBank(p, spectrogram(p, x), fn.MelFilterBankArgs{SampleRate: op.Const(16000.0),
			Nfilter: op.Const(80)})
		return one(fn.ToDecibels(p, x, fn.ToDecibelsArgs{}))
	},
	"spectrogram": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(spectrogram(p, fixed(p, "",
			rate)))
	},
	"power-spectrum": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.PowerSpectrum(p, fixed(p, "", rate), fn.PowerSpectrumArgs{}))
	},
	"mel": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.MelFilterBank(p, fixed(p, "ft", 257, 101), fn.MelFilterBankArgs{SampleRate: op.Const(16000.0),
			Nfilter: op.Const(80)}))
	},
	"decibels": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.ToDecibels(p, fixed(p, "ft", 257, 101), fn.ToDecibelsArgs{}))
	},
	"mfcc": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.Mfcc(p, fixed(p, "ft", 80, 101), fn.MfccArgs{}))
	},
	"preemphasis": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.PreemphasisFilter(p, fixed(p, "", rate), fn.PreemphasisFilterArgs{}))
	},
	"nonsilent": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		begin, length := fn.NonsilentRegion(p, fixed(p, "", rate), fn.NonsilentRegionArgs{})
		return []pipeline.Node{begin, length}, nil
	},
	"resample": func(p *pipeline.Builder, _ string) ([]pipeline.Node, error) {
		return one(fn.AudioResample(p, fixed(p, "", rate), fn.AudioResampleArgs{InRate: op.Const(16000.0),
			OutRate: op.Const(11025.0)}))
	},
	"decode-wav":    decoding("second.wav"),
	"decode-flac":   decoding("a7_pcm_24_2ch.flac"),
	"decode-vorbis": decoding("a9_vorbis_2ch.ogg"),
}

func one(n pipeline.Node) ([]pipeline.Node, error) { return []pipeline.Node{n}, nil }

func decoding(name string) func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
	return func(p *pipeline.Builder, data string) ([]pipeline.Node, error) {
		x, err := decoded(p, data, name, false)
		return []pipeline.Node{x}, err
	}
}

func spectrogram(p *pipeline.Builder, x pipeline.Node) pipeline.Node {
	return fn.Spectrogram(p, x, fn.SpectrogramArgs{Nfft: op.Const(512), WindowLength: op.Const(400),
		WindowStep: op.Const(160)})
}

// decoded decodes the same file again and again.
func decoded(p *pipeline.Builder, data, name string, downmix bool) (pipeline.Node, error) {
	b, err := os.ReadFile(filepath.Join(data, name))
	samples := make([]tensor.Tensor, batchSize)
	for i := range samples {
		samples[i] = tensor.FromSlice(b, len(b))
	}
	x, _ := fn.DecodersAudio(p, repeat(p, samples), fn.DecodersAudioArgs{Downmix: downmix})
	return x, err
}

// fixed gives the same batch of positive numbers again and again, without copying it.
func fixed(p *pipeline.Builder, layout string, shape ...int) pipeline.Node {
	x := noise(tensor.Shape(shape).Len())
	if layout != "" {
		for i, v := range x {
			x[i] = v * v
		}
	}
	samples := make([]tensor.Tensor, batchSize)
	for i := range samples {
		samples[i] = tensor.FromSlice(x, shape...)
		samples[i].Layout = layout
	}
	return repeat(p, samples)
}

func repeat(p *pipeline.Builder, samples []tensor.Tensor) pipeline.Node {
	return pipeline.ExternalSource(p, pipeline.BatchFunc(func(context.Context, pipeline.BatchInfo) ([]pipeline.Data,
		error) {
		return []pipeline.Data{samples}, nil
	}), pipeline.SourceOptions{NoCopy: true})[0]
}
