package loader_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
)

// samplesOf is the data set of a mixture: a sample is its source and its number there.
func samplesOf(m *order.Mixture) loader.Map[int64] {
	n := int64(0)
	for {
		if _, _, err := m.Split(n); err != nil {
			break
		}
		n++
	}
	return loader.Func(n, func(_ context.Context, id int64, r loader.Random) (int64, error) {
		source, own, err := m.Split(id)
		g := r.Stream("augment")
		return int64(source)<<40 | own<<20 | int64(g.Uint32()&(1<<20-1)), err
	})
}

// A source of a mixture gets samples while the run goes on, again and again, over any ranks:
// what was delivered is as it was, nothing is lost or comes twice in the pass that goes on,
// states of the extended run are set as any other, and they tell of all steps.
func TestGrownSourceOfAMixture(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom([]int{order.Version, 1}).Draw(t, "order of version")
		list := []order.Source{
			{Order: order.NewShuffled(rapid.Int64Range(5, 20).Draw(t, "web"), 1, "a"), Weight: 2, Name: "web"},
			{Order: order.NewPermutation(rapid.Int64Range(5, 20).Draw(t, "code"), 2), Weight: 1},
		}
		grown := [2]int64{list[0].Order.(*order.Shuffled).EpochLen()}
		grown[1], _ = list[1].Order.Len()
		sizes := []sizesFrom{{0, grown}}
		m, err := order.NewMixture(list, order.CycleOn)
		if err != nil {
			t.Fatal(err)
		}
		var saved []byte
		var got, steps []int64
		at := version // a state of version 1 is of an order of version 1
		for leg := range rapid.IntRange(2, 3).Draw(t, "legs") {
			if position := int64(len(got)); position > 0 {
				var e order.Extension
				for i := range grown {
					if rapid.Bool().Draw(t, fmt.Sprint(leg, " source ", i, " grows")) {
						grown[i] += rapid.Int64Range(1, 9).Draw(t, fmt.Sprint(leg, " by ", i))
						e.Grown = append(e.Grown, order.Growth{Source: i, Order: order.NewPermutation(grown[i], 2)})
						if i == 0 {
							e.Grown[len(e.Grown)-1].Order = order.NewShuffled(grown[i], 1, "a")
						}
					}
				}
				if e.Grown != nil {
					if m, err = m.Extend(position, e); err != nil {
						t.Fatal(err)
					}
					sizes = append(sizes, sizesFrom{len(got), grown})
				}
			}
			as := order.At(m, at).(*order.Mixture)
			world, batch := rapid.IntRange(1, 4).Draw(t, fmt.Sprint("world ", leg)),
				rapid.IntRange(1, 6).Draw(t, fmt.Sprint("batch ", leg))
			o := loader.Options[int64, []int64]{Seed: 5, BatchSize: batch, Order: m, Log: slog.New(slog.DiscardHandler)}
			o.Collate = func(b []int64) ([]int64, error) { return slices.Clone(b), nil }
			first := o
			if saved == nil {
				first.Order = as
			}
			ranks := extendedRanks(t, samplesOf(m), first, world, saved)
			for range rapid.IntRange(1, 15).Draw(t, fmt.Sprint("steps ", leg)) {
				steps = append(steps, int64(len(got)))
				for r, l := range ranks {
					b, err := l.Next(t.Context())
					if errors.Is(err, io.EOF) {
						b, err = l.Next(t.Context())
					}
					if err != nil {
						t.Fatalf("rank %d: %v", r, err)
					}
					got = append(got, b[l.LastBatch().Repeated:]...)
				}
			}
			saved = stateOfRanks(t, samplesOf(m), o, ranks)
		}
		m = order.At(m, at).(*order.Mixture)
		ids, ds := idsOf(m, len(got)), samplesOf(m)
		want := make([]int64, len(ids))
		for i, id := range ids {
			want[i], _ = ds.At(t.Context(), id, loader.NewRandom(5, int64(i)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n%s", diff, m)
		}
		checkPasses(t, m, ids, sizes)
		line, err := timeline.Open(saved, timeline.Options{Description: m.String()})
		if err != nil {
			t.Fatalf("%v\n%s", err, saved)
		}
		for step, first := range steps {
			b, err := line.Batch(int64(step))
			if err != nil || !slices.Equal(b.IDs, ids[first:first+int64(len(b.IDs))]) {
				t.Fatalf("step %d: %+v, want %v (%v)", step, b, ids[first:], err)
			}
		}
		if _, err := line.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%v\n%s", err, saved)
		}
	})
}

// sizesFrom are the samples of the sources of a mixture from a position on.
type sizesFrom struct {
	position int
	samples  [2]int64
}

// checkPasses fails unless each pass over a source has each sample once that the source had
// when the pass began.
func checkPasses(t *rapid.T, m *order.Mixture, ids []int64, sizes []sizesFrom) {
	var left [2]map[int64]bool
	for position, id := range ids {
		source, own, err := m.Split(id)
		if err != nil {
			t.Fatal(err)
		}
		for len(sizes) > 1 && sizes[1].position <= position {
			sizes = sizes[1:]
		}
		if len(left[source]) == 0 {
			left[source] = map[int64]bool{}
			for i := range sizes[0].samples[source] {
				left[source][i] = true
			}
		}
		if !left[source][own] {
			t.Fatalf("position %d: sample %d of source %d comes again, or too early", position, own, source)
		}
		delete(left[source], own)
	}
}

