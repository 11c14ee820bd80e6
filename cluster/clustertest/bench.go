package clustertest

import (
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/cluster"
)

// Bench measures barriers of 4 members, each with its own view of a board.
func Bench(b *testing.B, open func() cluster.Board) {
	const world = 4
	all := make([]*cluster.Member, world)
	boards := make([]cluster.Board, world)
	check := func(errors []error) {
		b.Helper()
		for _, err := range errors {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	check(together(world, func(rank int) (err error) {
		boards[rank] = open()
		all[rank], err = cluster.Join(context.Background(), boards[rank], cluster.Options{Rank: rank, World: world})
		return err
	}))
	b.ResetTimer()
	check(together(world, func(rank int) error {
		for range b.N {
			if err := all[rank].Barrier(context.Background(), "k"); err != nil {
				return err
			}
		}
		return nil
	}))
	b.StopTimer()
	check(together(world, func(rank int) error { return all[rank].Close() }))
	for _, board := range boards {
		check([]error{board.Close()})
	}
}
