package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The operator test.gate passes int64 numbers when their gate is open, and counts what came by.
func init() {
	op.Register(op.Schema{
		Name: "gate", Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}}, Outputs: []op.Port{{Name: "out"}},
		Params: []op.Parameter{{Name: "number", Type: op.Int, Required: true}}, Keep: true,
		New: func(c *op.Config) (op.Kernel, error) { return gateKernel(op.Get[int](c, "number")), nil },
	})
}

var gates struct {
	sync.Mutex
	list []*gate
}

type gate struct {
	number int
	open   chan struct{}
	passed atomic.Int32
	order  func(number int)
}

// newGate returns a gate; order is told when something is at it.
func newGate(order func(number int)) *gate {
	gates.Lock()
	defer gates.Unlock()
	g := &gate{number: len(gates.list), open: make(chan struct{}), order: order}
	gates.list = append(gates.list, g)
	return g
}

// call passes x through the gate.
func (g *gate) call(ctx context.Context, x *dynamic.Tensor) *dynamic.Tensor {
	return dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "test.gate", Args: op.Args{"number": g.number},
		Inputs: []dynamic.Value{x}})
}

type gateKernel int

func (gateKernel) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (k gateKernel) Run(b *op.Block) error {
	gates.Lock()
	g := gates.list[k]
	gates.Unlock()
	if g.order != nil {
		g.order(g.number)
	}
	<-g.open
	g.passed.Add(int32(b.Len()))
	return b.Each(func(s int) error {
		in := b.In(0, s)
		copy(b.Out(0, s, in.Shape...).Data, in.Data)
		return nil
	})
}

// scoped returns a context with an EvalContext and a mode.
func scoped(t *testing.T, mode dynamic.Mode) context.Context {
	t.Helper()
	e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
	t.Cleanup(e.Close)
	return dynamic.WithMode(dynamic.With(context.Background(), e), mode)
}

// A wait that is cancelled leaves the value as it was; the next one gets it.
func TestWaitIsCancelled(t *testing.T) {
	for _, mode := range []dynamic.Mode{dynamic.Eager, dynamic.Deferred} {
		synctest.Test(t, func(t *testing.T) {
			ctx := scoped(t, mode)
			g := newGate(nil)
			x := g.call(ctx, dynamic.TensorOf([]int64{3}))
			waiting, cancel := context.WithCancelCause(ctx)
			done := make(chan error)
			go func() { done <- x.Evaluate(waiting) }()
			synctest.Wait()
			cancel(errors.New("enough"))
			if err := <-done; !errors.Is(err, errs.Canceled) || x.Err() != nil {
				t.Errorf("%v: %v, then %v", mode, err, x.Err())
			}
			if err := x.Evaluate(waiting); !errors.Is(err, errs.Canceled) {
				t.Errorf("%v: %v", mode, err)
			}
			if err := dynamic.Current(ctx).EvaluateAll(waiting); !errors.Is(err, errs.Canceled) {
				t.Errorf("%v: EvaluateAll: %v", mode, err)
			}
			close(g.open)
			if err := dynamic.Current(ctx).EvaluateAll(ctx); err != nil || g.passed.Load() != 1 {
				t.Errorf("%v: EvaluateAll: %v, %d came by", mode, err, g.passed.Load())
			}
			if d := cmp.Diff([]int64{3}, slice[int64](t, x)); d != "" {
				t.Errorf("%v: %s", mode, d)
			}
		})
	}
}

// A call whose context ended before it was computed fails, and what depends on it.
func TestCallIsCancelled(t *testing.T) {
	for _, mode := range modes {
		synctest.Test(t, func(t *testing.T) {
			ctx := scoped(t, mode)
			g := newGate(nil)
			x := dynamic.TensorOf([]int64{3})
			if mode == dynamic.Eager {
				g.call(ctx, x) // keeps the background busy
			}
			calling, cancel := context.WithCancel(ctx)
			if mode == dynamic.Sync {
				cancel()
			}
			y := fn.Add(calling, x, 1)
			z := fn.Add(ctx, y, 1)
			cancel()
			close(g.open)
			if err := z.Evaluate(ctx); !errors.Is(err, errs.Canceled) || err != y.Evaluate(ctx) {
				t.Errorf("%v: %v", mode, err)
			}
		})
	}
}

// Eager calls are computed in their order, one after the other, and Close waits for them.
func TestEagerOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
		ctx := dynamic.With(context.Background(), e)
		var order []int
		var list []*gate
		for range 5 { // all of them before the first call: the background reads the list
			list = append(list, newGate(func(number int) { order = append(order, number-list[0].number) }))
		}
		for _, g := range list {
			g.call(ctx, dynamic.TensorOf([]int64{1}))
		}
		for i, g := range list {
			synctest.Wait()
			if len(order) != i+1 {
				t.Fatalf("%d calls were begun when %d are done", len(order), i)
			}
			close(g.open)
		}
		e.Close()
		if d := cmp.Diff([]int{0, 1, 2, 3, 4}, order); d != "" {
			t.Error(d)
		}
	})
}

