package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/logtest"
	"github.com/bivouac-ml/bivouac/state"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A last batch with fewer samples than ranks is told when the loader is made, and only
// then.
func TestUnevenEndIsToldAtConstruction(t *testing.T) {
	for _, c := range []struct {
		n    int
		o    options
		told bool
	}{
		{9, options{BatchSize: 2, World: 4}, true},
		{8, options{BatchSize: 2, World: 4}, false},
		{12, options{BatchSize: 2, World: 4}, false},
		{9, options{BatchSize: 2, World: 4, Tail: order.Drop}, false},
		{9, options{BatchSize: 2}, false},
		{11, options{GlobalBatch: 5, World: 3, Rank: 1}, true},
	} {
		var warnings []string
		c.o.Log = logtest.New(func(m string) { warnings = append(warnings, m) })
		open(t, ids(c.n), c.o)
		if told := slices.ContainsFunc(warnings,
			func(m string) bool { return strings.Contains(m, "ranks") && strings.Contains(m, "Tail") }); told != c.told {
			t.Errorf("%d samples, %+v: %q", c.n, c.o.BatchSize, warnings)
		}
	}
}

// A state with two gaps, which batches that hang have left, loses none of them: each
// sample comes once, in whatever order and size the rest is read.
func TestNoBatchIsLostInTwoGaps(t *testing.T) {
	for _, after := range []options{{BatchSize: 2}, {BatchSize: 2, OutOfOrder: true, Workers: 3},
		{BatchSize: 5, Workers: 1}} {
		l := open(t, newGate(24, 2, 6), options{BatchSize: 2, Workers: 3, Prefetch: 3, OutOfOrder: true})
		first := slices.Concat(take(t, l, 5)...) // batches 1 and 3 hang
		saved := snapshot(t, l)
		if !strings.Contains(string(saved), `"bits":"0101`) || slices.Contains(first, 2) || slices.Contains(first, 6) {
			t.Fatalf("delivered %v: %s", first, saved)
		}
		next := open(t, newGate(24), after)
		restore(t, next, saved)
		more := take(t, next, 1)
		third := open(t, newGate(24), after)
		restore(t, third, snapshot(t, next))
		all := slices.Concat(first, slices.Concat(more...), slices.Concat(take(t, third, -1)...))
		slices.Sort(all)
		if diff := cmp.Diff([]int64(ids(24)), all); diff != "" {
			t.Errorf("%+v: %s", after, diff)
		}
	}
}

// ranksUntilEnd steps all ranks to the end of an epoch, checks that they end it in the same
// step, and returns the samples in their order, repeated ones apart.
func ranksUntilEnd(t *testing.T, ranks []*loader.Loader[int64, tensor.Tensor],
	steps int) (own, repeated []int64, ended bool) {
	t.Helper()
	for step := 0; step != steps; step++ {
		over := 0
		for r, l := range ranks {
			b, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) {
				over++
				continue
			}
			if err != nil {
				t.Fatalf("rank %d: %v", r, err)
			}
			v, _ := tensor.Of[int64](b)
			again := l.LastBatch().Repeated
			own, repeated = append(own, v[again:]...), append(repeated, v[:again]...)
			if again > 0 && len(v) != again || l.LastBatch().Samples != len(v) {
				t.Fatalf("%v: %+v", v, l.LastBatch())
			}
		}
		if over == len(ranks) {
			return own, repeated, true
		}
		if over > 0 {
			t.Fatalf("%d of %d ranks end the epoch in step %d, the others do not", over, len(ranks), step)
		}
	}
	return own, repeated, false
}

