package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op/gofunc"
	"github.com/bivouac-ml/bivouac/tensor"
)

// bySum returns the elements in turned order, and their sum.
func bySum(in []tensor.Tensor) ([]tensor.Tensor, error) {
	list, err := tensor.Of[float32](in[0])
	if err != nil {
		return nil, err
	}
	out, sum := make([]float32, len(list)), float32(0)
	for i, v := range list {
		out[len(out)-1-i], sum = v, sum+v
	}
	if sum > 1000 {
		return nil, fmt.Errorf("a sum of %v", sum)
	}
	return []tensor.Tensor{tensor.FromSlice(out), tensor.ScalarOf(sum)}, nil
}

func turning(t testing.TB, name string) *fn.Func {
	t.Helper()
	list, one := tensor.Shape{-1}, tensor.Shape{}
	f, err := fn.NewFunc(gofunc.Function{Name: name, Deterministic: true, Sample: bySum,
		Outputs: []tensor.Spec{{DType: tensor.Float32, Shape: list}, {DType: tensor.Float32, Shape: one}}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func written(t *testing.T, values []dynamic.Value) string {
	t.Helper()
	var list []string
	for _, v := range values {
		for _, s := range samples(t, v) {
			numbers, err := tensor.Of[float32](s)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(numbers))
		}
	}
	return strings.Join(list, " ")
}

// A function gives the same in every mode, for a Tensor, a Batch and after other operators.
func TestFuncInEveryMode(t *testing.T) {
	f := turning(t, "turn")
	for _, mode := range []dynamic.Mode{dynamic.Eager, dynamic.Sync, dynamic.Deferred} {
		ctx := dynamic.WithMode(t.Context(), mode)
		if got := written(t, f.Call(ctx, dynamic.TensorOf([]float32{1, 2, 3}))); got != "[3 2 1] [6]" {
			t.Errorf("%v: %s", mode, got)
		}
		b := fn.Mul(ctx, dynamic.BatchOf([][]float32{{1, 2}, {5}}), 2)
		if got := written(t, f.Call(ctx, b)); got != "[4 2] [10] [6] [10]" {
			t.Errorf("%v: %s", mode, got)
		}
		bad := f.Call(ctx, dynamic.TensorOf([]float32{1000, 1}))
		if err := bad[1].Evaluate(ctx); err == nil || !strings.Contains(err.Error(), "a sum of 1001") ||
			!strings.Contains(err.Error(), "function_test.go") {
			t.Errorf("%v: %v", mode, err)
		}
	}
}

func TestFuncMistakes(t *testing.T) {
	for name, f := range map[string]gofunc.Function{
		"nothing":  {Deterministic: true},
		"stateful": {Stateful: true, Sample: bySum},
	} {
		if _, err := fn.NewFunc(f); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := fn.NewFunc(gofunc.Function{Deterministic: true, Outputs: []tensor.Spec{{DType: tensor.Float32}},
		Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) { panic("oh no") }})
	if err != nil {
		t.Fatal(err)
	}
	out := f.Call(t.Context(), dynamic.TensorOf([]float32{1}))
	if err := out[0].Evaluate(t.Context()); err == nil || !strings.Contains(err.Error(), "oh no") {
		t.Errorf("a panic: %v", err)
	}
}

// A compiled loop calls a function, and notices a body that calls another one.
func TestFuncInLoops(t *testing.T) {
	f, g := turning(t, "turn"), turning(t, "turn")
	calls, swap := 0, false
	body := func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
		use := f
		if calls++; swap && calls > 1 {
			use = g
		}
		return use.Call(ctx, fn.Mul(ctx, in[0].(*dynamic.Batch), 2))
	}
	loop, err := dynamic.Compile(t.Context(), &counter{}, body, dynamic.LoopOptions{Verify: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close() //nolint:errcheck // nothing is to be written
	for i, want := range []string{"[0] [2] [0] [2]", "[2] [4] [2] [4]"} {
		out, err := loop.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := written(t, out); got != want {
			t.Errorf("step %d: %s, want %s", i, got, want)
		}
	}
	calls, swap = 0, true
	other, err := dynamic.Compile(t.Context(), &counter{}, body, dynamic.LoopOptions{Verify: 1})
	if err == nil {
		defer other.Close() //nolint:errcheck // nothing is to be written
		_, err = other.Next(t.Context())
	}
	if !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "another function") {
		t.Errorf("another function: %v", err)
	}
}
