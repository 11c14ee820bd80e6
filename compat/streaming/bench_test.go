package streaming

import (
	"slices"
	"testing"
)

// A million samples an epoch, shards of 10^4, 64 canonical nodes.
func BenchmarkShuffle(b *testing.B) {
	for _, a := range Algorithms() {
		s := Shuffle{Algorithm: a, Shards: slices.Repeat([]int64{10_000}, 100), CanonicalNodes: 64, Seed: 9176, Block: 1 << 18}
		b.Run(string(a), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Samples(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFill(b *testing.B) {
	o, err := Unshuffled(1e9).Rank(Split{CanonicalNodes: 64, Nodes: 8, Ranks: 8, Workers: 2, Batch: 32}, 3, 1)
	if err != nil {
		b.Fatal(err)
	}
	dst := make([]int64, 32)
	for b.Loop() {
		o.Fill(1e6, dst)
	}
}
