package loader_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/ordertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A data set that grows while the run goes on, again and again, over any ranks: the epoch
// that has begun goes on as it was, those after it are epochs of all samples, and states
// go on as ever.
func TestExtendedDataSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shuffle := rapid.Bool().Draw(t, "shuffle")
		own := rapid.SampledFrom(append([]string{""}, grownOrders...)).Draw(t, "order")
		if own != "" {
			shuffle = false
		}
		n := rapid.Int64Range(1, 40).Draw(t, "samples")
		const epochs = 4
		lengths := make([]int64, epochs) // of each epoch, as they should be
		var saved []byte
		var got []int64
		ended, begun := 0, false
		for leg := 0; ended < epochs; leg++ {
			if leg > 0 {
				n += rapid.Int64Range(0, 9).Draw(t, fmt.Sprint("more ", leg))
			}
			for e := range lengths {
				if e > ended || e == ended && !begun {
					lengths[e] = n
				}
			}
			world := rapid.IntRange(1, 4).Draw(t, fmt.Sprint("world ", leg))
			batch := rapid.IntRange(1, 5).Draw(t, fmt.Sprint("batch ", leg))
			steps := rapid.IntRange(0, 20).Draw(t, fmt.Sprint("steps ", leg))
			o := options{Shuffle: shuffle, Order: grownOrder(t, own, n), Seed: 5, BatchSize: batch,
				Log: slog.New(slog.DiscardHandler)}
			ranks := extendedRanks(t, augmented(n), o, world, saved)
			for step := 0; ended < epochs && (step < steps || leg > 6); step++ {
				over := false
				for _, l := range ranks {
					b, err := l.Next(context.Background())
					if over = err != nil; over {
						continue
					}
					v, _ := tensor.Of[int64](b)
					got = append(got, v[l.LastBatch().Repeated:]...)
				}
				begun = !over
				if over {
					ended++
				}
			}
			saved = stateOfRanks(t, augmented(n), o, ranks)
		}
		var want []int64
		position := int64(0)
		for e, n := range lengths {
			o := grownOrder(t, own, n)
			switch {
			case shuffle:
				o = order.NewShuffled(n, 5, "loader")
			case o == nil:
				o = order.Sequential(n)
			}
			ids, first := make([]int64, n), int64(0)
			if _, ends := o.Len(); ends {
				ids = ids[:o.Fill(0, ids)]
			} else if epochs, ok := o.(order.Epochs); ok {
				ids, first = ids[:epochs.EpochLen()], int64(e)*epochs.EpochLen()
				o.Fill(first, ids)
			}
			for _, id := range ids {
				v, _ := augmented(n).At(context.Background(), id, loader.NewRandom(5, position))
				want = append(want, v)
				position++
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: epochs of %v samples: %s", own, lengths, diff)
		}
	})
}

// grownOrders are the kinds of orders of a caller that grow with a data set.
var grownOrders = []string{"sequential", "cycle", "shuffled", "permutation", "windows", "packs", "buckets", "filtered",
	"selected", "repeated"}

// grownOrder returns an order of n samples of a kind of ordertest, or nil if kind is "".
func grownOrder(t *rapid.T, kind string, n int64) order.Order {
	if kind == "" {
		return nil
	}
	o, _, err := ordertest.OfKind(kind, n, 9)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// extendedRanks opens all ranks of a run that goes on from a state, or starts anew if it is nil.
// They close with t.
func extendedRanks[B any](t *rapid.T, ds loader.Map[int64], o loader.Options[int64, B], world int,
	saved []byte) []*loader.Loader[int64, B] {
	ranks := make([]*loader.Loader[int64, B], world)
	for r := range ranks {
		o.Rank, o.World, o.Workers = r, world, r%2
		l, err := loader.New(ds, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() }) //nolint:errcheck // what it delivered was judged
		if saved != nil {
			if err := l.Extend(saved); err != nil {
				t.Fatalf("%v\n%s", err, saved)
			}
		}
		ranks[r] = l
	}
	return ranks
}

