package pipeline_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
)

const (
	prime  = 23 // samples; no batch size divides it
	epochs = 3
)

// batches returns the digest of each batch of the first epochs.
func batches(t *testing.T, p *pipeline.Pipeline, epochs int) []string {
	t.Helper()
	var list []string
	for range epochs {
		for b, err := range p.Batches(context.Background()) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, digestOf(b))
		}
	}
	return list
}

var policies = []order.Tail{order.Short, order.Drop, order.Span}

func TestSameForThreadsAndPrefetch(t *testing.T) {
	dir := dataset(t, prime)
	for _, last := range policies {
		var want []string
		for threads := 1; threads <= 4; threads++ {
			for _, prefetch := range []int{pipeline.NoPrefetch, 1, 2, 3, 4} {
				o := pipeline.Options{BatchSize: 4, Seed: 5, Tail: last, Workers: threads, Prefetch: prefetch}
				if threads == 3 {
					o.IOWorkers, o.ReadAheadBytes = 1, 1 // every file waits for the one before
				}
				p := start(t, o, training(dir))
				got := batches(t, p, epochs)
				p.Close()
				if want == nil {
					want = got
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%v, %d threads, prefetch %d (-want +got):\n%s", last, threads, prefetch, d)
				}
			}
		}
		seen := slices.Clone(want)
		slices.Sort(seen)
		if len(slices.Compact(seen)) != len(want) {
			t.Errorf("%v: batches repeat", last)
		}
	}
}

func TestSameAfterInterruptionAtEveryBatch(t *testing.T) {
	dir := dataset(t, prime)
	for _, last := range policies {
		o := pipeline.Options{BatchSize: 4, Seed: 5, Tail: last, Workers: 2}
		whole := start(t, o, training(dir))
		n := epochs * int(whole.EpochBatches())
		var want, states []string
		for range n {
			states = append(states, string(save(t, whole)))
			want = append(want, digestOf(next(t, whole)))
		}
		final := string(save(t, whole))
		whole.Close()
		for at, st := range states {
			if !json.Valid([]byte(st)) {
				t.Fatalf("the state is no JSON: %s", st)
			}
			o.Workers, o.Prefetch = 1+at%4, 1+at%3
			p := start(t, o, training(dir))
			if at%2 == 1 { // a pipeline that has already run ahead elsewhere
				next(t, p)
			}
			if err := p.SetState([]byte(st)); err != nil {
				t.Fatal(err)
			}
			if again := string(save(t, p)); again != st {
				t.Fatalf("%v, batch %d: the state was\n%s\nand is\n%s", last, at, st, again)
			}
			var got []string
			for range n - at {
				got = append(got, digestOf(next(t, p)))
			}
			if d := cmp.Diff(want[at:], got); d != "" {
				t.Fatalf("%v, interrupted before batch %d (-want +got):\n%s", last, at, d)
			}
			if end := string(save(t, p)); end != final {
				t.Fatalf("%v, interrupted before batch %d: ends in\n%s\nnot\n%s", last, at, end, final)
			}
			p.Close()
		}
	}
}

// TestRanks shows that ranks share what one alone would deliver, and that a state
// goes on in another world.
func TestRanks(t *testing.T) {
	dir := dataset(t, prime)
	o := pipeline.Options{BatchSize: 5, Seed: 8, Workers: 1, Prefetch: 1}
	alone := start(t, o, training(dir))
	type sample struct {
		id    int64
		pixel string
	}
	take := func(b *pipeline.Batch) (list []sample) {
		for s, id := range b.IDs {
			list = append(list, sample{id, string(b.Outputs[0].Sample(s).Data)})
		}
		return list
	}
	n := 2 * int(alone.EpochBatches())
	var want [][]sample
	for range n {
		want = append(want, take(next(t, alone)))
	}
	final := string(save(t, alone))
	var st []byte
	done := 0
	for _, world := range []int{2, 5, 3, 1} { // a few batches in each world
		ranks := make([]*pipeline.Pipeline, world)
		for r := range ranks {
			o.Rank, o.World = r, world
			ranks[r] = start(t, o, training(dir))
			if st != nil {
				if err := ranks[r].SetState(st); err != nil {
					t.Fatal(err)
				}
			}
		}
		count := 3
		if world == 1 {
			count = n - done
		}
		for range count {
			var got []sample
			for _, p := range ranks {
				got = append(got, take(next(t, p))...)
			}
			if !slices.Equal(got, want[done]) {
				t.Fatalf("world of %d, batch %d differs", world, done)
			}
			done++
		}
		st = save(t, ranks[0])
		for _, p := range ranks {
			if string(save(t, p)) != string(st) {
				t.Error("ranks have different states")
			}
			p.Close()
		}
	}
	if string(st) != final {
		t.Errorf("ends in\n%s\nnot\n%s", st, final)
	}
}

