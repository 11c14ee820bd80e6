package grain

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func loader(t interface{ Fatal(...any) }, so SamplerOptions, o LoaderOptions) Iter[[]int64] {
	s, err := NewSampler(so)
	if err != nil {
		t.Fatal(err)
	}
	it, err := LoaderIter(s, o)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func seeded(records int64, shard Shard) SamplerOptions {
	seed := uint32(3)
	return SamplerOptions{Records: records, Shard: shard, Shuffle: true, Epochs: 1, Seed: &seed}
}

// Grain gave these batches, and at the end the last indices of the workers and the last worker.
func TestLoaderOfWorkersAsRecorded(t *testing.T) {
	for _, c := range []struct {
		records int64
		shard   Shard
		o       LoaderOptions
		want    string
		last    string
	}{
		{13, Shard{0, 1, false}, LoaderOptions{Workers: 3, Batch: 4}, "[4 8 10 9] [7 2 6 3] [11 5 1 12] [0]", "map[0:12 1:10 2:11] 0"},
		{21, Shard{0, 1, false}, LoaderOptions{Workers: 2, Batch: 4}, "[4 11 17 10] [7 8 5 19] [13 3 16 0] [15 12 1 9] [14 2 18] [20 6]", "map[0:20 1:19] -1"},
		{21, Shard{0, 1, false}, LoaderOptions{Workers: 2, Batch: 4, Drop: true}, "[4 11 17 10] [7 8 5 19] [13 3 16 0] [15 12 1 9]", "map[0:14 1:15] -1"},
		{25, Shard{1, 2, false}, LoaderOptions{Workers: 2, Batch: 3}, "[17 24 15] [20 21 18] [23 14 16] [19 22 13]", "map[0:21 1:23] -1"},
		{3, Shard{0, 1, false}, LoaderOptions{Workers: 4, Batch: 2}, "[2] [1] [0]", "map[0:0 1:1 2:2 3:-1] 2"},
		{14, Shard{0, 1, false}, LoaderOptions{Workers: 4, Batch: 2, Drop: true}, "[4 2] [7 5] [11 10] [8 6] [13 0] [9 1]", "map[0:12 1:13 2:6 3:7] 1"},
	} {
		it := loader(t, seeded(c.records, c.shard), c.o)
		var all []string
		for batch, ok := it.Next(); ok; batch, ok = it.Next() {
			all = append(all, fmt.Sprint(batch))
		}
		s, err := ParseLoaderState(it.State())
		if err != nil {
			t.Fatal(err)
		}
		got := []string{strings.Join(all, " "), fmt.Sprint(s.LastSeenIndices, s.LastWorkerIndex)}
		if d := cmp.Diff([]string{c.want, c.last}, got); d != "" {
			t.Errorf("%d records, %+v (-Grain +got):\n%s", c.records, c.o, d)
		}
	}
}

// A loader delivers each record of its shard once, and goes on from the state before any batch.
func TestLoaderResumes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(1, 3).Draw(t, "shards")
		so := seeded(rapid.Int64Range(count, 40).Draw(t, "records"),
			Shard{rapid.Int64Range(0, count-1).Draw(t, "shard"), count, true})
		o := LoaderOptions{Workers: rapid.Int64Range(0, 5).Draw(t, "workers"),
			Batch: rapid.Int64Range(1, 6).Draw(t, "batch"), DataSource: "d"}
		it := loader(t, so, o)
		var batches [][]int64
		seen := map[int64]bool{}
		states := []json.RawMessage{it.State()}
		for batch, ok := it.Next(); ok; batch, ok = it.Next() {
			for _, record := range batch {
				seen[record] = true
			}
			batches, states = append(batches, batch), append(states, it.State())
		}
		if want := so.Records / count; int64(len(seen)) != want {
			t.Fatalf("%d records, want %d", len(seen), want)
		}
		for k, state := range states {
			again := loader(t, so, o)
			if err := again.SetState(state); err != nil {
				t.Fatalf("state %d, %s: %v", k, state, err)
			}
			for i, want := range batches[k:] {
				if got, ok := again.Next(); !ok || !cmp.Equal(want, got) {
					t.Fatalf("from state %d, batch %d: %v, %t, want %v", k, i, got, ok, want)
				}
			}
			if got, ok := again.Next(); ok {
				t.Fatalf("from state %d: %v at the end", k, got)
			}
		}
	})
}

// An endless sampler has no last batch.
func TestLoaderWithoutEnd(t *testing.T) {
	so := seeded(5, Shard{})
	so.Epochs = 0
	it := loader(t, so, LoaderOptions{Workers: 2, Batch: 4})
	for i := range 50 {
		if batch, ok := it.Next(); !ok || len(batch) != 4 {
			t.Fatalf("batch %d: %v, %t", i, batch, ok)
		}
	}
}

func TestLoaderRefusals(t *testing.T) {
	so := seeded(21, Shard{})
	s, err := NewSampler(so)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []LoaderOptions{{Batch: 0}, {Batch: 1, Workers: -1}, {Batch: 1, Workers: 1 << 40}} {
		if _, err := LoaderIter(s, o); !errors.Is(err, errs.Invalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	huge, err := NewSampler(SamplerOptions{Records: 1 << 60, Shard: Shard{Count: 1 << 44}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoaderIter(huge, LoaderOptions{Batch: 1, Workers: 1 << 20}); !errors.Is(err, errs.Invalid) {
		t.Errorf("indices beyond 2^63: %v", err)
	}
	o := LoaderOptions{Workers: 2, Batch: 4, DataSource: "d"}
	it := loader(t, so, o)
	it.Next()
	good, err := ParseLoaderState(it.State())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind   errs.Kind
		change func(*LoaderState)
	}{
		"another sampler":       {errs.Mismatch, func(s *LoaderState) { s.Sampler = "SequentialSampler()" }},
		"another data source":   {errs.Mismatch, func(s *LoaderState) { s.DataSource = "e" }},
		"other workers":         {errs.Mismatch, func(s *LoaderState) { s.WorkerCount = 3 }},
		"one index":             {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": 6} }},
		"another name":          {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": 6, "2": 7} }},
		"another's index":       {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": 6, "1": 6} }},
		"an index before all":   {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": -4, "1": 7} }},
		"an index behind all":   {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": 22, "1": 7} }},
		"an index at the limit": {errs.Corrupt, func(s *LoaderState) { s.LastSeenIndices = map[string]int64{"0": Endless, "1": 7} }},
		"no such last worker":   {errs.Corrupt, func(s *LoaderState) { s.LastWorkerIndex = 2 }},
		"a worker before all":   {errs.Corrupt, func(s *LoaderState) { s.LastWorkerIndex = -2 }},
		"another version":       {errs.Corrupt, func(s *LoaderState) { s.Version = 1 }},
	} {
		state := good
		c.change(&state)
		before := string(it.State())
		if err := it.SetState([]byte(state.String())); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if got := string(it.State()); got != before {
			t.Errorf("%s: the state moved to %s", name, got)
		}
	}
}
