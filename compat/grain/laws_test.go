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
	"github.com/bivouac-ml/bivouac/order"
)

var (
	_ order.Order = (*Sampler)(nil)
	_ order.Order = Order{}
)

// A permutation has every sample once, where it says so; where not, one twice.
func TestPermutation(t *testing.T) {
	counts := func(t interface{ Fatal(...any) }, n int64, seed uint32, rounds int) (p *Permutation, twice, missing int) {
		p, err := NewPermutation(n, seed, rounds)
		if err != nil {
			t.Fatal(err)
		}
		seen := make([]int, n)
		for i := range n {
			seen[p.At(i)]++
		}
		for _, k := range seen {
			switch k {
			case 0:
				missing++
			case 2:
				twice++
			}
		}
		return p, twice, missing
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(1, 3000).Draw(t, "n")
		p, twice, missing := counts(t, n, rapid.Uint32().Draw(t, "seed"), 2*rapid.IntRange(2, 8).Draw(t, "half the rounds"))
		if twice+missing > 0 || !p.Bijective() {
			t.Fatalf("of %d samples %d come twice, %d never", n, twice, missing)
		}
	})
	for n, faults := range map[int64]int{65535: 0, 65536: 0, 65537: 1, 65538: 0, 131073: 0, 262144: 0, 262145: 1, 262146: 0} {
		p, twice, missing := counts(t, n, 42, DefaultRounds)
		if twice != faults || missing != faults || p.Bijective() != (faults == 0) {
			t.Errorf("of %d samples %d come twice, %d never; bijective: %t", n, twice, missing, p.Bijective())
		}
	}
}

// The shards of a sampler have the records of an epoch, and fill alike from
// everywhere.
func TestSamplerShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.Int64Range(1, 80).Draw(t, "records")
		count := rapid.Int64Range(1, min(records, 7)).Draw(t, "shards")
		seed := rapid.Uint32().Draw(t, "seed")
		seen := map[int64]int{}
		for index := range count {
			s, err := NewSampler(SamplerOptions{Records: records, Shard: Shard{Index: index, Count: count}, Shuffle: true, Epochs: 1, Seed: &seed})
			if err != nil {
				t.Fatal(err)
			}
			n, _ := s.Len()
			ids := make([]int64, n)
			s.Fill(0, ids)
			for pos, id := range ids {
				seen[id]++
				one := []int64{-1, -1}
				if got := s.Fill(int64(pos), one[:1]); got != 1 || one[0] != id {
					t.Fatalf("%s at %d: %d, want %d", s, pos, one[0], id)
				}
			}
		}
		if int64(len(seen)) != records {
			t.Fatalf("%d of %d records", len(seen), records)
		}
	})
}

// Elastic shards of any number make up the global batches.
func TestElasticShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, err := Repeat(Shuffle(Range(0, rapid.Int64Range(24, 90).Draw(t, "n"), 1), rapid.Uint32().Draw(t, "seed")), 3)
		if err != nil {
			t.Fatal(err)
		}
		const global = 12
		count := rapid.SampledFrom([]int64{1, 2, 3, 4, 6, 12}).Draw(t, "shards")
		next := global * rapid.Int64Range(0, 3).Draw(t, "batches before")
		got := make([]int64, global)
		for shard := range count {
			b, err := Elastic(m, global, Shard{Index: shard, Count: count}, next)
			if err != nil {
				t.Fatal(err)
			}
			batch, _ := b.At(1)
			for i, id := range batch {
				got[int64(i)*count+shard] = id
			}
		}
		want := make([]int64, global)
		o, err := NewOrder(m)
		if err != nil {
			t.Fatal(err)
		}
		o.Fill(next+global, want)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// A mixture draws on each source in its order, without gaps.
func TestMixCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var maps []Map[int64]
		weights := rapid.SliceOfN(rapid.Float64Range(0.01, 5), 1, 6).Draw(t, "weights")
		for i := range weights {
			maps = append(maps, Range(int64(i)<<32, int64(i)<<32+50, 1))
		}
		m, err := MixIterators(maps, weights)
		if err != nil {
			t.Fatal(err)
		}
		next := make([]int64, len(maps))
		for k := range m.Len() {
			id, _ := m.At(k)
			if next[id>>32] != id&(1<<32-1) {
				t.Fatalf("element %d is %d of source %d, want %d", k, id&(1<<32-1), id>>32, next[id>>32])
			}
			next[id>>32]++
		}
		parts, _ := proportions(weights, len(weights))
		if source, index := pick(m.Len(), parts); index != 50 || next[source] != 50 {
			t.Fatalf("the end is at element %d of source %d", index, source)
		}
	})
}