func TestEpochs(t *testing.T) {
	dir := dataset(t, prime)
	for _, c := range []struct {
		last      order.Tail
		sizes     [][]int
		positions []int64
	}{
		{order.Short, [][]int{{10, 10, 3}, {10, 10, 3}, {10, 10, 3}}, []int64{0, 10, 20, 23, 33, 43, 46, 56, 66}},
		{order.Drop, [][]int{{10, 10}, {10, 10}, {10, 10}}, []int64{0, 10, 23, 33, 46, 56}},
		{order.Span, [][]int{{10, 10, 10}, {10, 10}, {10, 10}}, []int64{0, 10, 20, 30, 40, 50, 60}},
	} {
		p := start(t, pipeline.Options{BatchSize: 10, Tail: c.last}, training(dir))
		var sizes [][]int
		var positions []int64
		delivered := map[int64]int{}
		for epoch := range int64(epochs) {
			var inEpoch []int
			ids := map[int64]bool{}
			for b, err := range p.Batches(context.Background()) {
				if err != nil {
					t.Fatal(err)
				}
				if b.Epoch != epoch || b.Index != int64(len(inEpoch)) {
					t.Errorf("%v: batch %d of epoch %d calls itself %d of %d", c.last, len(inEpoch), epoch, b.Index, b.Epoch)
				}
				inEpoch = append(inEpoch, len(b.IDs))
				positions = append(positions, b.Position)
				for s, id := range b.IDs {
					ids[id] = true
					if b.Position+int64(s) < epochs*prime {
						delivered[id]++
					}
				}
			}
			if c.last != order.Span && int64(len(ids)) != p.EpochSize() {
				t.Errorf("%v: epoch %d has %d different samples, want %d", c.last, epoch, len(ids), p.EpochSize())
			}
			sizes = append(sizes, inEpoch)
		}
		if d := cmp.Diff(c.sizes, sizes); d != "" {
			t.Errorf("%v: sizes (-want +got):\n%s", c.last, d)
		}
		if d := cmp.Diff(c.positions, positions); d != "" {
			t.Errorf("%v: positions (-want +got):\n%s", c.last, d)
		}
		if c.last == order.Drop {
			continue
		}
		for id := range int64(prime) {
			if delivered[id] != epochs {
				t.Errorf("%v: sample %d came %d times in %d epochs", c.last, id, delivered[id], epochs)
			}
		}
	}
}

// TestAddingANodeChangesNothingElse: random numbers are keyed by names, not by
// the order in which operators were made.
func TestAddingANodeChangesNothingElse(t *testing.T) {
	dir := dataset(t, 5)
	o := pipeline.Options{BatchSize: 5, Seed: 2}
	without := start(t, o, training(dir))
	with := start(t, o, func(p *pipeline.Builder) []pipeline.Node {
		extra := fn.RandomUniform(p, fn.RandomUniformArgs{Name: "extra"})
		return append(training(dir)(p), extra)
	})
	a, b := next(t, without), next(t, with)
	for i := range a.Outputs {
		if string(a.Outputs[i].Data) != string(b.Outputs[i].Data) {
			t.Errorf("output %d differs", i)
		}
	}
}

// TestTailsKeepTheirWords: states say the tail in the words of last_batch.
func TestTailsKeepTheirWords(t *testing.T) {
	dir := dataset(t, 5)
	for i, word := range []string{"partial", "drop", "fill"} {
		b, err := start(t, pipeline.Options{BatchSize: 2, Tail: policies[i]}, training(dir)).AppendState(nil)
		if err != nil || !strings.Contains(string(b), `"last_batch":"`+word+`"`) {
			t.Errorf("%v: %v, no %q in %s", policies[i], err, word, b)
		}
	}
	_, err := pipeline.Define(pipeline.Options{Tail: order.Pad}, training(dir))
	if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "Options.Tail") {
		t.Error(err)
	}
}
