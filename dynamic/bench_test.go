package dynamic_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// BenchmarkCall is what a call costs on a tensor of one element. "wait" evaluates each result
// before the next call, "ctx" with a context that may end, and "chain" takes each for the next call
// and waits at the end.
func BenchmarkCall(b *testing.B) {
	x := dynamic.TensorOf([]int32{1})
	calls := []struct {
		name string
		make func(ctx context.Context, x *dynamic.Tensor) *dynamic.Tensor
	}{
		{"cast", func(ctx context.Context, x *dynamic.Tensor) *dynamic.Tensor {
			return dynamic.Cast(ctx, x, tensor.Int32)
		}},
		{"pad", func(ctx context.Context, x *dynamic.Tensor) *dynamic.Tensor {
			return dynamic.Invoke(ctx, dynamic.Call{Op: "pad", Args: opargs.Pad{FillValue: op.Const(3.0)}, Inputs: []dynamic.Value{x}})[0].(*dynamic.Tensor)
		}},
		{"add", func(ctx context.Context, x *dynamic.Tensor) *dynamic.Tensor { return fn.Add(ctx, x, 1) }},
	}
	for _, mode := range modes {
		for _, c := range calls {
			for _, how := range []string{"wait", "ctx", "chain"} {
				b.Run(fmt.Sprintf("%s/%s/%s", mode, c.name, how), func(b *testing.B) {
					e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
					defer e.Close()
					ctx, chained := context.Background(), how == "chain"
					if how == "ctx" {
						ctx = b.Context()
					}
					ctx = dynamic.WithMode(dynamic.With(ctx, e), mode)
					y := x
					b.ReportAllocs()
					for b.Loop() {
						if !chained {
							y = x
						}
						y = c.make(ctx, y)
						if !chained {
							if err := y.Evaluate(ctx); err != nil {
								b.Fatal(err)
							}
						}
					}
					if err := y.Evaluate(ctx); err != nil {
						b.Fatal(err)
					}
				})
			}
		}
	}
}

// BenchmarkNewPlan is what a call costs whose arguments were not seen before.
func BenchmarkNewPlan(b *testing.B) {
	e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
	defer e.Close()
	ctx := dynamic.WithMode(dynamic.With(context.Background(), e), dynamic.Sync)
	x := dynamic.TensorOf(make([]int32, 1000))
	b.Run("pad", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			dynamic.Invoke(ctx, dynamic.Call{Op: "pad", Args: opargs.Pad{FillValue: op.Const(float64(i))},
				Inputs: []dynamic.Value{x}})
		}
	})
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			dynamic.Index(ctx, x, i%1000)
		}
	})
	b.Run("index of one plan", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dynamic.Index(ctx, x, 3)
		}
	})
	b.Run("add", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			fn.Add(ctx, x, i)
		}
	})
}

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
