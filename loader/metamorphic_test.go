package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/tensor"
)

// leg is a part of a run: some ranks in step, until it is interrupted.
type leg struct {
	world, batch, workers, prefetch, steps int
	global                                 bool // batch counts the samples of all ranks
}

// run delivers the samples of legs, one after the other, each from the state of any
// rank of the one before; the last until the end of two epochs. Samples are what the
// consumer sees, in the order of ranks.
func run(t *rapid.T, n int64, base options, legs []leg) (samples []int64, last []byte) {
	var saved []byte
	ended := 0
	for i, g := range legs {
		loaders := make([]*loader.Loader[int64, tensor.Tensor], g.world)
		for r := range loaders {
			o := base
			o.Rank, o.World, o.Workers, o.Prefetch = r, g.world, g.workers, g.prefetch
			if g.global {
				o.GlobalBatch = g.batch
			} else {
				o.BatchSize = g.batch
			}
			l, err := loader.New(augmented(n), o)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if saved != nil {
				if err := l.SetState(saved); err != nil {
					t.Fatal(err)
				}
			}
			loaders[r] = l
		}
		over := make([]bool, g.world) // ranks that have ended the epoch
		for step := 0; ended < 2 && (step < g.steps || i == len(legs)-1); step++ {
			for r, l := range loaders {
				b, err := l.Next(context.Background())
				if over[r] = errors.Is(err, io.EOF); over[r] {
					continue
				}
				if err != nil {
					t.Fatalf("rank %d of %d: %v", r, g.world, err)
				}
				v, _ := tensor.Of[int64](b)
				samples = append(samples, v[l.LastBatch().Repeated:]...)
			}
			if over[0] {
				ended++
			}
			if slices.Contains(over, !over[0]) {
				t.Fatalf("ranks end the epoch in different steps: %v", over)
			}
		}
		for r, l := range loaders {
			b, err := l.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			if r > 0 && !bytes.Equal(b, last) {
				t.Fatalf("ranks disagree:\n%s\n%s", last, b)
			}
			last = b
		}
		saved = last
	}
	return samples, last
}

// augmented is a data set whose samples depend on their random numbers.
func augmented(n int64) loader.Map[int64] {
	return loader.Func(n, func(_ context.Context, id int64, r loader.Random) (int64, error) {
		g := r.Stream("augment")
		return id<<20 | int64(g.Uint32()&(1<<20-1)), nil
	})
}

// The law of the loader: interruptions, ranks, batches, workers and prefetching do
// not change what is delivered, down to the random numbers of transforms.
func TestAnyTopologyDeliversTheSameStream(t *testing.T) {
	want := map[bool][]int64{}
	const n = 1009
	rapid.Check(t, func(t *rapid.T) {
		base := options{Shuffle: rapid.Bool().Draw(t, "shuffle"), Seed: 11}
		if want[base.Shuffle] == nil {
			want[base.Shuffle], _ = run(t, n, base, []leg{{world: 1, batch: 16}})
			if got := len(want[base.Shuffle]); got != 2*n {
				t.Fatalf("%d samples", got)
			}
		}
		var legs []leg
		for i := range rapid.IntRange(1, 5).Draw(t, "legs") {
			g := leg{
				world:   rapid.SampledFrom([]int{1, 3, 5, 8}).Draw(t, fmt.Sprint("world ", i)),
				workers: rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, fmt.Sprint("workers ", i)),
				steps:   rapid.IntRange(0, 12).Draw(t, fmt.Sprint("steps ", i)),
				global:  rapid.Bool().Draw(t, fmt.Sprint("global ", i)),
			}
			if g.workers > 0 {
				g.prefetch = rapid.IntRange(1, 4).Draw(t, fmt.Sprint("prefetch ", i))
			}
			g.batch = rapid.IntRange(8, 48).Draw(t, fmt.Sprint("batch ", i))
			legs = append(legs, g)
		}
		got, last := run(t, n, base, legs)
		if diff := cmp.Diff(want[base.Shuffle], got); diff != "" {
			t.Fatal(diff)
		}
		d, err := state.Unmarshal(last)
		if err != nil {
			t.Fatal(err)
		}
		var digest state.Digest
		for _, v := range got {
			digest.Add(v >> 20)
		}
		if d.Digest != digest.Sum() {
			t.Errorf("digest %s, the consumer's is %s", d.Digest, digest.Sum())
		}
	})
}