// stateOfRanks returns the state that all ranks have. A loader of one rank takes it like any other
// state.
func stateOfRanks[B any](t *rapid.T, ds loader.Map[int64], o loader.Options[int64, B],
	ranks []*loader.Loader[int64, B]) (state []byte) {
	for _, l := range ranks {
		b, err := l.AppendState(nil)
		if err != nil {
			t.Fatal(err)
		}
		if state != nil && string(state) != string(b) {
			t.Fatalf("states of ranks differ:\n%s\n%s", state, b)
		}
		state = b
	}
	o.Rank, o.World, o.Workers = 0, 1, 0
	again, err := loader.New(ds, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(again.SetState(state), again.Close()); err != nil {
		t.Fatalf("%v\n%s", err, state)
	}
	return state
}

// A mixture that gets other weights, a phase or a source goes on over any ranks: what was
// delivered is as it was, and what follows is the extended mixture.
func TestExtendedMixture(t *testing.T) {
	list, samples := sourcesOf(3)
	was := mixed(t, list, order.Phase{From: 90, Weights: []float64{1, 1, 4}})
	l := open(t, ids(samples), options{BatchSize: 10, Order: was})
	take(t, l, -1)
	take(t, l, 1)
	saved := snapshot(t, l) // position 70, in epoch 1 of 60
	future, err := was.Extend(70, order.Extension{Phases: []order.Phase{{From: 75, Weights: []float64{0, 0, 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	added, err := was.Extend(100, order.Extension{Sources: []order.Source{{Order: order.NewShuffled(40, 3, "more"),
		Weight: 5}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		o       order.Order
		samples int
	}{"a phase": {mixed(t, list, order.Phase{From: 90, Weights: []float64{1, 1, 4}},
		order.Phase{From: 91, Weights: []float64{5, 1, 1}}), samples}, "another future": {future, samples},
		"a source": {added, samples + 40}} {
		for world := 1; world <= 3; world++ {
			base := options{BatchSize: 4, Order: c.o}
			ranks := make([]*loader.Loader[int64, tensor.Tensor], world)
			for r := range ranks {
				o := base
				o.Rank, o.World, o.Log = r, world, slog.New(slog.DiscardHandler)
				ranks[r] = open(t, ids(c.samples), o)
				if err := ranks[r].SetState(saved); !errors.Is(err, errs.Mismatch) {
					t.Fatalf("%s: SetState takes it: %v", name, err)
				}
				if err := ranks[r].Extend(saved); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
			got, _, _ := ranksUntilEnd(t, ranks, 3)
			state := snapshot(t, ranks[0])
			rest := worldOfMixture(t, c.samples, 4-world, base, state)
			for range 2 {
				own, _, _ := ranksUntilEnd(t, rest, -1)
				got = append(got, own...)
			}
			want := make([]int64, 400)
			want = want[:c.o.Fill(70, want[:len(got)])]
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d ranks: %s", name, world, diff)
			}
			if n := 120 - 70 + c.samples; len(got) != n {
				t.Errorf("%s: %d samples up to the end of the next epoch, want %d", name, len(got), n)
			}
		}
	}
}

func worldOfMixture(t *testing.T, samples, world int, base options,
	saved []byte) (ranks []*loader.Loader[int64, tensor.Tensor]) {
	t.Helper()
	for rank := range world {
		o := base
		o.Rank, o.World, o.Log = rank, world, slog.New(slog.DiscardHandler)
		l := open(t, ids(samples), o)
		restore(t, l, saved)
		ranks = append(ranks, l)
	}
	return ranks
}

// growing is a data set with a fingerprint to which samples are added.
type growing struct {
	loader.Slice[int64]
	kind string
}

func (g growing) Fingerprint() string          { return g.FingerprintOf(g.Len()) }
func (g growing) FingerprintOf(n int64) string { return fmt.Sprint(g.kind, " ", n) }

// What would change what lies behind is refused, and the error says what to do. The loader
// stays where it is.
func TestExtendRefuses(t *testing.T) {
	list, samples := sourcesOf(3)
	was := mixed(t, list)
	l := open(t, ids(samples), options{BatchSize: 7, Order: was})
	take(t, l, 5)
	mixture := snapshot(t, l)
	early, err := was.Extend(34, order.Extension{Phases: []order.Phase{{From: 34, Weights: []float64{1, 1, 4}}}})
	if err != nil {
		t.Fatal(err)
	}
	other := slices.Clone(list)
	other[0].Weight = 7
	g := open(t, growing{ids(10), "a"}, options{BatchSize: 3, Shuffle: true})
	take(t, g, 2)
	grown := snapshot(t, g)
	for want, c := range map[string]struct {
		ds    loader.Map[int64]
		o     options
		saved []byte
	}{
		"extended from position 35":   {ids(samples), options{Order: early}, mixture},
		"order":                       {ids(samples), options{Order: mixed(t, other)}, mixture},
		"add samples to the data set": {growing{ids(9), "a"}, options{Shuffle: true}, grown},
		"have changed":                {growing{ids(12), "b"}, options{Shuffle: true}, grown},
		"loader.Growing":              {named{ids(12), "a 12"}, options{Shuffle: true}, grown},
		"seed":                        {growing{ids(12), "a"}, options{Shuffle: true, Seed: 1}, grown},
		"sampler":                     {growing{ids(12), "a"}, options{Sampler: listSampler{1}}, grown},
	} {
		l := open(t, c.ds, c.o)
		take(t, l, 1)
		before := snapshot(t, l)
		if err := l.Extend(c.saved); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if diff := cmp.Diff(string(before), string(snapshot(t, l))); diff != "" {
			t.Errorf("%s: moved: %s", want, diff)
		}
	}
	next := open(t, growing{ids(12), "a"}, options{BatchSize: 3, Shuffle: true, Extend: true})
	restore(t, next, grown) // as a job sets it
	if err := next.Extend(first(t, grown)); err != nil {
		t.Errorf("a state of version 1: %v", err)
	}
}

// A data set that grows while its loader runs is noted in the state, and the epoch in
// progress keeps its length when a pass begins again.
func TestLengthsAreInTheState(t *testing.T) {
	ds := &resized{8}
	l := open(t, ds, options{BatchSize: 3})
	take(t, l, -1)
	ds.n = 10
	take(t, l, 1)
	saved := snapshot(t, l)
	if !strings.Contains(string(saved), `"spans":[[0,8,0],[1,10,8]]`) {
		t.Errorf("%s", saved)
	}
	ds.n = 11
	if err := l.Extend(saved); err != nil {
		t.Fatal(err)
	}
	if got := slices.Concat(take(t, l, -1)...); !slices.Equal(got, []int64{3, 4, 5, 6, 7, 8, 9}) {
		t.Errorf("the rest of the epoch is %v", got)
	}
	if got := slices.Concat(take(t, l, -1)...); len(got) != 11 {
		t.Errorf("the next epoch is %v", got)
	}
}
