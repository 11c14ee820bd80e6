package nodes_test

import (
	"context"
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
)

// A chain: ids in an order of each epoch, read by two goroutines, batched, prefetched.
func ExampleParallelMap() {
	ctx := context.Background()
	ids := nodes.FromSampler[int64](&nodes.Ordered{Of: func(epoch int64) order.Order {
		return order.NewPermutation(7, order.Key(3, epoch, "example"))
	}}, nodes.SamplerOptions{})
	read, err := nodes.ParallelMap(ids, func(_ context.Context, id int64) (string, error) {
		return fmt.Sprint("sample ", id), nil
	}, nodes.ParallelOptions{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	batches, err := nodes.Batch(read, 3, order.Short)
	if err != nil {
		log.Fatal(err)
	}
	ahead, err := nodes.Prefetch(batches, 2, 1)
	if err != nil {
		log.Fatal(err)
	}
	l := nodes.NewLoader(ahead, nodes.LoaderOptions{})
	defer l.Close()
	for batch, err := range l.Epoch(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		saved, err := l.AppendState(nil)
		fmt.Println(batch, len(saved) < 200, err)
	}
	// Output:
	// [sample 4 sample 0 sample 6] true <nil>
	// [sample 5 sample 3 sample 1] true <nil>
	// [sample 2] true <nil>
}

// Two sources, of which one is read three times as often, until both were read once.
func ExampleWeighted() {
	mixed, err := nodes.Weighted([]nodes.Source[string]{
		{Name: "books", Node: nodes.FromSlice([]string{"b0", "b1", "b2", "b3"}), Weight: 0.75},
		{Name: "code", Node: nodes.FromSlice([]string{"c0", "c1"}), Weight: 0.25},
	}, nodes.WeightedOptions{Stop: nodes.All, Draws: nodes.NewDraws(7, 0)})
	if err != nil {
		log.Fatal(err)
	}
	l := nodes.NewLoader(mixed, nodes.LoaderOptions{})
	defer l.Close()
	for v, err := range l.Epoch(context.Background()) {
		fmt.Println(v, err)
	}
	// Output:
	// b0 <nil>
	// c0 <nil>
	// c1 <nil>
	// b1 <nil>
	// b2 <nil>
	// b3 <nil>
}
