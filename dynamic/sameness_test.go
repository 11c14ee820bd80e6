package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// step is a call of a program: it takes two of the values made before.
type step struct{ what, x, y, number int }

// batchSize of the programs.
const batchSize = 5

// program calls operators, one after the other, each on results of those before, and
// returns all values.
func program(ctx context.Context, steps []step) []dynamic.Value {
	g := random.New(7)
	samples := make([][]int32, batchSize)
	for i := range samples {
		for j := range i + 1 {
			samples[i] = append(samples[i], int32(3*i-j))
		}
	}
	values := []dynamic.Value{
		dynamic.TensorOf([]float32{0.5, -1, 4}), dynamic.TensorOf(int32(2)), dynamic.BatchOf(samples), dynamic.BatchOf([]float64{1, 2, 0.5, -3, 7}),
	}
	for _, s := range steps {
		x, y := values[s.x%len(values)], values[s.y%len(values)]
		values = append(values, s.call(ctx, g, x, y))
	}
	return values
}

func (s step) call(ctx context.Context, g *random.RNG, x, y dynamic.Value) dynamic.Value {
	invoke := func(name string, args any, draw dynamic.Draw, inputs ...dynamic.Value) dynamic.Value {
		return dynamic.Invoke(ctx, dynamic.Call{Op: name, Args: args, Inputs: inputs, Draw: draw})[0]
	}
	binary := func(function string, x, y any) dynamic.Value {
		if _, ok := x.(*dynamic.Batch); ok {
			return dynamic.Apply[*dynamic.Batch](ctx, function, x, y)
		}
		if _, ok := y.(*dynamic.Batch); ok {
			return dynamic.Apply[*dynamic.Batch](ctx, function, x, y)
		}
		return dynamic.Apply[*dynamic.Tensor](ctx, function, x, y)
	}
	switch s.what {
	case 0:
		return binary("add", x, y)
	case 1:
		return binary("sub", s.number, x)
	case 2:
		return binary("div", x, y) // integers may be divided by 0
	case 3:
		return invoke("cast", opargs.Cast{DType: []tensor.DType{tensor.Int8, tensor.Uint16, tensor.Float32, tensor.Int64}[s.number%4]}, nil, x)
	case 4:
		return invoke("random.uniform", opargs.RandomUniform{}, g, x)
	case 5:
		return invoke("random.normal", opargs.RandomNormal{Shape: op.Const([]int{2})}, g)
	case 6:
		return invoke("reductions.sum", opargs.ReductionsSum{}, nil, x)
	case 7:
		return invoke("pad", opargs.Pad{FillValue: op.Of[float64](y)}, nil, x) // y must be a number
	case 8:
		if b, ok := x.(*dynamic.Batch); ok {
			return b.At(s.number % b.Len())
		}
		return dynamic.Broadcast(x.(*dynamic.Tensor), batchSize)
	case 9:
		if b, ok := x.(*dynamic.Batch); ok {
			return dynamic.Index(ctx, b, dynamic.Range{Step: -1})
		}
		return dynamic.Index(ctx, x.(*dynamic.Tensor), s.number%3) // may be out of range
	case 10:
		return invoke("permute_batch", op.Args{"indices": []int{4, 2, 0, 1, 1}}, nil, x)
	}
	return invoke("stack", nil, nil, x, x)
}

// text is what a value holds, or its error.
func text(v dynamic.Value) string {
	ctx := context.Background()
	if err := v.Evaluate(ctx); err != nil {
		return err.Error()
	}
	if t, ok := v.(*dynamic.Tensor); ok {
		x, _ := t.Tensor(ctx)
		return fmt.Sprintf("%v %q %x", x, x.Layout, x.Data)
	}
	samples, _ := v.(*dynamic.Batch).Samples(ctx)
	var b strings.Builder
	for _, x := range samples {
		fmt.Fprintf(&b, "%v %q %x\n", x, x.Layout, x.Data)
	}
	return b.String()
}

// together stands for the deferred mode with calls of Together.
const together = dynamic.Sync + 1

func inMode(ctx context.Context, mode dynamic.Mode) context.Context {
	if mode == together {
		mode = dynamic.Deferred
	}
	return dynamic.WithMode(ctx, mode)
}

