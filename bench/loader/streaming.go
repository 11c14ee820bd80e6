package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/order"
)

// The job that is resumed in the middle of an epoch. peers.py has the same.
const (
	nodes, ranks, workers = 8, 8, 2
	rankBatch             = 64
	globalBatch           = nodes * ranks * rankBatch
	canonical             = 64
	shard                 = 10_000
	block                 = 1 << 18
	seed                  = 9176
)

// resumedOrders compares the orders of a rank that resumes in the middle of an epoch, up to the ids
// of its first batch. The ids of Bivouac's exact order must equal streaming's.
func resumedOrders(name, title string) turns.Comparison {
	exact := side("Bivouac, streaming's own order", "exact", 0)
	exact.Like = "streaming"
	return turns.Comparison{Name: name, Unit: "resume",
		Title: "the order of a rank from the middle of an epoch, and its first batch; " + title + ", 64 ranks",
		Sides: []turns.Side{ours, exact, side("streaming", "streaming", 0)}}
}

// seen is the middle of an epoch, after a whole batch of all ranks.
func seen(samples int64) int64 { return samples / 2 / globalBatch * globalBatch }

// ownOrders has the first rank go on in Bivouac's order, each time with another seed.
func ownOrders(samples int64) turns.Runner {
	next := uint64(seed)
	return func(context.Context) (int, uint64, error) {
		const times = 10_000
		var ids [rankBatch]int64
		for range times {
			o, err := order.NewShard(order.NewShuffled(samples, next, "loader"), globalBatch, 0, nodes*ranks)
			if err != nil {
				return 0, 0, err
			}
			o.Fill(seen(samples)/(nodes*ranks), ids[:])
			next++
		}
		return times, weighed(ids[:]), nil
	}
}

// exactOrders has it go on in streaming's order, each time in the next epoch.
func exactOrders(algorithm string, samples int64) turns.Runner {
	shuffle := streaming.Shuffle{Algorithm: streaming.Algorithm(algorithm), Shards: slices.Repeat([]int64{shard}, int(samples/shard)),
		CanonicalNodes: canonical, Seed: seed, Block: block}
	split := streaming.Split{CanonicalNodes: canonical, Nodes: nodes, Ranks: ranks, Workers: workers, Batch: rankBatch,
		Drop: seen(samples), InitialNodes: nodes}
	return func(context.Context) (int, uint64, error) {
		epoch, err := streaming.NewEpoch(shuffle)
		if err != nil {
			return 0, 0, err
		}
		shuffle.Epoch++
		o, err := epoch.Rank(split, 0, 0)
		if err != nil {
			return 0, 0, err
		}
		var ids [rankBatch]int64
		if n := o.Fill(0, ids[:]); n < rankBatch {
			return 0, 0, fmt.Errorf("want a batch of %d ids, got %d", rankBatch, n)
		}
		return 1, weighed(ids[:]), nil
	}
}

// weighed is a sum that tells one order of ids from another.
func weighed(ids []int64) (sum uint64) {
	for i, id := range ids {
		sum += uint64(i+1) * uint64(id)
	}
	return sum
}
