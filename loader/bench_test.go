package loader_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numbers is a data set of n samples, each its id.
func numbers(n int64) loader.Map[int64] {
	return loader.Func(n, func(_ context.Context, id int64, _ loader.Random) (int64, error) { return id, nil })
}

// BenchmarkNext is the cost of a batch of 64 samples that cost nothing, with a state of each.
func BenchmarkNext(b *testing.B) {
	for _, workers := range []int{0, 2} {
		for _, shuffle := range []bool{false, true} {
			for _, states := range []bool{false, true} {
				b.Run(fmt.Sprintf("workers=%d/shuffle=%t/states=%t", workers, shuffle, states), func(b *testing.B) {
					l := open(b, numbers(1<<40), options{BatchSize: 64, Shuffle: shuffle, Workers: workers})
					ctx := context.Background()
					var buf []byte
					b.ReportAllocs()
					for b.Loop() {
						if _, err := l.Next(ctx); err != nil {
							b.Fatal(err)
						}
						if states {
							buf, _ = l.AppendState(buf[:0])
						}
					}
				})
			}
		}
	}
}

// BenchmarkState is the cost of a state.
func BenchmarkState(b *testing.B) {
	l := open(b, numbers(1e9), options{BatchSize: 64, Shuffle: true})
	take(b, l, 3)
	buf := snapshot(b, l)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = l.AppendState(buf[:0])
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

// BenchmarkResume is a new loader, a state in the middle and the first batch.
func BenchmarkResume(b *testing.B) {
	for _, n := range []int64{1e3, 1e6, 1e9} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := open(b, numbers(n), options{BatchSize: 1, Shuffle: true})
			take(b, l, 500)
			state := snapshot(b, l)
			b.ReportAllocs()
			for b.Loop() {
				l, err := loader.New[int64, tensor.Tensor](numbers(n), options{BatchSize: 100, Shuffle: true})
				if err != nil {
					b.Fatal(err)
				}
				if err := l.SetState(state); err != nil {
					b.Fatal(err)
				}
				if _, err := l.Next(context.Background()); err != nil {
					b.Fatal(err)
				}
				l.Close()
			}
		})
	}
}
