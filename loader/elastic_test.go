package loader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// worldOf opens the loaders of that many ranks and sets them to a state.
func worldOf(t *testing.T, n int64, world int, base options,
	saved []byte) (ranks []*loader.Loader[int64, tensor.Tensor]) {
	t.Helper()
	for rank := range world {
		o := base
		o.Rank, o.World, o.Log = rank, world, slog.New(slog.DiscardHandler)
		l := open(t, newGate(n), o)
		if saved != nil {
			restore(t, l, saved)
		}
		ranks = append(ranks, l)
	}
	return ranks
}

// What one rank handed out of order goes on over any number of ranks, in order or not:
// the ranks end together, and each sample comes once.
func TestGapsGoToAnyNumberOfRanks(t *testing.T) {
	for world := 1; world <= 6; world++ {
		for _, base := range []options{{BatchSize: 2}, {BatchSize: 3, Workers: 2, Prefetch: 3, OutOfOrder: true}} {
			l := open(t, newGate(25, 2, 6), options{BatchSize: 2, Workers: 3, Prefetch: 3, OutOfOrder: true})
			all := slices.Concat(take(t, l, 5)...) // batches 1 and 3 hang
			ranks := worldOf(t, 25, world, base, snapshot(t, l))
			own, _, _ := ranksUntilEnd(t, ranks, 2)
			all = append(all, own...)
			if base.Workers == 0 { // in order: the states of all ranks are the same
				saved := snapshot(t, ranks[0])
				for _, r := range ranks {
					if !bytes.Equal(saved, snapshot(t, r)) {
						t.Fatalf("%d ranks: states differ", world)
					}
				}
				ranks = worldOf(t, 25, 7-world, base, saved)
			}
			own, _, _ = ranksUntilEnd(t, ranks, -1)
			all = append(all, own...)
			slices.Sort(all)
			if diff := cmp.Diff([]int64(ids(25)), all); diff != "" {
				t.Errorf("%d ranks, %d workers: %s", world, base.Workers, diff)
			}
		}
	}
}

// A state out of order belongs to its rank, with or without a gap: the other ranks may
// have handed out other batches. The error says what to do.
func TestOutOfOrderStateBelongsToItsRank(t *testing.T) {
	for _, held := range [][]int64{{0}, nil} {
		base := options{BatchSize: 2, Workers: 2, OutOfOrder: true}
		o := base
		o.World = 2
		l := open(t, newGate(40, held...), o)
		take(t, l, 1)
		saved := snapshot(t, l)
		for _, other := range []options{{World: 2, Rank: 1}, {World: 1}, {World: 4}} {
			other.BatchSize = 2
			err := open(t, newGate(40), other).SetState(saved)
			if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "SettleEvery") ||
				!strings.Contains(err.Error(), "rank 0 of 2") {
				t.Errorf("held %v, rank %d of %d: %v", held, other.Rank, other.World, err)
			}
		}
		next := open(t, newGate(40), o)
		restore(t, next, saved)
		take(t, next, 2)
		if err := open(t, newGate(40), options{BatchSize: 2}).SetState(snapshot(t, next)); !errors.Is(err, errs.Mismatch) {
			t.Errorf("the next state goes anywhere: %v", err)
		}
		take(t, next, -1)
		restore(t, open(t, newGate(40), options{BatchSize: 3, World: 5, Rank: 4, Log: slog.New(slog.DiscardHandler)}),
			snapshot(t, next)) // the epoch is over
	}
}

