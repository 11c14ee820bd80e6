package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dynamic.Default().Close() // which lasts as long as the process
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

var modes = []dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync}

// every runs a test in every mode, with an EvalContext of its own.
func every(t *testing.T, test func(t *testing.T, ctx context.Context)) {
	for _, mode := range modes {
		for _, threads := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s %d", mode, threads), func(t *testing.T) {
				e := dynamic.NewEvalContext(dynamic.Options{Workers: threads})
				defer e.Close()
				test(t, dynamic.WithMode(dynamic.With(context.Background(), e), mode))
			})
		}
	}
}

// slice returns the elements of a Tensor.
func slice[T tensor.Element](t *testing.T, x *dynamic.Tensor) []T {
	t.Helper()
	list, err := dynamic.Slice[T](context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestArithmetic(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		x := dynamic.TensorOf([]int{1, 2, 3})
		y := fn.Add(ctx, fn.Mul(ctx, x, 2), 1)
		if d := cmp.Diff([]int32{3, 5, 7}, slice[int32](t, y)); d != "" {
			t.Error(d)
		}
		if y.DType() != tensor.Int32 || !y.Shape().Equal(tensor.Shape{3}) || y.NDim() != 1 || y.Size() != 3 ||
			y.NBytes() != 12 {
			t.Errorf("%v %v", y, y.Shape())
		}
		z := dynamic.Apply[*dynamic.Tensor](ctx, "sub", 1, x)
		if d := cmp.Diff([]int32{0, -1, -2}, slice[int32](t, z)); d != "" {
			t.Error(d)
		}
	})
}

func TestBatch(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		b := dynamic.BatchOf([][]int32{{1, 2}, {3}, {4, 5, 6}})
		c := fn.Mul(ctx, b, b)
		if c.Len() != 3 {
			t.Fatal(c)
		}
		var got [][]int32
		for _, x := range c.Tensors() {
			got = append(got, slice[int32](t, x))
		}
		if d := cmp.Diff([][]int32{{1, 4}, {9}, {16, 25, 36}}, got); d != "" {
			t.Error(d)
		}
		one := dynamic.Apply[*dynamic.Batch](ctx, "add", dynamic.TensorOf(int32(10)), b)
		if d := cmp.Diff([]int32{13}, slice[int32](t, one.At(1))); d != "" {
			t.Error(d)
		}
	})
}

func TestErrors(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		x := dynamic.TensorOf([][]float32{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})
		_, _, line, _ := runtime.Caller(0)
		bad := dynamic.Invoke(ctx, dynamic.Call{Op: "slice", Inputs: []dynamic.Value{x, dynamic.TensorOf([]int32{5, 5}), dynamic.TensorOf([]int32{9, 9})},
			Args: opargs.Slice{NormalizedAnchor: op.Const(false), NormalizedShape: op.Const(false)}})[0].(*dynamic.Tensor)
		after := fn.Add(ctx, bad, 1)
		if sync := dynamic.ModeOf(ctx) == dynamic.Sync; (bad.Err() != nil) != sync || (after.Err() != nil) != sync {
			t.Errorf("at the call: %v", bad.Err())
		}
		err := after.Evaluate(ctx)
		if err == nil || err != bad.Evaluate(ctx) || bad.Err() != err || after.Err() != err {
			t.Fatalf("%v", err)
		}
		if !strings.Contains(err.Error(), fmt.Sprintf("dynamic_test.go:%d: slice: ", line+1)) {
			t.Errorf("%v", err)
		}
		if _, err := after.Tensor(ctx); err == nil || after.DType() != tensor.Invalid {
			t.Error("a failed Tensor has elements")
		}
	})
}

func TestSizesMustAgree(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		x := fn.Add(ctx, dynamic.BatchOf([]int{1, 2}), dynamic.BatchOf([]int{1, 2, 3}))
		if !errors.Is(x.Err(), errs.Invalid) {
			t.Errorf("%v", x.Err())
		}
	})
}
