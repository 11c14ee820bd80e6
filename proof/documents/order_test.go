package documents_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/order"
)

// orders are one of each kind, and some that combine. Those that go with a loader
// have epochs of at most 1,000 ids.
func orders() []named {
	shuffled := order.NewShuffled(1000, 7, "web")
	few := order.NewShuffled(100, 7, "code")
	long := make([]int32, 1000)
	for i := range long {
		long[i] = int32(1 + i*i%97)
	}
	lengths := must(order.NewLengths(long))
	third := order.NewSelection(1000, func(id int64) bool { return id%3 == 1 })
	sizes := []int64{100, 250, 50, 300, 200, 100}
	sources := func(weights ...float64) []order.Source {
		return []order.Source{{Order: order.NewShuffled(500, 7, "a"), Weight: weights[0]},
			{Order: order.NewPermutation(300, 9), Weight: weights[1]}, {Order: order.NewCycle(200), Weight: weights[2]}}
	}
	mix := func(e order.Exhaustion, weights []float64, phases ...order.Phase) order.Order {
		return must(order.NewMixture(sources(weights...), e, phases...))
	}
	windows := must(order.NewWindows(sizes, 2, 7, "code"))
	// Source 0 grows in pass 1, and again with source 2 behind it; a source is added between.
	grown := must(order.NewMixture(sources(7, 2, 1), order.CycleOn))
	grown = must(grown.Extend(900, order.Extension{Grown: []order.Growth{{Source: 0,
		Order: order.NewShuffled(600, 7, "a")}}}))
	grown = must(grown.Extend(1000, order.Extension{Sources: []order.Source{{Order: order.NewShuffled(50, 7, "d"),
		Weight: 1}}}))
	grown = must(grown.Extend(2000, order.Extension{Grown: []order.Growth{{Source: 2, Order: order.NewCycle(250)},
		{Source: 0, Order: order.NewShuffled(700, 7, "a")}}}))
	batches := must(order.NewBatches(shuffled, 24, order.Pad))
	return []named{
		{"sequential", order.Sequential(1000)},
		{"cycle", order.NewCycle(1000)},
		{"permutation", order.NewPermutation(1000, order.Key(7, 3, "web"))},
		{"shuffled", shuffled},
		{"shuffled-few", order.NewShuffled(5, 7, "web")},
		{"shuffled-many", order.NewShuffled(1<<40+1, 7, "web")},
		{"windows", windows},
		{"windows-alike", must(order.NewWindows([]int64{100, 100, 100, 100}, 3, 7, ""))},
		{"mixture", mix(order.StopFirst, []float64{7, 2, 1})},
		{"mixture-decimal", mix(order.CycleOn, []float64{.62, .3, .08})},
		{"mixture-uneven", mix(order.CycleAll, []float64{0.1, 1.0 / 3, 3.14159})},
		{"mixture-phases", mix(order.CycleOn, []float64{7, 2, 1}, order.Phase{From: 100, Weights: []float64{1, 1, 1}}, order.Phase{From: 1300, Weights: []float64{0, .25, .75}})},
		{"mixture-dropping", mix(order.DropEnded, []float64{7, 2, 1}, order.Phase{From: 700, Weights: []float64{1, 1, 2}})},
		{"mixture-grown", grown},
		{"packs", must(order.NewPacks(shuffled, lengths, order.PackOptions{Capacity: 128, Block: 200}))},
		{"packs-padded", must(order.NewPacks(shuffled, lengths, order.PackOptions{Capacity: 256, Most: 6, Padded: true}))},
		{"buckets", must(order.NewBuckets(shuffled, lengths, []int64{16, 32, 64}, 8, 0))},
		{"selected", order.NewSelected(order.NewShuffled(third.Count(), 7, "third"), third)},
		{"filtered", must(order.NewFiltered(shuffled, third))},
		{"segments", must(order.NewSegments(order.Segment{Order: few, Len: 150}, order.Segment{Order: shuffled, First: 40}))},
		{"repeated", must(order.Repeat(order.NewPermutation(300, 5), 0))},
		{"shard", must(order.NewShard(shuffled, 10, 1, 3))},
		{"rank", must(order.NewRank(batches, 2, 5))},
		{"packs-of-a-mixture-of-windows", must(order.NewPacks(must(order.NewMixture([]order.Source{{Order: windows, Weight: 3}, {Order: few, Weight: 1, Samples: 100}}, order.StopFirst)),
			lengths, order.PackOptions{Capacity: 200, Block: 64}))},
	}
}

// orderSpecimens are descriptions of orders, as they stand in states.
func orderSpecimens() []specimen {
	var all []specimen
	for _, o := range orders() {
		all = append(all, specimen{
			name:  "order/" + o.name + ".txt",
			write: func(t *testing.T, path string) { check(t, os.WriteFile(path, []byte(o.order.String()), 0o666)) },
			read: func(t *testing.T, path string) string {
				want := string(readFile(t, path))
				for _, version := range []int{order.Version, 1} {
					if as := order.At(o.order, version); as.String() == want {
						return idsOf(as)
					}
				}
				return fmt.Sprintf("described as\n%s\nbut is\n%s\n", want, o.order)
			},
		})
	}
	return all
}

// idsOf returns ids of an order at its beginning and further on.
func idsOf(o order.Order) string {
	var b strings.Builder
	for _, pos := range []int64{0, 90, 995, 2500, 1_000_003} {
		ids := make([]int64, 20)
		ids = slices.Clip(ids[:o.Fill(pos, ids)])
		fmt.Fprintln(&b, pos, ids)
	}
	return b.String()
}
