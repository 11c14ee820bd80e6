package order_test

import (
	"fmt"
	"log"

	"github.com/bivouac-ml/bivouac/order"
)

// ExampleNewRank mixes a billion samples of the web with code, 7 to 3 and later 5 to 5, and reads
// what rank 3 of 8 gets from position 10,000,000,000 on.
func ExampleNewRank() {
	const seed = 7
	shards := make([]int64, 1000)
	for i := range shards {
		shards[i] = 50_000
	}
	web := order.NewShuffled(1_000_000_000, seed, "web")
	code, err := order.NewWindows(shards, 16, seed, "code")
	if err != nil {
		log.Fatal(err)
	}
	mix, err := order.NewMixture([]order.Source{{Order: web, Weight: 7}, {Order: code, Weight: 3}},
		order.CycleOn, order.Phase{From: 500_000_000, Weights: []float64{5, 5}})
	if err != nil {
		log.Fatal(err)
	}
	batches, err := order.NewBatches(mix, 4096, order.Span)
	if err != nil {
		log.Fatal(err)
	}
	mine, err := order.NewRank(batches, 3, 8)
	if err != nil {
		log.Fatal(err)
	}
	ids := make([]int64, 4)
	n := mine.Fill(10_000_000_000, ids)
	fmt.Println(n, ids)
	// Output:
	// 4 [321789082 1012303264 896016507 1044175361]
}
