package order

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func drawWeights(t *rapid.T, n int) []float64 {
	var w []float64
	if rapid.Bool().Draw(t, "whole") {
		for _, x := range rapid.SliceOfN(rapid.IntRange(0, 9), n, n).Draw(t, "weights") {
			w = append(w, float64(x))
		}
	} else {
		w = rapid.SliceOfN(rapid.Float64Range(0, 3), n, n).Draw(t, "weights")
	}
	w[rapid.IntRange(0, n-1).Draw(t, "at least")] += 1
	return w
}

func drawMixture(t *rapid.T, exhaustion Exhaustion) *Mixture {
	k := rapid.IntRange(1, 6).Draw(t, "sources")
	weights := drawWeights(t, k)
	var sources []Source
	for i := range k {
		n := rapid.Int64Range(1, 40).Draw(t, "n")
		var o Order = NewPermutation(n, uint64(i))
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			o = NewShuffled(n, uint64(i), "d")
		case 1:
			o = Sequential(n)
		}
		sources = append(sources, Source{Order: o, Weight: weights[i]})
	}
	var phases []Phase
	for from := int64(0); rapid.IntRange(0, 2).Draw(t, "another phase") == 0 && len(phases) < 3; {
		from += rapid.Int64Range(1, 60).Draw(t, "from")
		phases = append(phases, Phase{from, drawWeights(t, k)})
	}
	m, err := NewMixture(sources, exhaustion, phases...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// In a mixture each source comes in its order, without a gap. Its share of any prefix is exact to
// less than one sample. The policy decides where the mixture ends.
func TestMixtureLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		exhaustion := Exhaustion(rapid.IntRange(0, 3).Draw(t, "exhaustion"))
		m := drawMixture(t, exhaustion)
		const most = 700
		all := scan(m, most)
		drawn := make([]int64, len(m.sources))
		since, start, phase := make([]int64, len(m.sources)), int64(0), -1
		for i, id := range all {
			pos := int64(i)
			if k := m.segmentOf(pos); k != phase {
				phase, start = k, pos
				clear(since)
			}
			source, own, err := m.Split(id)
			at, index, ok := m.At(pos)
			if err != nil || !ok || at != source || index != m.wrap(source, drawn[source]) {
				t.Fatalf("%s at %d: id %d of source %d, told %d of %d, %t", m, pos, id, source, index, at, ok)
			}
			var want [1]int64
			m.sources[source].Order.Fill(index, want[:])
			if back, ok := m.Locate(source, drawn[source]); own != want[0] || back != pos || !ok {
				t.Fatalf("%s at %d: id %d, want %d of source %d; back at %d", m, pos, own, want[0], source, back)
			}
			drawn[source]++
			since[source]++
			checkShares(t, m, &m.segments[phase], since, pos+1-start)
		}
		checkEnd(t, m, drawn, len(all) < most)
		checkSeek(t, m, most)
	})
}

// checkShares compares the draws of n positions with the weights of a segment.
func checkShares(t *rapid.T, m *Mixture, s *mixSegment, since []int64, n int64) {
	t.Helper()
	for i, c := range since {
		if share := float64(n) * float64(len(s.places[i])) / float64(len(s.pick)); math.Abs(float64(c)-share) >= 1 {
			t.Fatalf("%s: %d of %d positions are of source %d, want %.2f", m, c, n, i, share)
		}
	}
}

// checkEnd checks the end of a mixture against the draws up to there.
func checkEnd(t *rapid.T, m *Mixture, drawn []int64, ended bool) {
	t.Helper()
	over, all := false, true
	for i, end := range m.ends {
		over = over || drawn[i] == end
		all = all && drawn[i] >= end
	}
	switch {
	case m.exhaustion == CycleOn && ended,
		m.exhaustion == CycleAll && ended != all && ended,
		m.exhaustion == DropEnded && ended && !slices.ContainsFunc(m.ends, func(n int64) bool { return n == math.MaxInt64 }) && !all && allWeighted(m),
		m.exhaustion == StopFirst && ended && !over:
		t.Fatalf("%s: drew %v of %v, ended %t", m, drawn, m.ends, ended)
	}
	if m.exhaustion == StopFirst && slices.ContainsFunc(m.ends, func(n int64) bool { return slices.Contains(drawn, n+1) && len(m.ends) == 1 }) {
		t.Fatalf("%s: drew %v of %v", m, drawn, m.ends)
	}
}

