package documents_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
)

// upTo is a source of 0 to n-1.
func upTo(n int) nodes.Node[int] {
	values := make([]int, n)
	for i := range values {
		values[i] = i
	}
	return nodes.FromSlice(values)
}

func twice(_ context.Context, v int) (int, error)   { return 2 * v, nil }
func isEven(_ context.Context, v int) (bool, error) { return v%2 == 0, nil }

func asText[T any](n nodes.Node[T]) nodes.Node[string] {
	return nodes.Map(n, func(_ context.Context, v T) (string, error) { return fmt.Sprint(v), nil })
}

func three(stop nodes.Stop, weighted bool) nodes.Node[string] {
	all := []nodes.Source[int]{{Name: "a", Node: upTo(5), Weight: 0.1}, {Name: "b", Node: upTo(9), Weight: 0.7},
		{Name: "c", Node: upTo(3), Weight: 0.2}}
	for i := range all {
		all[i].Node = nodes.Map(all[i].Node, func(_ context.Context, v int) (int, error) { return 100*i + v, nil })
	}
	if weighted {
		return asText(must(nodes.Weighted(all, nodes.WeightedOptions{Stop: stop})))
	}
	return asText(must(nodes.RoundRobin(all, stop)))
}

// built are all nodes, each over small sources.
var built = map[string]func() nodes.Node[string]{
	"slice": func() nodes.Node[string] { return asText(upTo(11)) },
	"stream": func() nodes.Node[string] {
		l := must(loader.New(loader.Slice[int64]{3, 1, 4, 1, 5, 9, 2, 6}, loader.Options[int64, []int64]{BatchSize: 3, Shuffle: true, Seed: 7,
			Collate: func(s []int64) ([]int64, error) { return append([]int64(nil), s...), nil }}))
		return asText(nodes.FromStream(l))
	},
	"sampler": func() nodes.Node[string] {
		return asText(nodes.FromSampler[int64](&reversed{n: 11}, nodes.SamplerOptions{}))
	},
	"sampler-ordered": func() nodes.Node[string] {
		return asText(nodes.FromSampler[int64](&nodes.Ordered{Of: func(epoch int64) order.Order { return order.Sequential(5 + epoch) }}, nodes.SamplerOptions{InitialEpoch: 2}))
	},
	"batch":    func() nodes.Node[string] { return asText(must(nodes.Batch(upTo(11), 4, order.Short))) },
	"unbatch":  func() nodes.Node[string] { return asText(nodes.Unbatch(must(nodes.Batch(upTo(11), 4, order.Short)))) },
	"filter":   func() nodes.Node[string] { return asText(nodes.Filter(upTo(25), isEven)) },
	"head":     func() nodes.Node[string] { return asText(must(nodes.Head(nodes.Cycle(upTo(3)), 10))) },
	"prefetch": func() nodes.Node[string] { return asText(must(nodes.Prefetch(upTo(11), 3, 4))) },
	"parallel": func() nodes.Node[string] {
		return asText(must(nodes.ParallelMap(upTo(23), twice, nodes.ParallelOptions{Workers: 3, SnapshotEvery: 2})))
	},
	"round-robin":       func() nodes.Node[string] { return three(nodes.All, false) },
	"round-robin-first": func() nodes.Node[string] { return three(nodes.First, false) },
	"weighted":          func() nodes.Node[string] { return three(nodes.CycleUntilAll, true) },
	"weighted-all":      func() nodes.Node[string] { return three(nodes.All, true) },
	"weighted-prefetch": func() nodes.Node[string] {
		return must(nodes.Prefetch(three(nodes.CycleUntilAll, true), 2, 3))
	},
	"chain": func() nodes.Node[string] {
		mapped := must(nodes.ParallelMap(nodes.Filter(upTo(53), isEven), twice, nodes.ParallelOptions{Workers: 2, SnapshotEvery: 3}))
		return asText(must(nodes.Prefetch(must(nodes.Batch(mapped, 4, order.Short)), 2, 2)))
	},
}

func openNodes(name string) func(t *testing.T) run {
	return func(*testing.T) run {
		return nodes.NewLoader(built[name](), nodes.LoaderOptions{})
	}
}

func nodeSpecimens() []specimen {
	var all []specimen
	for _, name := range sortedKeys(built) {
		for when, before := range map[string]int{"": 3, "-second-epoch": 0} {
			if before == 0 {
				if before = endOf(built[name]()) + 2; before > 60 {
					continue
				}
			}
			all = append(all, resumed("nodes/"+name+when+".json", openNodes(name), openNodes(name), before, 12))
		}
	}
	all = append(all, resumed("nodes/end-of-epoch.json", openNodes("batch"), openNodes("batch"), 4, 6))
	return all
}

// endOf returns how many results an epoch has, its end included.
func endOf(n nodes.Node[string]) int {
	defer n.Close()
	count := 1
	for ; count < 1000; count++ {
		if _, err := n.Next(context.Background()); err != nil {
			break
		}
	}
	return count
}
