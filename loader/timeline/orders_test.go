package timeline_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/timeline"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawOrders draws an order over 40 samples, with its tables.
func drawOrders(t *rapid.T) (order.Order, []order.Table) {
	const n = 40
	lengths := rapid.SliceOfN(rapid.Int32Range(1, 30), n, n).Draw(t, "lengths")
	table := make(order.Table, n)
	for i, l := range lengths {
		table[i] = int64(l)
	}
	l, _ := order.NewLengths(lengths)
	sizes := []int64{9, 4, 12, 8, 7}
	ids := []int64{3, 5, 39, 20, 21, 0, 17, 11}
	s, _ := order.SelectIDs(n, ids)
	w, _ := order.NewWindows(sizes, 2, 7, "loader")
	var o order.Order
	var err error
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		o = w
	case 1:
		o, err = order.NewPacks(w, l, order.PackOptions{Capacity: 40, Block: 16})
	case 2:
		o, err = order.NewBuckets(order.NewShuffled(n, 7, "loader"), l, []int64{10, 20}, 4, 16)
	case 3:
		o, err = order.NewFiltered(w, s)
	case 4:
		o = order.NewSelected(order.NewShuffled(int64(len(ids)), 3, "loader"), s)
	case 5:
		o, err = order.NewMixture([]order.Source{{Order: order.NewShuffled(30, 7, "a"), Weight: .7},
			{Order: order.NewCycle(10), Weight: .3}}, order.CycleOn)
	case 6:
		o, err = order.NewMixture([]order.Source{{Order: order.NewPermutation(30, 7), Weight: 2},
			{Order: order.Sequential(10), Weight: 1}}, order.CycleAll)
	case 7:
		o, err = order.NewSegments(order.Segment{Order: order.NewShuffled(8, 1, "easy"), Len: 13},
			order.Segment{Order: w, First: 5})
	}
	if err != nil {
		t.Fatal(err)
	}
	return o, []order.Table{ids, sizes, table}
}

// A state of mixtures, packs, windows, buckets and filters tells what a run did and what it
// does, as long as the tables are given that it has only a hash of.
func TestTimelineOfEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, tables := drawOrders(t)
		opt := loader.Options[int64, []int64]{Order: o, Seed: 3, Log: slog.New(slog.DiscardHandler)}
		var legs []leg
		for range rapid.IntRange(1, 3).Draw(t, "legs") {
			world := rapid.IntRange(1, 3).Draw(t, "world")
			legs = append(legs, leg{rapid.IntRange(world, 8).Draw(t, "global"), world, rapid.IntRange(1, 20).Draw(t, "steps")})
		}
		r := play(t, opt, 40, legs)
		last := len(r.states) - 1
		l, err := timeline.Open([]byte(r.states[last]), timeline.Options{Tables: tables, Description: o.String()})
		if err != nil {
			t.Fatalf("%s: %v", r.states[last], err)
		}
		for step, want := range r.batches {
			b, err := l.Batch(int64(step))
			if err != nil || b.Epoch != r.epochs[step] || !slices.Equal(b.IDs, want) {
				t.Fatalf("step %d: %+v (%v), want %v of epoch %d\n%s", step, b, err, want, r.epochs[step], r.states[last])
			}
			for row, id := range want {
				all, err := l.All(t.Context(), b.Epoch, id, 1000)
				if err != nil || !slices.ContainsFunc(all,
					func(s timeline.Seen) bool { return s.Step == int64(step) && s.Row == row }) {
					t.Fatalf("sample %d: %+v (%v), want row %d of step %d", id, all, err, row, step)
				}
			}
		}
		if _, err := l.Verify(t.Context(), nil); err != nil {
			t.Fatalf("%s: %v", r.states[last], err)
		}
		step := rapid.Int64Range(0, int64(len(r.batches))).Draw(t, "step")
		moved, err := l.Seek(t.Context(), step, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := timeline.Open(moved, timeline.Options{Tables: tables, Description: o.String()})
		if err == nil {
			_, err = again.Verify(t.Context(), nil)
		}
		if err != nil {
			t.Fatalf("%s: %v", moved, err)
		}
	})
}

// readers are the readers of the pipelines below: their samples and whether they are shuffled.
type readers []struct {
	name    string
	samples int
	shuffle bool
}

