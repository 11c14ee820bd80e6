package nodes_test

import (
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
)

// asked counts how often the states of sources are taken.
type asked struct {
	nodes.Node[int]
	states *int
}

func (n asked) AppendState(dst []byte) ([]byte, error) {
	*n.states++
	return n.Node.AppendState(dst)
}

// many is a weighted node over n sources, or one that reads them in turn.
func many(n int, states *int, inTurn bool) nodes.Node[int] {
	all := make([]nodes.Source[int], n)
	for i := range all {
		all[i] = nodes.Source[int]{Name: fmt.Sprint("source ", i), Node: asked{numbers(50), states}, Weight: float64(1 + i%3)}
	}
	if inTurn {
		return must(nodes.RoundRobin(all, nodes.CycleUntilAll))
	}
	return must(nodes.Weighted(all, nodes.WeightedOptions{Stop: nodes.Forever}))
}

// A node that runs ahead of a weighted one, or makes batches of it, takes its state behind
// every value: that asks the sources that gave a value for theirs, and not all of them.
func TestSnapshotsCostWhatChanged(t *testing.T) {
	for name, build := range map[string]func(n nodes.Node[int]) nodes.Node[string]{
		"prefetch": func(n nodes.Node[int]) nodes.Node[string] { return text(must(nodes.Prefetch(n, 2, 1))) },
		"prefetch batches": func(n nodes.Node[int]) nodes.Node[string] {
			return text(must(nodes.Prefetch(must(nodes.Batch(n, 4, order.Short)), 2, 1)))
		},
		"batches": func(n nodes.Node[int]) nodes.Node[string] { return text(must(nodes.Batch(n, 4, order.Short))) },
		"unbatched": func(n nodes.Node[int]) nodes.Node[string] {
			return text(must(nodes.Prefetch(nodes.Unbatch(must(nodes.Batch(nodes.Filter(n, even), 4, order.Short))), 2, 1)))
		},
		"twice": func(n nodes.Node[int]) nodes.Node[string] {
			return text(must(nodes.Prefetch(must(nodes.ParallelMap(n, double, nodes.ParallelOptions{Workers: 2})), 2, 1)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				sources int
				inTurn  bool
			}{{200, false}, {1600, false}, {1600, true}} {
				states := 0
				l := nodes.NewLoader(build(many(c.sources, &states, c.inTurn)), nodes.LoaderOptions{})
				if _, err := l.Next(t.Context()); err != nil { // which begins, and asks all
					t.Fatal(err)
				}
				for range 100 {
					if _, err := l.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if calls := states - c.sources; calls > 3000 {
					t.Errorf("100 values took %d states of %d sources (in turn %t)", calls, c.sources, c.inTurn)
				}
			}
		})
	}
}

// A node that runs ahead of a weighted one has at any place the same state as a node that takes
// snapshots seldom, with fewer or more sources than a level of the tree holds.
func TestSketchesAreTheStates(t *testing.T) {
	for k, n := range []int{1, 31, 32, 33, 1025, 1, 33} {
		inTurn := k > 4
		often := nodes.NewLoader(text(must(nodes.Prefetch(
			must(nodes.Batch(many(n, new(int), inTurn), 3, order.Short)), 2, 1))),
			nodes.LoaderOptions{})
		plain := nodes.NewLoader(text(must(nodes.Batch(many(n, new(int), inTurn), 3, order.Short))), nodes.LoaderOptions{})
		defer often.Close()
		defer plain.Close()
		for i := range 15 {
			a, err := often.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if b, err := plain.Next(t.Context()); err != nil || a != b {
				t.Fatal(a, b, err)
			}
			if i%4 > 0 {
				continue
			}
			saved, err := often.AppendState(nil)
			if err != nil {
				t.Fatal(err)
			}
			rest := nodes.NewLoader(text(must(nodes.Prefetch(
				must(nodes.Batch(many(n, new(int), inTurn), 3, order.Short)), 2, 1))),
				nodes.LoaderOptions{})
			if err := rest.SetState(saved); err != nil {
				t.Fatal(err)
			}
			if err := rest.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again, err := rest.AppendState(nil); err != nil || string(again) != string(saved) {
				t.Fatalf("%v\n%s\n%s", err, again, saved)
			}
			if err := rest.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