// At a settled step all ranks have handed out exactly the batches before it, whatever was
// slow, and any number of ranks goes on from the state of any of them.
func TestSettledStatesGoAnywhere(t *testing.T) {
	const n, every, steps = 61, 3, 6
	base := options{BatchSize: 2, Workers: 3, Prefetch: 2, OutOfOrder: true, SettleEvery: every}
	for world := 1; world <= 4; world++ {
		ranks := make([]*loader.Loader[int64, tensor.Tensor], world)
		for r := range ranks { // sample 2 is slow for the rank that has it
			o := base
			o.Rank, o.World, o.Log = r, world, slog.New(slog.DiscardHandler)
			g := newGate(n, 2)
			ranks[r] = open(t, g, o)
			b := slices.Concat(take(t, ranks[r], 1)...)
			if slices.Contains(b, 2) {
				t.Fatal(b)
			}
			close(g.held[2])
		}
		var delivered []int64
		for _, l := range ranks {
			for range steps - 1 {
				delivered = append(delivered, slices.Concat(take(t, l, 1)...)...)
			}
		}
		saved := snapshot(t, ranks[0])
		for _, l := range ranks {
			if !bytes.Equal(saved, snapshot(t, l)) {
				t.Fatalf("states of ranks differ:\n%s\n%s", saved, snapshot(t, l))
			}
		}
		if want := fmt.Sprintf(`"position":%d`, steps*2*world); !strings.Contains(string(saved), want) {
			t.Fatalf("%s, want %s", saved, want)
		}
		rest, _, _ := ranksUntilEnd(t, worldOf(t, n, 5-world, options{BatchSize: 3}, saved), -1)
		if slices.Sort(rest); len(rest) != n-steps*2*world || rest[0] != int64(steps*2*world) {
			t.Errorf("%d ranks: %v", world, rest)
		}
		if len(delivered) == 0 {
			t.Error("nothing was delivered")
		}
	}
}

// A rank of an iterable data set that sets the state of another one would read what that
// has read again, and never what it has not.
func TestIterableStateBelongsToItsRank(t *testing.T) {
	ranks := ranksOf(t, 2, nil, func() loader.Iterable[int64] { return plain(100) })
	var states [][]byte
	for _, l := range ranks {
		take(t, l, 3)
		states = append(states, snapshot(t, l))
	}
	for _, other := range []options{{World: 2, Rank: 1}, {World: 1}, {World: 4}} {
		l := openIterable(t, plain(100), options{BatchSize: 2, Streams: 12, World: other.World, Rank: other.Rank})
		if err := l.SetState(states[0]); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "loader.Merge") {
			t.Errorf("rank %d of %d: %v", other.Rank, other.World, err)
		}
	}
	restore(t, ranks[0], states[0])
	if _, err := loader.Merge(states[1], states[0]); !errors.Is(err, errs.Mismatch) {
		t.Errorf("ranks out of order are merged: %v", err)
	}
}

// States of streams with gaps are merged: each item comes once.
func TestMergeOfStreamsWithGaps(t *testing.T) {
	hold := make(chan bool)
	defer close(hold)
	var all []int64
	var states [][]byte
	for rank := range 2 {
		ds := loader.Iterable[int64](opener(func(ctx context.Context) (loader.Iterator[int64], error) {
			w, _ := loader.WorkerInfoOf(ctx)
			it, err := seekable{size: 61}.Open(ctx)
			if w.ID < 2 {
				return waiting{it, hold}, err
			}
			return it, err
		}))
		l := openIterable(t, ds, options{BatchSize: 2, Streams: 6, Workers: 3, OutOfOrder: true, World: 2, Rank: rank})
		all = append(all, slices.Concat(take(t, l, 2)...)...)
		states = append(states, snapshot(t, l))
		if !strings.Contains(string(states[rank]), "window") {
			t.Fatalf("no gap: %s", states[rank])
		}
	}
	saved, err := loader.Merge(states...)
	if err != nil {
		t.Fatal(err)
	}
	for rank := range 3 {
		ds := loader.Iterable[int64](opener(seekable{size: 61}.Open))
		l := openIterable(t, ds, options{BatchSize: 2, Streams: 6, World: 3, Rank: rank})
		restore(t, l, saved)
		all = append(all, slices.Concat(take(t, l, -1)...)...)
	}
	slices.Sort(all)
	if diff := cmp.Diff([]int64(ids(61)), all); diff != "" {
		t.Error(diff)
	}
}
