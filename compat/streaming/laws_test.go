package streaming

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

var (
	_ order.Order = (*Epoch)(nil)
	_ order.Order = (*Order)(nil)
)

func drawShuffle(t *rapid.T) Shuffle {
	return Shuffle{
		Algorithm:      rapid.SampledFrom(Algorithms()).Draw(t, "algorithm"),
		Shards:         rapid.SliceOfN(rapid.Int64Range(0, 60), 1, 12).Draw(t, "shards"),
		CanonicalNodes: rapid.Int64Range(1, 9).Draw(t, "canonical nodes"),
		Seed:           rapid.Int64Range(0, 1<<40).Draw(t, "seed"),
		Epoch:          rapid.Int64Range(0, 9).Draw(t, "epoch"),
		Block:          rapid.Int64Range(2, 300).Draw(t, "block"),
	}
}

// Every shuffle is a permutation, and within a canonical node one of the samples
// that it has in every epoch.
func TestShuffleIsPermutation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShuffle(t)
		ids, err := s.Samples()
		if s.Algorithm == Py1e && errors.Is(err, errs.Invalid) {
			return // a canonical node without samples
		}
		if err != nil {
			t.Fatal(err)
		}
		n, _ := s.Size()
		checkPermutation(t, ids, n)
		next := s
		next.Epoch++
		other, err := next.Samples()
		if err != nil {
			t.Fatal(err)
		}
		for node := range s.CanonicalNodes {
			if s.Algorithm == Naive {
				break
			}
			begin, end := portion(n, node, s.CanonicalNodes), portion(n, node+1, s.CanonicalNodes)
			a, b := slices.Sorted(slices.Values(ids[begin:end])), slices.Sorted(slices.Values(other[begin:end]))
			if d := cmp.Diff(a, b); d != "" {
				t.Fatalf("canonical node %d in the next epoch:\n%s", node, d)
			}
		}
	})
}

func checkPermutation(t *rapid.T, ids []int64, n int64) {
	t.Helper()
	seen := make([]bool, n)
	for _, id := range ids {
		if id < 0 || id >= n || seen[id] {
			t.Fatalf("sample %d of %d is not there once", id, n)
		}
		seen[id] = true
	}
	if int64(len(ids)) != n {
		t.Fatalf("%d samples of %d", len(ids), n)
	}
}

// The orders agree with the partition, and together they have every sample that
// was not dropped.
func TestSplitCovers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Split{
			Samples:        rapid.Int64Range(1, 400).Draw(t, "samples"),
			CanonicalNodes: rapid.SampledFrom([]int64{1, 2, 4, 6, 8}).Draw(t, "canonical nodes"),
			Nodes:          rapid.Int64Range(1, 8).Draw(t, "nodes"),
			Ranks:          rapid.Int64Range(1, 5).Draw(t, "ranks"),
			Workers:        rapid.Int64Range(1, 3).Draw(t, "workers"),
			Batch:          rapid.Int64Range(1, 7).Draw(t, "batch"),
			Drop:           rapid.Int64Range(0, 100).Draw(t, "drop"),
			InitialNodes:   rapid.Int64Range(0, 3).Draw(t, "initial nodes"),
		}
		p, err := NewPartition(s)
		if err != nil {
			if !errors.Is(err, errs.Invalid) {
				t.Fatal(err)
			}
			return
		}
		checkOrders(t, p)
		if s.Drop > 0 {
			return
		}
		seen := map[int64]bool{}
		_, flat := flatten(p)
		for _, id := range flat {
			seen[id] = id >= 0
		}
		delete(seen, -1)
		if int64(len(seen)) != s.Samples {
			t.Fatalf("%d of %d samples", len(seen), s.Samples)
		}
	})
}

