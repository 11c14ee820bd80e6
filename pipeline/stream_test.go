package pipeline_test

import (
	"context"
	"io"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	contract "github.com/bivouac-ml/bivouac/stream"
	"github.com/bivouac-ml/bivouac/stream/streamtest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestStreams holds pipelines to the contract of streams: with readers and with sources that end an
// epoch, ahead of their use and not, in Bivouac's own way and in DALI's.
func TestStreams(t *testing.T) {
	dir := dataset(t, 10)
	own := pipeline.Options{BatchSize: 4, Seed: 3, Workers: 2}
	dropped, ahead, alone, theirs := own, own, own, own
	dropped.Tail = order.Drop
	ahead.Prefetch = 5
	alone.Prefetch = pipeline.NoPrefetch
	theirs.Compat = dali.CheckpointMode()
	for name, o := range map[string]pipeline.Options{"reader": own, "dropped": dropped, "ahead": ahead, "no prefetch": alone, "DALI": theirs} {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, streamtest.Suite[*pipeline.Batch]{
				New: func() (contract.Stream[*pipeline.Batch], error) {
					def, err := pipeline.Define(o, training(dir))
					if err != nil {
						return nil, err
					}
					return def.New(context.Background(), nil)
				},
				Text:   digestOf,
				Values: 9,
			})
		})
	}
	for name, o := range map[string]pipeline.Options{"source": own, "source, no prefetch": alone} {
		t.Run(name, func(t *testing.T) {
			streamtest.Run(t, streamtest.Suite[*pipeline.Batch]{
				New: func() (contract.Stream[*pipeline.Batch], error) {
					def, err := pipeline.Define(o, external(listed(10), pipeline.SourceOptions{}))
					if err != nil {
						return nil, err
					}
					return def.New(context.Background(), nil)
				},
				Text:   digestOf,
				Values: 9,
			})
		})
	}
}

// listed is a source of the numbers of n samples an epoch, which knows them by what it is told.
func listed(n int64) pipeline.Source {
	return pipeline.SampleFunc(func(_ context.Context, i pipeline.SampleInfo) ([]tensor.Tensor, error) {
		if i.IdxInEpoch >= n {
			return nil, io.EOF
		}
		return []tensor.Tensor{ints(int32(i.IdxInEpoch), int32(i.EpochIdx))}, nil
	})
}
