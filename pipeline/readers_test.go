package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/pipeline"
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// makers returns a Maker for each reader, with the readers that programs import by name.
func makers() map[string]readertest.Maker {
	all := maps.Clone(readertest.All)
	all["parquet"] = parquettest.Parquet
	return all
}

// Every reader keeps the laws of a position: whatever the number of ranks, goroutines and batches
// read ahead, and however often the run is interrupted, one rank that is never interrupted delivers
// the same samples. The number of ranks changes with each interruption.
func TestReadersKeepTheLaws(t *testing.T) {
	const samples, batch, epochs = 53, 8, 2
	worlds := []int{1, 3, 2, 8, 5, 4, 7, 6}
	all := makers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			reader, args, err := all[name](t.TempDir(), samples)
			if err != nil {
				t.Fatal(err)
			}
			args = maps.Clone(args)
			args["random_shuffle"] = true
			define := func(p *pipeline.Builder) []pipeline.Node { return p.Op(reader, args) }
			o := pipeline.Options{BatchSize: batch, Seed: 13, Workers: 1, Prefetch: pipeline.NoPrefetch}
			alone := start(t, o, define)
			st := save(t, alone)
			seen := map[string]int{}
			for done, turn := 0, 0; done < epochs*int(alone.EpochBatches()); turn++ {
				world := worlds[turn%len(worlds)]
				ranks := make([]*pipeline.Pipeline, world)
				for r := range ranks {
					o.Rank, o.World, o.Workers, o.Prefetch = r, world, 1+r%3, 1+turn%3
					ranks[r] = start(t, o, define)
					if err := ranks[r].SetState(st); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 {
					want := samplesOf(next(t, alone))
					var got []string
					for _, p := range ranks {
						got = append(got, samplesOf(next(t, p))...)
					}
					if d := cmp.Diff(want, got); d != "" {
						t.Fatalf("%d ranks, batch %d (-want +got):\n%s", world, done, d)
					}
					for _, s := range want {
						seen[s]++
					}
					if done++; done%int(alone.EpochBatches()) == 0 {
						break
					}
				}
				st = save(t, ranks[world-1])
				if string(st) != string(save(t, alone)) {
					t.Fatalf("%d ranks: the state is\n%s\nnot\n%s", world, st, save(t, alone))
				}
				for _, p := range ranks {
					p.Close()
				}
			}
			if len(seen) != samples {
				t.Errorf("%d different samples, want %d", len(seen), samples)
			}
		})
	}
}

// A reader whose context ends returns soon, with an error that says so, and then goes on.
func TestReadersCanBeCancelled(t *testing.T) {
	all := makers()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		reader, args, err := all[name](t.TempDir(), 5)
		if err != nil {
			t.Fatal(err)
		}
		p := start(t, pipeline.Options{BatchSize: 2, Workers: 1},
			func(p *pipeline.Builder) []pipeline.Node { return p.Op(reader, args) })
		want := fmt.Sprint(samplesOf(next(t, p)))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := p.Next(ctx); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v after the context ended", name, err)
		}
		if got := fmt.Sprint(samplesOf(next(t, p))); got == want {
			t.Errorf("%s: the first batch came again", name)
		}
	}
}
