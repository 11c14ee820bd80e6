package dynamic_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"weak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
)

// The values of a chain of deferred calls that nobody can ask for any more are given up
// while the rest of the chain is computed.
func TestChainHoldsNoIntermediates(t *testing.T) {
	const calls, numbers = 64, 1 << 17
	evaluations := map[string]func(ctx context.Context, e *dynamic.EvalContext, x *dynamic.Tensor) error{
		"its last value": func(ctx context.Context, _ *dynamic.EvalContext, x *dynamic.Tensor) error { return x.Evaluate(ctx) },
		"its last value, in the background": func(ctx context.Context, _ *dynamic.EvalContext, x *dynamic.Tensor) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			return x.Evaluate(ctx)
		},
		"all": func(ctx context.Context, e *dynamic.EvalContext, _ *dynamic.Tensor) error { return e.EvaluateAll(ctx) },
	}
	for name, evaluate := range evaluations {
		t.Run(name, func(t *testing.T) {
			e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
			t.Cleanup(e.Close)
			ctx := dynamic.WithMode(dynamic.With(t.Context(), e), dynamic.Deferred)
			var between []weak.Pointer[dynamic.Tensor]
			var base, live uint64
			alive := 0
			end := newGate(func(int) {
				live = heap()
				for _, p := range between {
					if p.Value() != nil {
						alive++
					}
				}
			})
			close(end.open)
			x := dynamic.TensorOf(make([]int64, numbers))
			for range calls {
				x = fn.Add(ctx, x, 1)
				between = append(between, weak.Make(x))
			}
			x = end.call(ctx, x)
			base = heap()
			if err := evaluate(ctx, e, x); err != nil {
				t.Fatal(err)
			}
			if got := slice[int64](t, x); got[0] != calls {
				t.Fatalf("the last value is %d, want %d", got[0], calls)
			}
			// The value that the gate takes is there, and at most one before it.
			if alive > 2 {
				t.Errorf("%d of %d values between are alive when the last call is computed, want at most 2", alive, calls)
			}
			if most := uint64(6 * 8 * numbers); live > base+most {
				t.Errorf("%d more bytes are live when the last call is computed, want at most %d", live-base, most)
			}
		})
	}
}

// heap returns the bytes of what is reachable.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// EvaluateAll that was cancelled computes the other calls when it is called again.
func TestEvaluateAllGoesOn(t *testing.T) {
	e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
	t.Cleanup(e.Close)
	ctx := dynamic.WithMode(dynamic.With(t.Context(), e), dynamic.Deferred)
	waiting, cancel := context.WithCancel(ctx)
	first, second := newGate(nil), newGate(func(int) { cancel() })
	close(first.open)
	var all []*dynamic.Tensor
	for _, g := range []*gate{first, second, first} {
		all = append(all, g.call(ctx, dynamic.TensorOf([]int64{7})))
	}
	if err := e.EvaluateAll(waiting); !errors.Is(err, errs.Canceled) {
		t.Fatalf("EvaluateAll = %v, want Canceled", err)
	}
	close(second.open)
	if err := e.EvaluateAll(ctx); err != nil {
		t.Fatal(err)
	}
	if n := first.passed.Load(); n != 2 {
		t.Errorf("%d values passed the first gate, want 2", n)
	}
	for _, x := range all {
		if got := slice[int64](t, x); got[0] != 7 {
			t.Errorf("%d, want 7", got[0])
		}
	}
}
