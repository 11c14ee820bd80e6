package order_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/bivouac-ml/bivouac/order"
)

func Example() {
	o := order.NewShuffled(8, 7, "train")
	ids := make([]int64, 16)
	o.Fill(0, ids)
	fmt.Println(ids[:8], ids[8:]) // two epochs

	o.Fill(11, ids[:5]) // to continue at a position, only the position is needed
	fmt.Println(ids[:5])
	fmt.Println("sample 5 is seen in epoch 1 at", o.Epoch(1).Inverse(5))
	// Output:
	// [6 1 3 4 0 2 5 7] [3 5 6 7 0 1 4 2]
	// [7 0 1 4 2]
	// sample 5 is seen in epoch 1 at 1
}

func ExampleNewShard() {
	for rank := range 2 {
		s, err := order.NewShard(order.Sequential(10), 4, rank, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		ids := make([]int64, 10)
		fmt.Println(rank, ids[:s.Fill(0, ids)])
	}
	// Output:
	// 0 [0 1 4 5 8 9]
	// 1 [2 3 6 7]
}

// A run over two sources continues from the same batch with another world size.
func ExampleNewMixture() {
	mix, err := order.NewMixture([]order.Source{
		{Order: order.NewShuffled(100, 1, "text"), Weight: 3},
		{Order: order.NewCycle(10), Weight: 1},
	}, order.StopFirst, order.Phase{From: 8, Weights: []float64{1, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	batches, err := order.NewBatches(mix, 8, order.Span)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, world := range []int64{2, 4} {
		var shares []string
		for r := range world {
			rank, err := order.NewRank(batches, r, world)
			if err != nil {
				fmt.Println(err)
				return
			}
			first, n, _ := rank.Batch(1)
			ids := make([]int64, n)
			rank.Fill(first, ids)
			shares = append(shares, fmt.Sprint(ids))
		}
		fmt.Println(strings.Join(shares, " "))
	}
	source, id, _ := mix.Split(103)
	fmt.Println("id 103 is", id, "of source", source)
	// Output:
	// [29 102 62 103] [32 104 73 105]
	// [29 102] [62 103] [32 104] [73 105]
	// id 103 is 3 of source 1
}

// The web source of a mixture gets a new shard. The pass that has begun ends without the shard. The
// next pass has it, with ids after all other ids.
func ExampleMixture_Extend() {
	web := func(shards ...int64) order.Order {
		o, err := order.NewWindows(shards, 2, 7, "web")
		if err != nil {
			log.Fatal(err)
		}
		return o
	}
	mixture, err := order.NewMixture([]order.Source{
		{Order: web(3, 2), Weight: 2},
		{Order: order.NewShuffled(4, 7, "code"), Weight: 1},
	}, order.CycleOn)
	if err != nil {
		log.Fatal(err)
	}
	more, err := mixture.Extend(6, order.Extension{Grown: []order.Growth{{Source: 0, Order: web(3, 2, 2)}}})
	if err != nil {
		log.Fatal(err)
	}
	ids := make([]int64, 18)
	more.Fill(0, ids)
	fmt.Println(ids)
	fmt.Println(more.Split(9)) // sample 5 of source 0, the first of the new shard
	// Output:
	// [2 6 4 1 8 3 0 5 0 2 7 9 1 7 10 4 6 3]
	// 0 5 <nil>
}