// computeTogether computes a third of the values at a time together.
func computeTogether(values []dynamic.Value, order []int) {
	for part := range 3 {
		var list []dynamic.Value
		for k, i := range order {
			if k%3 == part {
				list = append(list, values[i])
			}
		}
		dynamic.Together(list...)
	}
}

// TestModesAndThreadsAreTheSame runs programs in all modes, with several numbers of threads,
// looking at the values in any order and from several goroutines.
func TestModesAndThreadsAreTheSame(t *testing.T) {
	failed, fine := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.IntRange(0, 1<<20)
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.IntRange(0, 11).Draw(t, "what"), number.Draw(t, "x"), number.Draw(t, "y"),
				number.Draw(t, "number")}
		}), 1, 25).Draw(t, "steps")
		order := make([]int, len(steps)+4)
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order of looks")
		var want []string
		for _, threads := range []int{1, 4} {
			for _, mode := range []dynamic.Mode{dynamic.Sync, dynamic.Eager, dynamic.Deferred, together} {
				e := dynamic.NewEvalContext(dynamic.Options{Workers: threads})
				values := program(inMode(dynamic.With(context.Background(), e), mode), steps)
				got := make([]string, len(values))
				var all sync.WaitGroup
				if mode == together {
					all.Go(func() { computeTogether(values, order) })
				}
				for part := range 2 {
					all.Go(func() {
						for k, i := range order {
							if k%2 == part {
								got[i] = text(values[i])
							}
						}
					})
				}
				all.Wait()
				e.Close()
				if want == nil {
					want = got
					for _, v := range values {
						if v.Err() != nil {
							failed++
						} else {
							fine++
						}
					}
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("%v with %d threads (-sync, 1 thread):\n%s", mode, threads, d)
				}
			}
		}
	})
	if fine < failed || failed == 0 {
		t.Errorf("%d values and %d errors: the programs prove little", fine, failed)
	}
}

// TestEvaluateAll computes what nobody asked for.
func TestEvaluateAll(t *testing.T) {
	for _, mode := range modes {
		e := dynamic.NewEvalContext(dynamic.Options{Workers: 2})
		ctx := dynamic.WithMode(dynamic.With(context.Background(), e), mode)
		x := dynamic.TensorOf([]int{1, 2})
		good := fn.Add(ctx, x, 1)
		first := dynamic.Index(ctx, x, 2)
		second := dynamic.Index(ctx, x, 3)
		err := e.EvaluateAll(ctx)
		switch {
		case mode == dynamic.Sync && err != nil:
			t.Errorf("%v: %v: the errors were there at the call", mode, err)
		case mode != dynamic.Sync && (err == nil || err != first.Evaluate(ctx)):
			t.Errorf("%v: %v, want the first of %v and %v", mode, err, first, second)
		}
		if s := good.String(); s != "Tensor(int32[2])" {
			t.Errorf("%v: %s after EvaluateAll", mode, s)
		}
		if err := e.EvaluateAll(ctx); err != nil {
			t.Errorf("%v: again: %v", mode, err)
		}
		e.Close()
	}
}

// TestClosed is about what is left of an EvalContext.
func TestClosed(t *testing.T) {
	e := dynamic.NewEvalContext(dynamic.Options{})
	ctx := dynamic.With(context.Background(), e)
	x := dynamic.TensorOf([]int{1, 2})
	eager := fn.Add(ctx, x, 1)
	late := fn.Add(dynamic.WithMode(ctx, dynamic.Deferred), x, 1)
	e.Close()
	e.Close()
	if d := cmp.Diff([]int32{2, 3}, slice[int32](t, eager)); d != "" {
		t.Error(d)
	}
	for _, v := range []dynamic.Value{late, fn.Add(ctx, x, 1), fn.Add(dynamic.WithMode(ctx, dynamic.Sync), x, 1)} {
		if err := v.Evaluate(ctx); !errors.Is(err, errs.Closed) {
			t.Errorf("%v", err)
		}
	}
	y := fn.Add(context.Background(), x, 1)
	dynamic.Default().Close()
	z := fn.Add(context.Background(), y, 1)
	if d := cmp.Diff([]int32{3, 4}, slice[int32](t, z)); d != "" {
		t.Error("the default context after Close: ", d)
	}
}