func allWeighted(m *Mixture) bool {
	for _, p := range m.phases {
		if slices.Contains(p.Weights, 0) {
			return false
		}
	}
	return true
}

// The policies, shown on sources of a few samples.
func TestExhaustion(t *testing.T) {
	sources := []Source{{Order: Sequential(2), Weight: 1}, {Order: Sequential(5), Weight: 1}}
	for policy, want := range map[Exhaustion]string{
		StopFirst: "[0 2 1 3]",
		DropEnded: "[0 2 1 3 4 5 6]",
		CycleAll:  "[0 2 1 3 0 4 1 5 0 6]",
		CycleOn:   "[0 2 1 3 0 4 1 5 0 6 1 2 0 3 1 4 0 5 1 6]",
	} {
		m, err := NewMixture(sources, policy)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(scan(m, 20)); got != want {
			t.Errorf("policy %d: %s, want %s", policy, got, want)
		}
	}
}

// Weights that change take effect at their position.
func TestPhases(t *testing.T) {
	sources := []Source{{Order: NewCycle(1), Weight: 1}, {Order: NewCycle(1), Weight: 0}}
	m, err := NewMixture(sources, StopFirst, Phase{4, []float64{1, 1}}, Phase{10, []float64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(scan(m, 14)), "[0 0 0 0 0 1 0 1 0 1 1 1 1 1]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Whole weights are exact, other weights have the right sum, and no weight above 0 becomes 0.
func TestWholeParts(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		want    []int64
	}{{[]float64{6, 3, 0}, []int64{2, 1, 0}}, {[]float64{70, 30}, []int64{7, 3}}, {[]float64{1 << 40, 1 << 40}, []int64{1, 1}}} {
		if got := wholeParts(c.weights); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.weights, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		weights := drawWeights(t, rapid.IntRange(1, 9).Draw(t, "n"))
		weights[0] *= 1e-9
		sum, total := 0.0, int64(0)
		for _, w := range weights {
			sum += w
		}
		if sum == 0 {
			return
		}
		parts := wholeParts(weights)
		for i, p := range parts {
			total += p
			if (p == 0) != (weights[i] == 0) {
				t.Fatalf("%v: %v", weights, parts)
			}
		}
		for i, p := range parts {
			if got := float64(p) / float64(total); math.Abs(got-weights[i]/sum) > 9.0/MixtureParts {
				t.Fatalf("%v: %v, share %d is %f", weights, parts, i, got)
			}
		}
		if total > MixtureParts {
			t.Fatalf("%v: %v, together %d", weights, parts, total)
		}
	})
}

func TestMixtureRefusals(t *testing.T) {
	ok := Source{Order: NewCycle(3), Weight: 1}
	for name, call := range map[string]func() (*Mixture, error){
		"none":     func() (*Mixture, error) { return NewMixture(nil, StopFirst) },
		"policy":   func() (*Mixture, error) { return NewMixture([]Source{ok}, CycleOn+1) },
		"negative": func() (*Mixture, error) { return NewMixture([]Source{{Order: NewCycle(3), Weight: -1}}, StopFirst) },
		"not a number": func() (*Mixture, error) {
			return NewMixture([]Source{{Order: NewCycle(3), Weight: math.NaN()}}, StopFirst)
		},
		"all 0": func() (*Mixture, error) { return NewMixture([]Source{{Order: NewCycle(3)}}, StopFirst) },
		"empty": func() (*Mixture, error) { return NewMixture([]Source{{Order: Sequential(0), Weight: 1}}, StopFirst) },
		"too big": func() (*Mixture, error) {
			return NewMixture([]Source{ok, {Order: NewCycle(3), Weight: 1, Samples: math.MaxInt64}}, StopFirst)
		},
		"phase at 0": func() (*Mixture, error) {
			return NewMixture([]Source{ok}, StopFirst, Phase{0, []float64{1}})
		},
		"phase without weights": func() (*Mixture, error) { return NewMixture([]Source{ok}, StopFirst, Phase{5, nil}) },
		"phase of 0":            func() (*Mixture, error) { return NewMixture([]Source{ok}, StopFirst, Phase{5, []float64{0}}) },
	} {
		if _, err := call(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	m, err := NewMixture([]Source{ok, ok}, StopFirst)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int64{-1, 6} {
		if _, _, err := m.Split(id); !errors.Is(err, errs.Invalid) {
			t.Errorf("id %d: %v", id, err)
		}
	}
}

// From 10^3 to 10^9 samples a mixture costs the same.
func BenchmarkMixture(b *testing.B) {
	for _, n := range []int64{1e3, 1e6, 1e9} {
		b.Run(size(n), func(b *testing.B) {
			b.ReportAllocs()
			m, err := NewMixture([]Source{
				{Order: NewShuffled(n, 1, "a"), Weight: 0.5}, {Order: NewShuffled(n, 2, "b"), Weight: 0.3}, {Order: NewShuffled(n, 3, "c"), Weight: 0.2}}, StopFirst)
			if err != nil {
				b.Fatal(err)
			}
			dst := make([]int64, 1000)
			var pos int64
			for b.Loop() {
				m.Fill(pos, dst)
				pos += n + 1000
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(dst)), "ns/index")
		})
	}
}

// Decimal weights and fractions count as the exact numbers that they stand for: after any number of
// samples no source is off by one.
func TestDecimalWeightsAreExact(t *testing.T) {
	for _, c := range []struct {
		weights []float64
		parts   []int64
	}{
		{[]float64{.62, .3, .08}, []int64{31, 15, 4}},
		{[]float64{.1, .2, .7}, []int64{1, 2, 7}},
		{[]float64{1. / 3, 1. / 3, 1. / 3}, []int64{1, 1, 1}},
		{[]float64{1. / 3, 2. / 7, 8. / 21}, []int64{7, 6, 8}},
		{[]float64{0, .25, .75}, []int64{0, 1, 3}},
		{[]float64{1e-3, .999}, []int64{1, 999}},
		{[]float64{.0001, .9999}, []int64{1, 9999}},
	} {
		if got, ok := decimalParts(c.weights); !ok || !slices.Equal(got, c.parts) {
			t.Errorf("%v: %v, want %v", c.weights, got, c.parts)
		}
	}
	for _, none := range [][]float64{{0.1, 1. / 3, 3.14159}, {1e-9, 1}, {math.Pi, math.E}, {1, 1e300}, {1e-300, 1}} {
		if got, ok := decimalParts(none); ok {
			t.Errorf("%v: %v", none, got)
		}
	}
	m, err := NewMixture([]Source{{Order: NewCycle(1 << 40), Weight: .62}, {Order: NewCycle(1 << 40), Weight: .3}, {Order: NewCycle(1 << 40), Weight: .08}}, CycleOn)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{1, Version} {
		counts, as := make([]int64, 3), At(m, version).(*Mixture)
		for pos := range int64(300_000) {
			source, _, _ := as.At(pos)
			counts[source]++
		}
		if exact := slices.Equal(counts, []int64{186_000, 90_000, 24_000}); exact != (version == Version) {
			t.Errorf("version %d: %v", version, counts)
		}
	}
}

// Sources of equal length under one seed and domain have different orders if they have names.
func TestNamesTellSourcesApart(t *testing.T) {
	lockstep := func(a, b string) bool {
		m, err := NewMixture([]Source{{Order: NewShuffled(1000, 7, "d"), Weight: 1, Name: a}, {Order: NewSelected(NewShuffled(1000, 7, "d"), NewSelection(1000, func(int64) bool { return true })), Weight: 1, Name: b}}, CycleOn)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int64, 200)
		m.Fill(0, ids)
		equal := 0
		for i := 0; i < len(ids); i += 2 {
			if ids[i]%1000 == ids[i+1]%1000 {
				equal++
			}
		}
		return equal == 100
	}
	if !lockstep("", "") || lockstep("anchors", "negatives") || lockstep("", "negatives") {
		t.Error("names do not tell sources apart")
	}
}
