package main

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/compat/grain"
	"github.com/bivouac-ml/bivouac/compat/streaming"
	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/proof/shuffletest"
)

// shuffle is one that is measured. most bounds its sizes, for what takes too long;
// unlimited where 0.
type shuffle struct {
	name string
	draw shuffletest.Draw
	most int
}

// shuffles are Bivouac's, the control, and the peers'. Permutation k is epoch k of
// one seed, or for the control and for peers that have one seed an epoch seed k.
func shuffles(failed *error) []shuffle {
	note := func(err error) {
		if err != nil && *failed == nil {
			*failed = err
		}
	}
	return []shuffle{
		{"Bivouac", func(k int, p []int64) {
			order.NewPermutation(int64(len(p)), order.Key(1, int64(k), "quality")).Fill(0, p)
		}, 0},
		{"Fisher-Yates", shuffletest.FisherYates, 0},
		{"Grain", func(k int, p []int64) {
			perm, err := grain.NewPermutation(int64(len(p)), uint32(k), grain.DefaultRounds)
			note(err)
			for i := range p {
				p[i] = perm.At(int64(i))
			}
		}, 0},
		{"torch randperm", func(k int, p []int64) {
			g := torchdata.NewGenerator(uint64(k))
			ids, err := torchdata.Randperm(int64(len(p)), &g)
			note(err)
			copy(p, ids)
		}, 0},
		{"streaming py1e", streamed(streaming.Py1e, note), 0},
		{"streaming py1s", streamed(streaming.Py1s, note), 0},
	}
}

// streamed is a shuffle of MosaicML Streaming: ten shards, one canonical node.
func streamed(algorithm streaming.Algorithm, note func(error)) shuffletest.Draw {
	return func(k int, p []int64) {
		shards := make([]int64, 10)
		for i := range shards {
			n := int64(len(p))
			shards[i] = n*int64(i+1)/10 - n*int64(i)/10
		}
		s := streaming.Shuffle{Algorithm: algorithm, Shards: shards, CanonicalNodes: 1, Seed: 1, Epoch: int64(k), Block: max(int64(len(p))/5, 2)}
		ids, err := s.Samples()
		note(err)
		copy(p, ids)
	}
}

// cell is a number of standard deviations, with a mark where chance does not explain
// it.
func cell(z float64) string {
	if z > 5 || z < -5 {
		return fmt.Sprintf("**%.1f**", z)
	}
	return fmt.Sprintf("%.1f", z)
}