func TestRefusals(t *testing.T) {
	seed, m := uint32(1), Range(0, 5, 1)
	for name, call := range map[string]func() error{
		"no samples":  func() error { _, err := NewPermutation(0, 1, 4); return err },
		"rounds":      func() error { _, err := NewPermutation(9, 1, 5); return err },
		"records":     func() error { _, err := NewSampler(SamplerOptions{}); return err },
		"epochs":      func() error { _, err := NewSampler(SamplerOptions{Records: 5, Epochs: -1}); return err },
		"many epochs": func() error { _, err := NewSampler(SamplerOptions{Records: 1 << 40, Epochs: 1 << 40}); return err },
		"no seed":     func() error { _, err := NewSampler(SamplerOptions{Records: 5, Shuffle: true}); return err },
		"shard": func() error {
			_, err := NewSampler(SamplerOptions{Records: 5, Shard: Shard{Index: 2, Count: 2}})
			return err
		},
		"empty shard": func() error {
			_, err := NewSampler(SamplerOptions{Records: 5, Shard: Shard{Index: 6, Count: 7}, Seed: &seed})
			return err
		},
		"repeat":          func() error { _, err := Repeat(m, -1); return err },
		"repeat too long": func() error { _, err := Repeat(m, Endless); return err },
		"slice":           func() error { _, err := Slice(m, 0, 5, 0); return err },
		"sparse order":    func() error { _, err := NewOrder(Filter(m, "", even)); return err },
		"sparse batch":    func() error { _, err := Batch(Shuffle(Filter(m, "", even), 1), 2, true); return err },
		"sparse elastic":  func() error { _, err := Elastic(Filter(m, "", even), 12, Shard{Count: 4}, 0); return err },
		"sparse mix":      func() error { _, err := MixIterators([]Map[int64]{m, Filter(m, "", even)}, nil); return err },
		"sparse zip":      func() error { _, err := Zip([]Map[int64]{Filter(m, "", even)}); return err },
		"empty zip":       func() error { _, err := Zip[int64](nil); return err },
		"uneven zip":      func() error { _, err := Zip([]Map[int64]{m, Range(0, 6, 1)}); return err },
		"window":          func() error { _, err := ShuffleWindows(m, 0, 1); return err },
		"limit":           func() error { _, err := LimitIter(Iterate(m), 0); return err },
		"repeat iterator": func() error { _, err := RepeatIter(Iterate(m), -1); return err },
		"iterator window": func() error { _, err := ShuffleWindowsIter(Iterate(m), 0, 1); return err },
		"cycle":           func() error { _, err := Interleave([]Iter[int64]{Iterate(m)}, 0); return err },
		"endless concatenation": func() error {
			endless, err := Repeat(m, 0)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Concatenate([]Map[int64]{m, endless})
			return err
		},
		"iterator batch":   func() error { _, err := BatchIter(Iterate(m), 0, false); return err },
		"iterator weights": func() error { _, err := MixIter([]Iter[int64]{Iterate(m)}, []float64{-1}); return err },
		"batch":            func() error { _, err := Batch(m, 0, false); return err },
		"weights":          func() error { _, err := Mix([]Map[int64]{m}, []float64{0}); return err },
		"fewer weights":    func() error { _, err := Mix([]Map[int64]{m, m}, []float64{1}); return err },
		"extreme weights":  func() error { _, err := Mix([]Map[int64]{m, m}, []float64{1e-9, 1e9}); return err },
		"nothing to mix":   func() error { _, err := Mix[int64](nil, nil); return err },
		"empty to mix":     func() error { _, err := MixIterators([]Map[int64]{m, Range(0, 0, 1)}, nil); return err },
		"elastic batch":    func() error { _, err := Elastic(m, 12, Shard{Count: 5}, 0); return err },
		"elastic index":    func() error { _, err := Elastic(m, 12, Shard{Count: 4}, -1); return err },
	} {
		if err := call(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoaderStateRefusals(t *testing.T) {
	seed := uint32(3)
	s, err := NewSampler(SamplerOptions{Records: 13, Shard: Shard{Index: 2, Count: 3, Drop: true}, Epochs: 2, Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	good := s.State(4, "source")
	if pos, err := good.Position(s); err != nil || pos != 4 {
		t.Fatal(pos, err)
	}
	for kind, change := range map[errs.Kind]func(*LoaderState){
		errs.Mismatch:    func(l *LoaderState) { l.Sampler = "SequentialSampler()" },
		errs.Unsupported: func(l *LoaderState) { l.WorkerCount = 2 },
		errs.Corrupt:     func(l *LoaderState) { l.LastSeenIndices = map[string]int64{"0": 12} },
	} {
		l := good
		change(&l)
		if _, err := l.Position(s); !errors.Is(err, kind) {
			t.Errorf("%v: %v", kind, err)
		}
	}
}

// What reads is written as what reads as the same.
func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"global_next_index": 36}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, name := range []string{"next_index", "global_next_index"} {
			if n, err := ParseNextIndex(text, name); err == nil && n < 0 || err != nil && !errors.Is(err, errs.Corrupt) {
				t.Fatal(n, err)
			}
		}
		s, err := ParseLoaderState(text)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := ParseLoaderState([]byte(s.String()))
		if d := cmp.Diff(s, again); err != nil || d != "" {
			t.Fatal(d, err)
		}
	})
}

func even(x int64) bool { return x%2 == 0 }

// An index of a map behind an endless repeat is a larger one of what it repeats, beyond 2^63 too:
// Grain's integers have no end. The elements come from Grain.
func TestIndicesBeyond63Bits(t *testing.T) {
	batches, err := Batch(Range(0, 13, 1), 4, false)
	compareFirst(t, repeated(t, batches, err), [][]int64{{12}, {8, 9, 10, 11}, {4, 5, 6, 7}, {0, 1, 2, 3}, {12}, {8, 9, 10, 11}, {4, 5, 6, 7}, {0, 1, 2, 3}})

	evens, err := Repeat(Filter(Range(0, 13, 1), "even", even), 0)
	if err != nil {
		t.Fatal(err)
	}
	third, err := Slice(evens, 0, Endless, 3)
	compareFirst(t, repeated(t, third, err), []int64{0, 12, 8, 12, -1, 10, -1, 4, -1, 6, 8, -1})

	endless, err := Repeat(Range(0, 25, 1), 0)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Slice(endless, 1, -Endless, -1)
	if err != nil {
		t.Fatal(err)
	}
	compareFirst(t, back, []int64{1, 0, 8, 7, 15, 14}) // an epoch of 2^63-1 elements is 7 of 25 further

	a, errA := Repeat(Range(0, 13, 1), 0)
	b, errB := Repeat(Range(100, 107, 1), 0)
	mixed, errC := Mix([]Map[int64]{a, b}, []float64{2, 1})
	if err := errors.Join(errA, errB, errC); err != nil {
		t.Fatal(err)
	}
	batches, err = Batch(mixed, 2, false)
	compareFirst(t, repeated(t, batches, err), [][]int64{{0, 1}, {105, 6}, {104, 10}, {103, 6}, {4, 105}, {104, 8}, {0, 106}, {105, 1}})

	// A function of the index is given none beyond 2^63: what would need one has no elements.
	counted := ApplyIndexed(Range(0, 13, 1), "index", func(i, _ int64) int64 { return i })
	batches, err = Batch(counted, 4, false)
	if m := repeated(t, batches, err); m.Len() != 0 {
		t.Errorf("%s has %d elements", m, m.Len())
	}
	if m, err := Repeat(batches, 0); err != nil || m.Len() != Endless {
		t.Errorf("%v, %v", m, err)
	} else if err := Iterate(m).SetState([]byte(`{"next_index": 9223372036854775806}`)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("an index that needs one of a function beyond 2^63: %v", err)
	}
}

// repeated is a map, shuffled behind an endless repeat.
func repeated[T any](t *testing.T, m Map[T], err error) Map[T] {
	t.Helper()
	if err == nil {
		m, err = Repeat(m, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return Shuffle(m, 7)
}

// compareFirst compares the first elements of a map; -1 is one that is left out.
func compareFirst[T any](t *testing.T, m Map[T], want []T) {
	t.Helper()
	for i, want := range want {
		got, ok := m.At(int64(i))
		if left := fmt.Sprint(want) == "-1"; ok == left || ok && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: element %d is %v (%t), Grain gives %v", m, i, got, ok, want)
		}
	}
}

// The last window of an epoch that windows do not divide reaches into the next one, as Grain's
// does.
func TestWindowsBeyondTheEpoch(t *testing.T) {
	m, err := ShuffleWindows(Range(0, 13, 1), 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	compareFirst(t, m, []int64{4, 3, 0, 1, 2, 6, 5, 9, 8, 7, 1, 10, 12, 0, 11, 4, 6, 2, 5, 3, 11, 7, 10, 8, 9, 0})
}

// Grain says in the second epoch of iterators in use that they have ended, and goes on without
// the rest of them. Such a state, as Grain wrote it, is refused, or mended.
func TestInterleaveInASecondEpoch(t *testing.T) {
	const state = `{"parent": {"next_index_in_cycle": 0, "next_index_in_datasets": 2, "iterators_in_use_indices": [0, 1],
		"iterators_in_use_states": [{"next_index": 1}, {"next_index": 1}], "exhausted": [1, 1], "future_states": {}}, "epoch": 1}`
	iterator := func(of func([]Iter[int64], int64) (Iter[int64], error)) Iter[int64] {
		var its []Iter[int64]
		for i := range int64(3) {
			its = append(its, Iterate(Range(10*i, 11*i+2, 1)))
		}
		it, err := of(its, 2)
		if err == nil {
			it, err = RepeatIter(it, 2)
		}
		if err != nil {
			t.Fatal(err)
		}
		return it
	}
	var e *errs.Error
	if err := iterator(Interleave[int64]).SetState([]byte(state)); !errors.As(err, &e) || e.Kind != errs.Corrupt || !strings.Contains(e.Remedy, "InterleaveMended") {
		t.Errorf("%v", err)
	}
	it := iterator(InterleaveMended[int64])
	if err := it.SetState([]byte(state)); err != nil {
		t.Fatal(err)
	}
	var rest []int64
	for x, ok := it.Next(); ok; x, ok = it.Next() {
		rest = append(rest, x)
	}
	if d := cmp.Diff([]int64{1, 11, 12, 20, 21, 22, 23}, rest); d != "" {
		t.Errorf("(-Grain without a stop +got):\n%s", d)
	}
}

// The state of a source that has ended is that behind its last element, not that at its end:
// what Grain's filter left out behind it does not count. As Grain wrote it, at each step.
func TestInterleaveRemembersTheLastElement(t *testing.T) {
	for name, c := range map[string]struct {
		below  []int64 // of the sources, which have 6 and 8 elements
		states []string
	}{
		"the last elements are left out": {[]int64{2, 3}, []string{
			`[{"next_index": 0}, {"next_index": 0}] [0,0]`, `[{"next_index": 1}, {"next_index": 0}] [0,0]`, `[{"next_index": 1}, {"next_index": 1}] [0,0]`,
			`[{"next_index": 2}, {"next_index": 1}] [0,0]`, `[{"next_index": 2}, {"next_index": 2}] [0,0]`, `[{"next_index": 2}, {"next_index": 3}] [1,0]`,
			`[{"next_index": 2}, {"next_index": 3}] [1,1]`}},
		"one has none": {[]int64{0, 3}, []string{
			`[{"next_index": 0}, {"next_index": 0}] [0,0]`, `[{"next_index": 0}, {"next_index": 1}] [1,0]`, `[{"next_index": 0}, {"next_index": 2}] [1,0]`,
			`[{"next_index": 0}, {"next_index": 3}] [1,0]`, `[{"next_index": 0}, {"next_index": 3}] [1,1]`}},
	} {
		t.Run(name, func(t *testing.T) {
			iterator := func() Iter[int64] {
				var its []Iter[int64]
				for i, n := range []int64{6, 8} {
					its = append(its, Iterate(Filter(Range(0, n, 1), "below", func(x int64) bool { return x < c.below[i] })))
				}
				it, err := Interleave(its, 2)
				if err != nil {
					t.Fatal(err)
				}
				return it
			}
			short := func(state json.RawMessage) string {
				var s interleaveState
				if err := json.Unmarshal(state, &s); err != nil {
					t.Fatal(err)
				}
				states := make([]string, len(s.States))
				for i, one := range s.States {
					states[i] = string(one)
				}
				return fmt.Sprintf("[%s] [%d,%d]", strings.ReplaceAll(strings.Join(states, ", "), `":`, `": `), s.Ended[0], s.Ended[1])
			}
			whole := iterator()
			got := []string{short(whole.State())}
			var elements []int64
			for step := 0; ; step++ {
				again := iterator()
				if err := again.SetState(whole.State()); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				x, ok := whole.Next()
				if y, more := again.Next(); y != x || more != ok {
					t.Fatalf("step %d, resumed: got %d, %t, want %d, %t", step, y, more, x, ok)
				}
				got = append(got, short(whole.State()))
				if resumed := short(again.State()); resumed != got[len(got)-1] {
					t.Errorf("step %d, resumed: got %s, want %s", step, resumed, got[len(got)-1])
				}
				if !ok {
					break
				}
				elements = append(elements, x)
			}
			if d := cmp.Diff(c.states, got); d != "" {
				t.Errorf("after %v (-Grain +got):\n%s", elements, d)
			}
		})
	}
}