// All ranks have the same number of steps in every epoch, and the state of each is the
// same: whatever the number of ranks, the size of batches, the length of the data set and
// the number of workers. Each sample comes once; what is repeated is counted.
func TestRanksEndTogether(t *testing.T) {
	kinds := map[string]func(n int) options{
		"order":   func(int) options { return options{Shuffle: true, Seed: 3} },
		"sampler": func(n int) options { return options{Sampler: &everySampler{n: int64(n)}} },
	}
	worlds, sizes := []int{1, 2, 3, 4, 5, 6, 7, 8}, []int{1, 2, 3}
	if testing.Short() {
		worlds, sizes = []int{1, 2, 3, 8}, []int{1, 2}
	}
	for kind, base := range kinds {
		for _, world := range worlds {
			for _, size := range sizes {
				for n := range 2*world*size + 3 {
					var ranks []*loader.Loader[int64, tensor.Tensor]
					for rank := range world {
						o := base(n)
						o.BatchSize, o.Rank, o.World, o.Workers, o.Log = size, rank, world, (n+rank)%3%2, slog.New(slog.DiscardHandler)
						l, err := loader.New(ids(n), o)
						if err != nil {
							t.Fatal(err)
						}
						ranks = append(ranks, l)
					}
					total := int64(0)
					for range 2 {
						own, repeated, _ := ranksUntilEnd(t, ranks, -1)
						slices.Sort(own)
						if diff := cmp.Diff([]int64(ids(n)), own, cmpopts.EquateEmpty()); diff != "" {
							t.Fatalf("%s, %d samples, %d ranks of %d: %s", kind, n, world, size, diff)
						}
						rest := n % (world * size)
						if want := max(0, world-rest) * min(rest, 1); len(repeated) != want {
							t.Fatalf("%s, %d samples, %d ranks of %d: repeated %v", kind, n, world, size, repeated)
						}
						total += int64(len(repeated))
					}
					saved := snapshot(t, ranks[0])
					d, err := state.Unmarshal(saved)
					if err != nil {
						t.Fatal(err)
					}
					if got := string(d.Extra["repeated"]); total > 0 && got != fmt.Sprint(total) || d.Position != int64(2*n) {
						t.Fatalf("%d are repeated: %s", total, saved)
					}
					for _, l := range ranks {
						if !bytes.Equal(saved, snapshot(t, l)) {
							t.Fatalf("states of ranks differ:\n%s\n%s", saved, snapshot(t, l))
						}
						if err := l.Close(); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
	}
}

// Ranks of a batch sampler end together: those that get no batch repeat one.
func TestRanksOfABatchSamplerEndTogether(t *testing.T) {
	for n := range 9 {
		for world := 1; world <= 4; world++ {
			var batches batchList
			for i := range n {
				batches = append(batches, []int64{int64(2 * i), int64(2*i + 1)})
			}
			var ranks []*loader.Loader[int64, tensor.Tensor]
			for rank := range world {
				ranks = append(ranks, open(t, ids(20), options{BatchSampler: batches, Rank: rank, World: world,
					Log: slog.New(slog.DiscardHandler)}))
			}
			own, repeated, _ := ranksUntilEnd(t, ranks, -1)
			if diff := cmp.Diff([]int64(ids(2*n)), own, cmpopts.EquateEmpty()); diff != "" ||
				len(repeated) != 2*((world-n%world)%world) {
				t.Errorf("%d batches, %d ranks: %s, repeated %v", n, world, diff, repeated)
			}
		}
	}
}

// A repeated sample has the random numbers that it has on the other rank.
func TestRepeatedSampleIsTheSame(t *testing.T) {
	var got []int64
	for rank := range 4 {
		l := open(t, augmented(9), options{BatchSize: 2, Rank: rank, World: 4, Log: slog.New(slog.DiscardHandler)})
		take(t, l, 1)
		got = append(got, slices.Concat(take(t, l, 1)...)...)
	}
	if len(got) != 4 || slices.Min(got) != slices.Max(got) {
		t.Errorf("%v", got)
	}
}

// EndEarly is what ranks did before there was a choice: nothing is repeated.
func TestEndEarly(t *testing.T) {
	steps, own := map[int]int{}, []int64(nil)
	for rank := range 4 {
		var warnings []string
		l := open(t, ids(9), options{BatchSize: 2, Rank: rank, World: 4, Uneven: order.EndEarly,
			Log: logtest.New(func(m string) { warnings = append(warnings, m) })})
		b := take(t, l, -1)
		steps[len(b)]++
		own = append(own, slices.Concat(b...)...)
		if len(warnings) != 1 || !strings.Contains(warnings[0], "waits for ever") {
			t.Errorf("%q", warnings)
		}
		if strings.Contains(string(snapshot(t, l)), "repeated") {
			t.Error(string(snapshot(t, l)))
		}
	}
	if slices.Sort(own); steps[1] != 3 || steps[2] != 1 || len(own) != 9 {
		t.Errorf("%v, %v", steps, own)
	}
}

// A rank whose samples are all skipped delivers one of another rank instead of no batch.
func TestSkippedBatchKeepsRanksTogether(t *testing.T) {
	bad := loader.Func(20, func(_ context.Context, id int64, _ loader.Random) (int64, error) {
		if id == 4 || id == 5 || id >= 16 {
			return 0, errBad
		}
		return id, nil
	})
	var ranks []*loader.Loader[int64, tensor.Tensor]
	for rank := range 2 {
		ranks = append(ranks, open(t, bad, options{BatchSize: 2, Rank: rank, World: 2,
			OnError: faults.Policy{Action: faults.Skip}, Log: slog.New(slog.DiscardHandler)}))
	}
	own, repeated, _ := ranksUntilEnd(t, ranks, -1)
	want := slices.DeleteFunc([]int64(ids(16)), func(id int64) bool { return id == 4 || id == 5 })
	if diff := cmp.Diff(want, own); diff != "" || !slices.Equal(repeated, []int64{6}) {
		t.Errorf("%s, repeated %v", diff, repeated)
	}
}