func idsOf(o order.Order, n int) []int64 {
	ids := make([]int64, n)
	return ids[:o.Fill(0, ids)]
}

// A source grows from the next pass over it on. A state behind the start of that pass is
// refused, and so is a state of a source whose samples were others.
func TestGrownSourceRefused(t *testing.T) {
	list := []order.Source{{Order: order.NewShuffled(10, 1, "a"), Weight: 1},
		{Order: order.NewShuffled(10, 1, "b"), Weight: 1}}
	was := mixed(t, list)
	grow := func(from int64) *order.Mixture {
		m, err := was.Extend(from, order.Extension{Grown: []order.Growth{{Source: 0, Order: order.NewShuffled(15, 1, "a")}}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	l := open(t, ids(20), options{BatchSize: 5, Order: was})
	take(t, l, 4)
	take(t, l, -1)
	take(t, l, 1)
	saved := snapshot(t, l) // at position 25: pass 1 over source 0 began at 20
	for want, m := range map[string]*order.Mixture{
		"extended from position 25 on, or later, got an order that differs from position 20 on": grow(12),
		"order": mixed(t, []order.Source{{Order: order.NewShuffled(15, 1, "a"), Weight: 1}, list[1]}),
	} {
		next := open(t, ids(25), options{BatchSize: 5, Order: m})
		if err := next.Extend(saved); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q\ngot %v", want, err)
		}
	}
	next := open(t, ids(25), options{BatchSize: 5, Order: grow(21)})
	if err := next.Extend(saved); err != nil {
		t.Error(err)
	}
}

// A run of packs goes on when a source of the mixture below them got samples: the packs of
// the blocks before its next pass are what they were.
func TestGrownSourceOfPacks(t *testing.T) {
	build := func(m *order.Mixture, n int) (loader.Map[[]int32], tokenOptions) {
		ds, lengths := sentences(n)
		p, err := order.NewPacks(m, lengths, order.PackOptions{Capacity: 8, Block: 32})
		if err != nil {
			t.Fatal(err)
		}
		return ds, tokenOptions{BatchSize: 2, Order: p, CollatePacks: loader.PackTokens[int32](8, 0)}
	}
	was := mixed(t, []order.Source{{Order: order.NewShuffled(30, 1, "a"), Weight: 1},
		{Order: order.NewShuffled(30, 1, "b"), Weight: 1}})
	more, err := was.Extend(33, order.Extension{Grown: []order.Growth{{Source: 0, Order: order.NewShuffled(44, 1, "a")}}})
	if err != nil {
		t.Fatal(err)
	}
	var states [2][]byte
	var got [2][]loader.Packed
	for i, m := range []*order.Mixture{was, more} {
		ds, o := build(m, 60+14*i)
		l, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for range 4 {
			b, err := l.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got[i] = append(got[i], b)
		}
		states[i] = snapshot(t, l)
	}
	if diff := cmp.Diff(got[0], got[1]); diff != "" {
		t.Fatal(diff)
	}
	ds, o := build(more, 74)
	var next [2]loader.Packed
	for i, saved := range states {
		l, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if err := l.Extend(saved); err != nil {
			t.Fatalf("%v\n%s", err, saved)
		}
		for range 20 {
			if next[i], err = l.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(next[1], next[0]); diff != "" {
		t.Error(diff)
	}
}

// A mixture that ends begins again in each epoch, so that another future of it is another past
// from the second epoch on: it is refused there, and taken in the first.
func TestExtendOfAMixtureThatEnds(t *testing.T) {
	was, err := order.NewMixture([]order.Source{{Order: order.Sequential(10), Weight: 1},
		{Order: order.NewPermutation(30, 1), Weight: 1}}, order.DropEnded)
	if err != nil {
		t.Fatal(err)
	}
	more, err := was.Extend(10, order.Extension{Phases: []order.Phase{{From: 10, Weights: []float64{1, 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	l := open(t, ids(40), options{BatchSize: 4, Order: was})
	take(t, l, 2)
	early := snapshot(t, l)
	take(t, l, -1)
	for steps := range 2 {
		take(t, l, steps)
		next := open(t, ids(40), options{BatchSize: 4, Order: more})
		if err := next.Extend(snapshot(t, l)); !errors.Is(err, errs.Mismatch) ||
			!strings.Contains(err.Error(), "had all 40 positions of the old order") {
			t.Errorf("%d steps of epoch 1: %v", steps, err)
		}
	}
	next := open(t, ids(40), options{BatchSize: 4, Order: more})
	if err := next.Extend(early); err != nil {
		t.Fatal(err)
	}
	take(t, next, -1)
	take(t, next, 1)
	line, err := timeline.Open(snapshot(t, next), timeline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := line.Verify(t.Context(), nil); err != nil {
		t.Error(err)
	}
}