// A deferred call with effects is computed by EvaluateAll though nobody has its value; one
// without is not, nor one that somebody looked at already.
func TestEffects(t *testing.T) {
	ctx := scoped(t, dynamic.Deferred)
	g := newGate(nil)
	close(g.open)
	x := dynamic.TensorOf([]int64{1})
	for range 200 {
		g.call(ctx, x)
	}
	if err := g.call(ctx, x).Evaluate(ctx); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if err := dynamic.Current(ctx).EvaluateAll(ctx); err != nil || g.passed.Load() != 201 {
		t.Errorf("%v, %d of 201 came by", err, g.passed.Load())
	}
}

// A caller that calls faster than calls are computed waits, and all calls come to an end.
func TestManyCalls(t *testing.T) {
	ctx := scoped(t, dynamic.Eager)
	x := dynamic.TensorOf(int64(0))
	for range 20000 {
		x = fn.Add(ctx, x, 1)
	}
	if got := slice[int64](t, x); got[0] != 20000 {
		t.Error(got)
	}
	ctx = dynamic.WithMode(ctx, dynamic.Deferred) // a chain that is long when it is wanted
	for range 20000 {
		x = fn.Add(ctx, x, 1)
	}
	if got := slice[int64](t, x); got[0] != 40000 {
		t.Error(got)
	}
}

// What a chain of calls has left behind is collected: its values and the values of past calls.
func TestPastIsForgotten(t *testing.T) {
	for _, mode := range modes {
		ctx := scoped(t, mode)
		x := dynamic.TensorOf(make([]float32, 1<<10))
		var past []weak.Pointer[dynamic.Tensor]
		for range 20 {
			past = append(past, weak.Make(x))
			x = fn.Add(ctx, x, 1)
		}
		if err := x.Evaluate(ctx); err != nil {
			t.Fatal(err)
		}
		if err := dynamic.Current(ctx).EvaluateAll(ctx); err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		runtime.GC()
		left := 0
		for _, p := range past {
			if p.Value() != nil {
				left++
			}
		}
		if left > 0 {
			t.Errorf("%v: %d of %d values are held", mode, left, len(past))
		}
		runtime.KeepAlive(x)
	}
}

// Values may be used from everywhere at once.
func TestGoroutines(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		shared := fn.Mul(ctx, dynamic.BatchOf([][]int32{{1}, {2, 3}, {4, 5, 6}}), 10)
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 50 {
					x := fn.Add(ctx, fn.Add(ctx, shared, g), i)
					got, err := dynamic.Slice[int32](ctx, x.At(2))
					if want := []int32{int32(40 + g + i), int32(50 + g + i), int32(60 + g + i)}; err != nil || !cmp.Equal(want, got) {
						t.Errorf("%v, want %v: %v", got, want, err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

// TestPlans uses more kinds of calls than are kept.
func TestPlans(t *testing.T) {
	ctx := scoped(t, dynamic.Sync)
	x := dynamic.TensorOf([]int32{5})
	for round := range 2 {
		for i := range 600 {
			y := dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "pad", Inputs: []dynamic.Value{x},
				Args: opargs.Pad{FillValue: op.Const(float64(i)), Shape: op.Const([]int{2})}})
			if d := cmp.Diff([]int32{5, int32(i)}, slice[int32](t, y)); d != "" {
				t.Fatal(fmt.Sprint(round, " ", i), d)
			}
		}
	}
}

// What a call was given may be changed when its value is there: the next call is of its own kind.
func TestArgumentsAreKept(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		x := dynamic.TensorOf([]int32{5})
		shape := []int{2}
		pad := func(args any) []int32 {
			y := dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "pad", Inputs: []dynamic.Value{x}, Args: args})
			return slice[int32](t, y)
		}
		for n := 2; n < 5; n++ {
			shape[0] = n
			if got := pad(opargs.Pad{Shape: op.Const(shape)}); len(got) != n {
				t.Errorf("%d: %v", n, got)
			}
			if got := pad(op.Args{"shape": shape}); len(got) != n {
				t.Errorf("%d, untyped: %v", n, got)
			}
		}
	})
}

// No value is held for having been an argument of a call.
func TestArgumentsAreForgotten(t *testing.T) {
	for _, mode := range modes {
		ctx := scoped(t, mode)
		y := dynamic.TensorOf(float32(3))
		held := weak.Make(y)
		for _, args := range []any{opargs.Pad{FillValue: op.Of[float64](y)}, op.Args{"fill_value": y}} {
			z := dynamic.Invoke1[*dynamic.Tensor](ctx, dynamic.Call{Op: "pad",
				Inputs: []dynamic.Value{dynamic.TensorOf([]int32{5})}, Args: args})
			if err := z.Evaluate(ctx); err != nil {
				t.Fatal(err)
			}
			runtime.KeepAlive(z)
		}
		y = nil
		runtime.GC()
		runtime.GC()
		if held.Value() != nil {
			t.Errorf("%v: an argument is held", mode)
		}
	}
}
