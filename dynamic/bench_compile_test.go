package dynamic_test

import (
	"context"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
)

// chain is four tiny operators.
func chain(g *random.RNG) dynamic.Body {
	const size = 4
	return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
		x, y := uniform(ctx, g, size).(*dynamic.Batch), uniform(ctx, g, size).(*dynamic.Batch)
		return []dynamic.Value{fn.Add(ctx, fn.Mul(ctx, x, 2), y)}
	}
}

func BenchmarkChain(b *testing.B) {
	for name, mode := range map[string]dynamic.Mode{"eager": dynamic.Eager, "sync": dynamic.Sync, "deferred": dynamic.Deferred} {
		b.Run(name, func(b *testing.B) {
			ctx := dynamic.WithMode(context.Background(), mode)
			body := chain(random.New(1))
			b.ReportAllocs()
			for b.Loop() {
				v := body(ctx, nil)[0]
				if err := v.Evaluate(ctx); err != nil {
					b.Fatal(err)
				}
				v.Release()
			}
		})
	}
	b.Run("compiled", func(b *testing.B) {
		ctx := context.Background()
		loop, err := dynamic.Compile(ctx, nil, chain(random.New(1)), dynamic.LoopOptions{})
		if err != nil {
			b.Fatal(err)
		}
		defer loop.Close() //nolint:errcheck // a benchmark
		b.ReportAllocs()
		for b.Loop() {
			values, err := loop.Next(ctx)
			if err != nil {
				b.Fatal(err)
			}
			values[0].Release()
		}
	})
}