// play runs a pipeline with several readers whose outputs are the ids, and returns the ids
// of each reader by batches, and its state.
func (r readers) play(t *testing.T, dir string, last order.Tail, batches int) (ids [][][]int64, state []byte) {
	t.Helper()
	file := filepath.Join(dir, "x")
	if err := os.WriteFile(file, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	def, err := pipeline.Define(pipeline.Options{BatchSize: 4, Seed: 7, Tail: last},
		func(p *pipeline.Builder) (outputs []pipeline.Node) {
			for _, one := range r {
				_, labels := fn.ReadersFile(p, fn.ReadersFileArgs{Name: one.name, Files: slices.Repeat([]string{file}, one.samples),
					RandomShuffle: one.shuffle})
				outputs = append(outputs, labels)
			}
			return outputs
		})
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := def.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	for range batches {
		b, err := pipe.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var step [][]int64
		for _, out := range b.Outputs {
			labels, err := out.Tensor()
			if err != nil {
				t.Fatal(err)
			}
			v, err := tensor.Of[int32](labels)
			if err != nil {
				t.Fatal(err)
			}
			var own []int64
			for _, id := range v {
				own = append(own, int64(id))
			}
			step = append(step, own)
		}
		ids = append(ids, step)
	}
	if state, err = pipe.AppendState(nil); err != nil {
		t.Fatal(err)
	}
	return ids, state
}

// The state of a pipeline with several readers tells the samples of each. Where it leaves
// open which reader is the first, the names do.
func TestTimelineOfSeveralReaders(t *testing.T) {
	for name, r := range map[string]readers{
		"alike":        {{"z", 10, true}, {"a", 10, false}},
		"shorter":      {{"z", 10, true}, {"a", 7, true}, {"m", 25, false}},
		"shorter last": {{"b", 9, true}, {"a", 14, false}},
	} {
		for _, last := range []order.Tail{order.Short, order.Drop, order.Span} {
			t.Run(fmt.Sprint(name, " ", last), func(t *testing.T) {
				dir := t.TempDir()
				ids, state := r.play(t, dir, last, 17)
				var names []string
				for _, one := range r {
					names = append(names, one.name)
				}
				for _, given := range [][]string{nil, names} {
					l, err := timeline.Open(state, timeline.Options{Readers: given})
					if given == nil && errs.KindOf(err) == errs.Unsupported {
						continue // two readers could be the first; it is asked for
					}
					if err != nil {
						t.Fatal(err)
					}
					for i, name := range names {
						of, err := l.Of(name)
						if err != nil {
							t.Fatal(err)
						}
						for step, want := range ids {
							b, err := of.Batch(int64(step))
							if err != nil || !slices.Equal(b.IDs, want[i]) {
								t.Fatalf("reader %s, step %d: %v (%v), want %v", name, step, b, err, want[i])
							}
							for row, id := range want[i] {
								all, err := of.All(t.Context(), b.Epoch, id, 1000)
								if last == order.Span {
									before, err2 := of.All(t.Context(), b.Epoch+1, id, 1000)
									all, err = append(all, before...), errors.Join(err, err2)
								}
								if err != nil || !slices.ContainsFunc(all,
									func(s timeline.Seen) bool { return s.Step == int64(step) && s.Row == row }) {
									t.Fatalf("reader %s, sample %d: %v (%v), want row %d of step %d", name, id, all, err, row, step)
								}
							}
						}
					}
					if p, err := l.Verify(t.Context(), nil); err != nil || p.Digest != l.Document().Digest {
						t.Fatalf("%+v, %v", p, err)
					}
					_, earlier := r.play(t, dir, last, 5)
					moved, err := l.Seek(t.Context(), 5, nil)
					if err != nil || string(moved) != string(earlier) {
						t.Fatalf("%v\n%s\n%s", err, moved, earlier)
					}
				}
				if _, err := timeline.Open(state, timeline.Options{Readers: names[1:]}); !errors.Is(err, errs.Invalid) {
					t.Error(err)
				}
			})
		}
	}
}

// A state at the start, or in the first epoch, does not tell which of two readers with
// different epochs is the first: that is said, and how to tell it.
func TestTimelineAsksForTheFirstReader(t *testing.T) {
	_, state := readers{{"z", 10, true}, {"a", 7, true}}.play(t, t.TempDir(), order.Short, 1)
	_, err := timeline.Open(state, timeline.Options{})
	if e := (*errs.Error)(nil); !errors.As(err, &e) || e.Kind != errs.Unsupported || e.Remedy == "" {
		t.Fatal(err)
	}
	l, err := timeline.Open(state, timeline.Options{Readers: []string{"z", "a"}})
	if err != nil || l.EpochLen() != 10 {
		t.Error(l, err)
	}
}
