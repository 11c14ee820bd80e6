package readers_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
)

// trees are data sets by their size.
func trees(t testing.TB, sizes ...int) map[int]string {
	m := map[int]string{}
	for _, n := range sizes {
		m[n] = tree(t, n)
	}
	return m
}

// drawn returns the arguments of a reader.
func drawn(t *rapid.T, dirs map[int]string) (n int, a opargs.ReadersFile) {
	n = rapid.SampledFrom([]int{1, 2, 7, 12, 23}).Draw(t, "samples")
	shards := rapid.IntRange(1, min(4, n)).Draw(t, "shards")
	a = opargs.ReadersFile{FileRoot: dirs[n], NumShards: op.Const(shards),
		ShardId:            rapid.IntRange(0, shards-1).Draw(t, "shard"),
		PrefetchQueueDepth: op.Const(rapid.IntRange(1, 3).Draw(t, "ahead"))}
	switch rapid.IntRange(0, 3).Draw(t, "order") {
	case 1:
		a.RandomShuffle = true
	case 2:
		a.ShuffleAfterEpoch = true
	case 3:
		a.StickToShard = true
	}
	a.PadLastBatch = rapid.Bool().Draw(t, "pad")
	return n, a
}

// A reader that is restored after any batch goes on as if it had not been stopped: the same
// batches, the same ends of epochs, the same states.
func TestRestoreGoesOn(t *testing.T) {
	dirs := trees(t, 1, 2, 7, 12, 23)
	rapid.Check(t, func(rt *rapid.T) {
		_, a := drawn(rt, dirs)
		batch := rapid.IntRange(1, 5).Draw(rt, "batch")
		o := readers.Options{EnableCheckpointing: true, Seed: rapid.Uint64().Draw(rt, "seed")}
		r := newReader(t, a, o)
		whole, states, ends := history(t, r, batch, 3)
		at := rapid.IntRange(0, len(whole)-1).Draw(rt, "stopped")
		q := newReader(t, a, readers.Options{Seed: o.Seed})
		if err := q.SetState(states[at]); err != nil {
			rt.Fatal(err)
		}
		left := 0
		for _, end := range ends {
			if end > at+1 {
				left++
			}
		}
		more, again, moreEnds := history(t, q, batch, left)
		if !same(more, whole[at+1:]) || !slices.Equal(again, states[at+1:]) {
			rt.Fatalf("after batch %d of %v came %v", at, whole, more)
		}
		for i, end := range moreEnds {
			if want := ends[len(ends)-left+i]; end+at+1 != want {
				rt.Fatalf("an epoch ends after %d batches, not %d", end+at+1, want)
			}
		}
	})
}

// history returns the batches of some epochs, the state after each, and where the epochs end.
func history(t testing.TB, r *readers.Reader, batch, epochs int) (all [][]int, states []readers.State, ends []int) {
	for range epochs {
		for outputs, err := range r.NextEpoch(t.Context(), batch) {
			if err != nil {
				t.Fatal(err)
			}
			all, states = append(all, contents(t, outputs[0])), append(states, stateOf(t, r))
		}
		ends = append(ends, len(all))
	}
	return all, states, ends
}

// Shards that stop together go on as any other number of shards: together they give what is
// left of the epoch, each sample once, and then whole epochs.
func TestElastic(t *testing.T) {
	dirs := trees(t, 12, 23, 50)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{12, 23, 50}).Draw(rt, "samples")
		a := opargs.ReadersFile{FileRoot: dirs[n], RandomShuffle: rapid.Bool().Draw(rt, "shuffle")}
		o := readers.Options{EnableCheckpointing: true, Seed: rapid.Uint64().Draw(rt, "seed")}
		seen := make([]int, n)
		var state readers.State
		crew := func(shards int) (list []*readers.Reader) {
			for s := range shards {
				a.NumShards, a.ShardId = op.Const(shards), s
				r := newReader(t, a, o)
				if state != (readers.State{}) {
					if err := r.SetState(state); err != nil {
						rt.Fatal(err)
					}
				}
				list = append(list, r)
			}
			return list
		}
		for range rapid.IntRange(1, 3).Draw(rt, "stops") {
			shards, steps := rapid.IntRange(1, 6).Draw(rt, "shards"), rapid.IntRange(0, 3).Draw(rt, "steps")
			if steps == 0 || slices.Index(seen, 0) < 0 ||
				unseen(seen)/shards <= 2*steps { // every shard shall stop within the epoch
				continue
			}
			list := crew(shards)
			for _, r := range list {
				got, err := take(t, r, 2, steps)
				if err != nil {
					rt.Fatal(err)
				}
				count(seen, got)
			}
			state = stateOf(t, list[rapid.IntRange(0, shards-1).Draw(rt, "rank")])
		}
		list := crew(rapid.IntRange(1, min(6, max(1, unseen(seen)))).Draw(rt, "shards in the end"))
		for round := 1; round <= 2; round++ {
			for _, r := range list {
				count(seen, epoch(t, r, 2))
			}
			if slices.ContainsFunc(seen, func(c int) bool { return c != round }) {
				rt.Fatalf("after epoch %d the samples came so often: %v", round, seen)
			}
		}
	})
}

func unseen(seen []int) (n int) {
	for _, c := range seen {
		if c == 0 {
			n++
		}
	}
	return n
}

func count(seen []int, batches [][]int) {
	for _, b := range batches {
		for _, id := range b {
			seen[id]++
		}
	}
}

// The example of the issue: three shards stop, five go on.
func TestThreeBecomeFive(t *testing.T) {
	dir := tree(t, 30)
	var state readers.State
	seen := make([]int, 30)
	for s := range 3 {
		r := newReader(t, opargs.ReadersFile{FileRoot: dir, NumShards: op.Const(3), ShardId: s},
			readers.Options{EnableCheckpointing: true})
		got, err := take(t, r, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		count(seen, got)
		state = stateOf(t, r)
	}
	want := [][][]int{{{4, 5}, {6}}, {{7, 8}, {9, 14}}, {{15, 16}, {17}}, {{18, 19}, {24, 25}}, {{26, 27}, {28, 29}}}
	for s := range 5 {
		r := newReader(t, opargs.ReadersFile{FileRoot: dir, NumShards: op.Const(5), ShardId: s}, readers.Options{})
		if err := r.SetState(state); err != nil {
			t.Fatal(err)
		}
		got := epoch(t, r, 2)
		if count(seen, got); !same(got, want[s]) {
			t.Errorf("shard %d of 5 goes on with %v", s, got)
		}
	}
	if slices.ContainsFunc(seen, func(c int) bool { return c != 1 }) {
		t.Error(seen)
	}
}
