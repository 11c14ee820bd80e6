package loader_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ranksOf opens the loaders of all ranks over 12 streams of an iterable data set.
func ranksOf(t *testing.T, world int, saved []byte,
	dataset func() loader.Iterable[int64]) (all []*loader.Loader[int64, tensor.Tensor]) {
	t.Helper()
	for rank := range world {
		l := openIterable(t, dataset(), options{BatchSize: 2, Streams: 12, World: world, Rank: rank, Workers: rank % 3})
		if saved != nil {
			restore(t, l, saved)
		}
		all = append(all, l)
	}
	return all
}

func merged(t *testing.T, ranks []*loader.Loader[int64, tensor.Tensor]) []byte {
	t.Helper()
	var states [][]byte
	for _, l := range ranks {
		states = append(states, snapshot(t, l))
	}
	b, err := loader.Merge(states...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Iterables are elastic as well: 3 → 4 → 2 → 1 ranks, each item once and in the order of one rank.
func TestIterableRanksAreElastic(t *testing.T) {
	for _, dataset := range []func() loader.Iterable[int64]{
		func() loader.Iterable[int64] { return plain(1009) },
		func() loader.Iterable[int64] { return seekable{size: 1009} },
	} {
		whole := slices.Concat(epochs(t, ranksOf(t, 1, nil, dataset)[0], 1)[0]...)
		var got []int64
		var saved []byte
		for _, leg := range []struct{ world, steps int }{{3, 20}, {4, 31}, {2, 33}, {1, -1}} {
			ranks := ranksOf(t, leg.world, saved, dataset)
			if leg.steps < 0 {
				got = append(got, slices.Concat(take(t, ranks[0], -1)...)...)
				break
			}
			for range leg.steps {
				for _, l := range ranks {
					got = append(got, slices.Concat(take(t, l, 1)...)...)
				}
			}
			saved = merged(t, ranks)
		}
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Error(diff)
		}
	}
}

// Uneven streams end ranks at different steps; each item still comes once.
func TestUnevenIterableRanks(t *testing.T) {
	dataset := func() loader.Iterable[int64] { return uneven(0, 9, 3, 7, 1, 1, 20, 2, 0, 5, 8, 4) }
	var got []int64
	ranks := ranksOf(t, 4, nil, dataset)
	over := map[any]bool{}
	for range 3 {
		for _, l := range ranks {
			if over[l] {
				continue
			}
			b, err := l.Next(context.Background())
			if errors.Is(err, io.EOF) {
				over[l] = true
				continue
			}
			v, _ := tensor.Of[int64](b)
			got = append(got, v...)
		}
	}
	for _, l := range ranksOf(t, 6, merged(t, ranks), dataset) {
		got = append(got, slices.Concat(take(t, l, -1)...)...)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]int64(ids(60)), got); diff != "" {
		t.Error(diff)
	}
}

func TestMergeRefuses(t *testing.T) {
	dataset := func() loader.Iterable[int64] { return plain(100) }
	ranks := ranksOf(t, 3, nil, dataset)
	for _, l := range ranks {
		take(t, l, 2)
	}
	a, b, c := snapshot(t, ranks[0]), snapshot(t, ranks[1]), snapshot(t, ranks[2])
	take(t, ranks[2], -1)
	take(t, ranks[2], 1)
	later := snapshot(t, ranks[2])
	m := open(t, ids(4), options{})
	for want, states := range map[string][][]byte{
		"Iterable": {}, "rank 2, epoch": {a, b, later}, "rank 1": {a, []byte("{"), c}, "multiple of 5": {a, b, c, a, b}, "at least one state": {snapshot(t, m)},
		"fields": {a, []byte(strings.Replace(string(first(t, b)), `"seed":"0"`, `"seed":"1"`, 1)), c},
	} {
		_, err := loader.Merge(states...)
		if want == "fields" {
			want = "seed"
		}
		if err == nil || errs.KindOf(err) == errs.Other || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := loader.NewIterable(dataset(), options{Streams: 4, World: 3}); !errors.Is(err, errs.Invalid) {
		t.Errorf("streams that ranks cannot share: %v", err)
	}
	l := openIterable(t, dataset(), options{World: 5, Streams: 5})
	if err := l.SetState(a); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(err.Error(), "divisor of the 12 streams") {
		t.Errorf("%v", err)
	}
}

// A state that has batches behind its snapshot tells how many there were, and not of which
// streams: another number of ranks does not go on from it, for each would read its own streams
// too far. From a snapshot itself they do, and nothing is lost or repeated.
func TestSnapshotsGoToOtherRanks(t *testing.T) {
	for _, every := range []int{1, 2, 3, loader.SnapshotNever} {
		for taken := range 9 {
			o := options{BatchSize: 3, Streams: 4, SnapshotEvery: every, Log: slog.New(slog.DiscardHandler)}
			one, err := loader.NewIterable(plain(60), o)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.Concat(take(t, one, taken)...)
			saved := snapshot(t, one)
			if err := one.Close(); err != nil {
				t.Fatal(err)
			}
			refused := 0
			for rank := range 2 {
				o.Rank, o.World = rank, 2
				l, err := loader.NewIterable(plain(60), o)
				if err != nil {
					t.Fatal(err)
				}
				switch err := l.SetState(saved); {
				case errors.Is(err, errs.Mismatch) && strings.Contains(err.Error(), "SnapshotEvery"):
					refused++
				case err != nil:
					t.Fatal(err)
				default:
					got = append(got, slices.Concat(take(t, l, -1)...)...)
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
			between := taken > 0 && (every == loader.SnapshotNever || taken%every != 0)
			if between != (refused == 2) || !between && refused > 0 {
				t.Errorf("every %d: %d ranks refuse the state behind %d batches", every, refused, taken)
			}
			slices.Sort(got)
			if refused == 0 && (len(got) != 60 || len(slices.Compact(got)) != 60) {
				t.Errorf("every %d, behind %d batches: %v", every, taken, got)
			}
		}
	}
}
