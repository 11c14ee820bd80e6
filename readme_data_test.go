package bivouac_test

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/op"
)

// train stands for a trainer.
func train(...any) {}

// saved stands for the file or checkpoint where states are kept.
var saved []byte

func readmeLoader(ctx context.Context, texts loader.Slice[string]) error {
	// begin
	l, err := loader.New(texts, loader.Options[string, []string]{BatchSize: 64, Shuffle: true, Seed: 7, Workers: 4, Rank: 0, World: 8})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.SetState(saved); err != nil { // of any rank, of a run with any number of ranks, workers and any batch size
		return err
	}
	for batch, err := range l.Epoch(ctx) {
		if err != nil {
			return err
		}
		train(batch)
		if saved, err = l.AppendState(saved[:0]); err != nil { // half a kilobyte, in half a microsecond
			return err
		}
	}
	// end
	return nil
}

func readmeDynamic(ctx context.Context, files *readers.Reader, flips *random.RNG) error {
	// begin
	for batch, err := range files.NextEpoch(ctx, 64) {
		if err != nil {
			return err
		}
		images := fn.DecodersImage(ctx, batch[0], fn.DecodersImageArgs{})
		images = fn.Flip(ctx, images, fn.FlipArgs{Horizontal: op.Of[int](random.CoinFlipBatch(ctx, flips, 64, random.CoinFlipArgs{}))})
		train(fn.Sub(ctx, images, 128), batch[1])
	}
	// end
	return nil
}

var _, _ = readmeLoader, readmeDynamic
