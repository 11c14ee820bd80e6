package order_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/order"
)

// drawMixture draws a mixture of named sources, with phases.
func drawMixture(t *rapid.T) *order.Mixture {
	weight := rapid.SampledFrom([]float64{0, 1, 2, 5, .5, .3, 1.0 / 3})
	k := rapid.IntRange(1, 4).Draw(t, "sources")
	weights := func(name string, k int) []float64 {
		w := rapid.SliceOfN(weight, k, k).Draw(t, name)
		w[rapid.IntRange(0, k-1).Draw(t, name+" above 0")] = 3
		return w
	}
	var list []order.Source
	for i, w := range weights("weights", k) {
		o := order.Order(order.NewShuffled(int64(20+i), 7, "s"))
		if rapid.Bool().Draw(t, fmt.Sprint("source ends ", i)) {
			o = order.NewPermutation(int64(40+i), 5)
		}
		list = append(list, order.Source{Order: o, Weight: w, Name: fmt.Sprint("source ", i)})
	}
	var phases []order.Phase
	for i, from := 0, int64(0); i < rapid.IntRange(0, 3).Draw(t, "phases"); i++ {
		from += rapid.Int64Range(1, 60).Draw(t, fmt.Sprint("from ", i))
		phases = append(phases, order.Phase{From: from, Weights: weights(fmt.Sprint("phase ", i), k)})
	}
	m, err := order.NewMixture(list, order.Exhaustion(rapid.IntRange(0, 3).Draw(t, "exhaustion")), phases...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// idsUpTo returns the ids of the first n positions, or fewer where the order ends.
func idsUpTo(o order.Order, n int64) []int64 {
	ids := make([]int64, n)
	return ids[:o.Fill(0, ids)]
}

// An extended mixture is unchanged up to the position of the extension. From there on it has the
// weights of the extension, and each source continues where it was. It names the mixture that it
// extends, and the position up to which the two are equal.
func TestExtendKeepsWhatLiesBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMixture(t)
		most := int64(200)
		if n, ends := m.Len(); ends {
			most = min(most, n)
		}
		was := idsUpTo(m, 300)
		if most < 1 {
			return
		}
		from := rapid.Int64Range(1, most).Draw(t, "from")
		e := order.Extension{Sources: []order.Source{{Order: order.NewShuffled(30, 9, "new"), Weight: 2}}}
		if rapid.Bool().Draw(t, "later") {
			w := make([]float64, 0, 8)
			for i := range sourcesIn(m) {
				w = append(w, float64(1+i))
			}
			e.Phases = []order.Phase{{From: from + rapid.Int64Range(0, 30).Draw(t, "later by"), Weights: append(w, 1)}}
		}
		next, err := m.Extend(from, e)
		if err != nil {
			t.Fatalf("%v\n%s", err, m)
		}
		if diff := cmp.Diff(was[:from], idsUpTo(next, from)); diff != "" {
			t.Fatalf("before %d: %s\n%s\n%s", from, diff, m, next)
		}
		drawn := map[int]int64{} // of each source, the next index
		for pos := int64(0); pos < 300; pos++ {
			source, index, ok := next.At(pos)
			if !ok {
				break
			}
			if index != drawn[source] && index != 0 {
				t.Fatalf("position %d draws index %d of source %d, want %d", pos, index, source, drawn[source])
			}
			drawn[source] = index + 1
		}
		found := false
		for _, o := range order.Origins(next) {
			if o.Description == m.String() {
				found = found || o.Until >= from
			}
			if same := agree(t, m, o, next); same != "" {
				t.Fatal(same)
			}
		}
		if !found {
			t.Fatalf("%s\ndoes not name\n%s", next, m)
		}
		if _, err := m.Extend(from, order.Extension{Phases: []order.Phase{{From: from - 1, Weights: []float64{1}}}}); !errors.Is(err, errs.Invalid) {
			t.Fatalf("a phase before the position: %v", err)
		}
	})
}

// sourcesIn counts the sources of a mixture.
func sourcesIn(m *order.Mixture) int {
	n := 0
	for id := int64(0); ; id++ {
		source, _, err := m.Split(id)
		if err != nil {
			return n
		}
		n = source + 1
	}
}

// agree says how an order that names m as its origin differs from it before Until.
func agree(t *rapid.T, m *order.Mixture, o order.Origin, next order.Order) string {
	if o.Description != m.String() {
		return ""
	}
	a, b := idsUpTo(m, min(o.Until, 300)), idsUpTo(next, min(o.Until, 300))
	if n := min(len(a), len(b)); o.Until < math.MaxInt64 {
		return cmp.Diff(a[:n], b[:n])
	}
	return ""
}

// Packs and buckets of an extended mixture are the same up to the block that has changed.
func TestExtendBelowPacks(t *testing.T) {
	sources := []order.Source{{Order: order.NewShuffled(50, 7, "a"), Weight: 2}, {Order: order.NewShuffled(50, 7, "b"), Weight: 1}}
	long := make([]int32, 100)
	for i := range long {
		long[i] = int32(1 + i%9)
	}
	lengths, err := order.NewLengths(long)
	if err != nil {
		t.Fatal(err)
	}
	build := func(phases ...order.Phase) []order.Order {
		m, err := order.NewMixture(sources, order.CycleOn, phases...)
		if err != nil {
			t.Fatal(err)
		}
		p, err := order.NewPacks(m, lengths, order.PackOptions{Capacity: 20, Block: 16})
		if err != nil {
			t.Fatal(err)
		}
		b, err := order.NewBuckets(m, lengths, []int64{3, 6}, 4, 16)
		if err != nil {
			t.Fatal(err)
		}
		return []order.Order{p, b}
	}
	was, is := build(), build(order.Phase{From: 70, Weights: []float64{1, 9}})
	for i := range was {
		origins := order.Origins(is[i])
		if len(origins) != 1 || origins[0].Description != was[i].String() || origins[0].Until != 64 {
			t.Fatalf("%+v", origins)
		}
		if diff := cmp.Diff(idsUpTo(was[i], 64), idsUpTo(is[i], 64)); diff != "" {
			t.Error(diff)
		}
	}
}