// A run that stops and goes on with other ranks sees the global batches of the run
// that does not.
func TestElastic(t *testing.T) {
	shuffle := Shuffle{Algorithm: Py1e, Shards: []int64{311, 97, 400, 192}, CanonicalNodes: 8, Seed: 5, Epoch: 3, Block: 128}
	whole, err := NewEpoch(shuffle)
	if err != nil {
		t.Fatal(err)
	}
	first := Split{CanonicalNodes: 8, Nodes: 2, Ranks: 2, Workers: 2, Batch: 6, InitialNodes: 2}
	straight, err := whole.Global(first)
	if err != nil {
		t.Fatal(err)
	}
	const global = 24
	for _, to := range []Split{{Nodes: 1, Ranks: 2, Batch: 12}, {Nodes: 3, Ranks: 2, Batch: 4}, {Nodes: 6, Ranks: 2, Batch: 2}, {Nodes: 4, Ranks: 2, Batch: 3}} {
		to.Workers = 2
		for _, step := range []int64{0, 1, 17} {
			state, err := ParseState([]byte(State{Epoch: 3, SampleInEpoch: step * global, CanonicalNodes: 8, Seed: 5, InitialNodes: 2}.String()))
			if err != nil {
				t.Fatal(err)
			}
			sh, sp := state.Resume(Shuffle{Algorithm: Py1e, Shards: shuffle.Shards, Block: shuffle.Block}, to)
			epoch, err := NewEpoch(sh)
			if err != nil {
				t.Fatal(err)
			}
			resumed, err := epoch.Global(sp)
			if err != nil {
				t.Fatal(err)
			}
			a, b := make([]int64, global), make([]int64, global)
			for at := step * global; at < 960; at += global {
				straight.Fill(at, a)
				resumed.Fill(at-step*global, b)
				if d := cmp.Diff(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))); d != "" {
					t.Fatalf("%+v from step %d, batch %d:\n%s", to, step, at/global, d)
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	good := Shuffle{Algorithm: Py1br, Shards: []int64{9, 9}, CanonicalNodes: 2, Block: 16}
	for name, change := range map[string]func(*Shuffle){
		"algorithm":       func(s *Shuffle) { s.Algorithm = "py3" },
		"seed":            func(s *Shuffle) { s.Seed = -1 },
		"overflow":        func(s *Shuffle) { s.Seed, s.Epoch = 1<<62, 1<<62 },
		"canonical nodes": func(s *Shuffle) { s.CanonicalNodes = 0 },
		"shard":           func(s *Shuffle) { s.Shards = []int64{3, -1} },
		"too many":        func(s *Shuffle) { s.Shards = []int64{MaxSamples, 1} },
		"block":           func(s *Shuffle) { s.Block = 1 },
		"no block":        func(s *Shuffle) { s.Algorithm, s.Block = Py1e, 0 },
		"empty node":      func(s *Shuffle) { s.Algorithm, s.CanonicalNodes = Py1e, 40 },
	} {
		s := good
		change(&s)
		if _, err := NewEpoch(s); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	split := Split{CanonicalNodes: 1, Nodes: 1, Ranks: 2, Workers: 1, Batch: 1}
	if _, err := Unshuffled(7).Rank(split, 0, 2); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	split.Samples = 8
	if _, err := Unshuffled(7).Rank(split, 0, 1); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
	split.Samples, split.Drop = 7, 9
	if _, err := Unshuffled(7).Global(split); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// A shard without samples does not change the order of a dataset: StreamingDataset leaves it out
// before it shuffles. The ids come from a live StreamingDataLoader.
func TestEmptyShardsAreLeftOut(t *testing.T) {
	recorded := Shuffle{Algorithm: Py1e, Shards: []int64{0, 16, 0, 0, 0, 0, 4}, CanonicalNodes: 4, Seed: 119257399, Block: 40}
	e, err := NewEpoch(recorded)
	if err != nil {
		t.Fatal(err)
	}
	o, err := e.Rank(Split{CanonicalNodes: 4, Nodes: 1, Ranks: 1, Workers: 1, Batch: 1}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]int64, 20)
	o.Fill(0, got)
	if d := cmp.Diff([]int64{2, 7, 10, 16, 4, 8, 13, 19, 3, 5, 14, 15, 0, 9, 11, 18, 1, 6, 12, 17}, got); d != "" {
		t.Fatalf("(-streaming +got):\n%s", d)
	}
	recorded.KeepEmpty = true
	kept, err := NewEpoch(recorded)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := recorded.Samples()
	if err != nil {
		t.Fatal(err)
	}
	if kept.Fill(0, got); !slices.Equal(got, raw) || kept.String() == e.String() {
		t.Errorf("%s keeps empty shards: %v, get_shuffle gives %v; without them it is %s", kept, got, raw, e)
	}
	rapid.Check(t, func(t *rapid.T) {
		s := drawShuffle(t)
		full := s
		full.Shards = slices.DeleteFunc(slices.Clone(s.Shards), func(n int64) bool { return n == 0 })
		a, errA := NewEpoch(s)
		b, errB := NewEpoch(full)
		if (errA == nil) != (errB == nil) || errA == nil && (!slices.Equal(a.ids, b.ids) || a.String() != b.String()) {
			t.Fatalf("with empty shards %v (%v), without %v (%v)", a, errA, b, errB)
		}
	})
}
