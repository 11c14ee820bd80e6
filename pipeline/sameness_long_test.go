package pipeline_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// The tests of this file run over a thousand samples. The number of samples and the batch size are
// primes. With BIVOUAC_LONG=1 the tests try every combination, otherwise some of each.
const manyBatch = 61

// many is the number of samples; the race detector sees with fewer what there is to see.
func many() int {
	if raceDetector {
		return 211
	}
	return 1009
}

func long() bool { return os.Getenv("BIVOUAC_LONG") != "" }

// stream returns the digests of all batches of three epochs, and the states before each and at the
// end.
func stream(t *testing.T, o pipeline.Options, dir string) (digests, states []string) {
	t.Helper()
	p := start(t, o, training(dir))
	defer p.Close()
	for range epochs * int(p.EpochBatches()) {
		states = append(states, string(save(t, p)))
		digests = append(digests, digestOf(next(t, p)))
	}
	return digests, append(states, string(save(t, p)))
}

func TestSamenessOfThreadsAndPrefetchLong(t *testing.T) {
	dir := dataset(t, many())
	o := pipeline.Options{BatchSize: manyBatch, Seed: 11, Workers: 1, Prefetch: pipeline.NoPrefetch}
	want, states := stream(t, o, dir)
	for threads := 1; threads <= 8; threads++ {
		for prefetch := 1; prefetch <= 8; prefetch++ {
			if !long() && (threads*3+prefetch)%8 != 0 {
				continue
			}
			o.Workers, o.Prefetch = threads, prefetch
			got, end := stream(t, o, dir)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d threads, prefetch %d (-want +got):\n%s", threads, prefetch, d)
			}
			if !slices.Equal(states, end) {
				t.Fatalf("%d threads, prefetch %d: other states", threads, prefetch)
			}
		}
	}
}

// TestSamenessAfterInterruptionLong stops before every batch of three epochs. In the short form
// three batches of what follows are compared, and the positions in full.
func TestSamenessAfterInterruptionLong(t *testing.T) {
	dir := dataset(t, many())
	for _, last := range policies {
		if !long() && last != order.Short {
			continue
		}
		o := pipeline.Options{BatchSize: manyBatch, Seed: 12, Tail: last, Workers: 2}
		want, states := stream(t, o, dir)
		for at := range want {
			o.Workers, o.Prefetch = 1+at%8, 1+(at/3)%8
			p := start(t, o, training(dir))
			if err := p.SetState([]byte(states[at])); err != nil {
				t.Fatal(err)
			}
			end := len(want)
			if !long() {
				end = min(end, at+3)
			}
			for i := at; i < end; i++ {
				if got := digestOf(next(t, p)); got != want[i] {
					t.Fatalf("%v, interrupted before batch %d: batch %d is another", last, at, i)
				}
			}
			if got := string(save(t, p)); got != states[end] {
				t.Fatalf("%v, interrupted before batch %d: the state is\n%s\nnot\n%s", last, at, got, states[end])
			}
			p.Close()
		}
	}
}

// rankWorlds are the numbers of ranks that take turns.
var rankWorlds = []int{3, 5, 2, 8, 1, 4}

// TestSamenessOfRanksLong changes the number of ranks every few batches, over two epochs: together
// they deliver what one alone does.
func TestSamenessOfRanksLong(t *testing.T) {
	dir := dataset(t, many())
	o := pipeline.Options{BatchSize: manyBatch, Seed: 13, Workers: 2}
	alone := start(t, o, training(dir))
	batches := 2 * int(alone.EpochBatches())
	st := save(t, alone)
	for done, turn := 0, 0; done < batches; turn++ {
		world := rankWorlds[turn%len(rankWorlds)]
		ranks := make([]*pipeline.Pipeline, world)
		for r := range ranks {
			o.Rank, o.World, o.Workers, o.Prefetch = r, world, 1+r%3, 1+turn%3
			ranks[r] = start(t, o, training(dir))
			if err := ranks[r].SetState(st); err != nil {
				t.Fatal(err)
			}
		}
		for range min(5, batches-done) {
			want := samplesOf(next(t, alone))
			var got []string
			for _, p := range ranks {
				got = append(got, samplesOf(next(t, p))...)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d ranks, batch %d (-want +got):\n%s", world, done, d)
			}
			done++
		}
		st = save(t, ranks[world-1])
		if string(st) != string(save(t, alone)) {
			t.Fatalf("%d ranks: the state is\n%s\nnot\n%s", world, st, save(t, alone))
		}
		for _, p := range ranks {
			p.Close()
		}
	}
}

// samplesOf returns id and bytes of every sample of a batch.
func samplesOf(b *pipeline.Batch) []string {
	var list []string
	for s, id := range b.IDs {
		text := strconv.FormatInt(id, 10)
		for _, o := range b.Outputs {
			text += fmt.Sprintf(" %x", o.Sample(s).Data[:min(24, len(o.Sample(s).Data))])
		}
		list = append(list, text)
	}
	return list
}
