package dynamic_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// drawing makes a chain of calls, of which one draws, and returns all its values.
func drawing(ctx context.Context, g *random.RNG, x *dynamic.Batch) []dynamic.Value {
	noise := dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "random.uniform", Args: opargs.RandomUniform{}, Draw: g,
		Inputs: []dynamic.Value{x}})
	sum := fn.Add(ctx, x, noise)
	scaled := fn.Mul(ctx, sum, dynamic.TensorOf(float32(3)))
	total := dynamic.Invoke1[*dynamic.Batch](ctx, dynamic.Call{Op: "reductions.sum", Args: opargs.ReductionsSum{},
		Inputs: []dynamic.Value{scaled}})
	return []dynamic.Value{noise, sum, scaled, total, fn.Sub(ctx, total, fn.Add(ctx, sum, 1))}
}

// deferredContext returns a context whose calls are deferred.
func deferredContext(t *testing.T, threads int) (context.Context, *dynamic.EvalContext) {
	e := dynamic.NewEvalContext(dynamic.Options{Workers: threads})
	t.Cleanup(e.Close)
	return dynamic.WithMode(dynamic.With(context.Background(), e), dynamic.Deferred), e
}

func texts(values []dynamic.Value) (list []string) {
	for _, v := range values {
		list = append(list, text(v))
	}
	return list
}

// One graph serves every round, also of other sizes up to a power of two and with many rounds under
// way. Values that were not asked for are not computed, and are right when they are asked for
// later.
func TestTogetherAgain(t *testing.T) {
	const rounds = 12
	ctx, e := deferredContext(t, 2)
	g, same := random.New(5), random.New(5)
	var got, want [][]dynamic.Value
	for i := range rounds {
		samples := make([][]float32, 5+i%3)
		for s := range samples {
			samples[s] = make([]float32, 1000+s)
			samples[s][i] = float32(s)
		}
		x := dynamic.BatchOf(samples)
		got = append(got, drawing(ctx, g, x))
		want = append(want, drawing(dynamic.WithMode(ctx, dynamic.Sync), same, x))
		dynamic.Together(got[i][4], got[i][1])
	}
	for i := range rounds {
		if err := errors.Join(got[i][4].Evaluate(ctx), got[i][1].Evaluate(ctx)); err != nil {
			t.Fatal(err)
		}
	}
	between := 0
	for i := range rounds {
		for _, v := range []dynamic.Value{got[i][0], got[i][2], got[i][3]} {
			if !dynamic.Computed(v) {
				between++
			}
		}
		if d := cmp.Diff(texts(want[i]), texts(got[i])); d != "" {
			t.Fatalf("round %d (-single calls):\n%s", i, d)
		}
	}
	if graphs, frames := e.Joints(); graphs != 1 || frames < 1 || frames > 4 {
		t.Errorf("%d graphs with %d frames, want one graph with 1 to 4 frames", graphs, frames)
	}
	if between < 3 { // rounds that found no frame are computed call by call
		t.Errorf("%d values between were left out, want those of a round or more", between)
	}
}

// The error of a failed sample is the error of the single call, with its operator and place. Values
// that do not need the failed call are there.
func TestTogetherFails(t *testing.T) {
	ctx, e := deferredContext(t, 2)
	make := func(ctx context.Context) []dynamic.Value {
		x := fn.Add(ctx, dynamic.BatchOf([][]int32{{1, 2}, {3}, {4, 5}}), 1)
		second := dynamic.Index(ctx, x, 1) // sample 1 has one element
		return []dynamic.Value{fn.Mul(ctx, x, 2), fn.Mul(ctx, second, 2), second}
	}
	got := make(ctx)
	dynamic.Together(got...)
	if d := cmp.Diff(texts(make(dynamic.WithMode(ctx, dynamic.Sync))), texts(got)); d != "" {
		t.Errorf("(-single calls):\n%s", d)
	}
	if got[0].Err() != nil || got[1].Err() == nil || got[1].Err() != got[2].Err() {
		t.Errorf("errors %v, %v and %v, want one for the last two", got[0].Err(), got[1].Err(), got[2].Err())
	}
	if err := e.EvaluateAll(ctx); err == nil || err.Error() != got[2].Err().Error() {
		t.Errorf("EvaluateAll: %v, want %v", err, got[2].Err())
	}
}

// A value that another one needs in a way which makes no graph is computed before it. No goroutine
// waits for itself.
func TestTogetherThroughViews(t *testing.T) {
	make := func(ctx context.Context) []dynamic.Value {
		x := fn.Add(ctx, dynamic.BatchOf([][]int32{{1, 2}, {3}, {4, 5}}), 1)
		y := fn.Mul(ctx, x.Select(2, 0, 1), 2)
		one := fn.Add(ctx, x.At(1), 5)
		return []dynamic.Value{y, x, fn.Add(ctx, y, one), one}
	}
	for range 100 {
		ctx, e := deferredContext(t, 2)
		got := make(ctx)
		dynamic.Together(got...)
		if d := cmp.Diff(texts(make(dynamic.WithMode(ctx, dynamic.Sync))), texts(got)); d != "" {
			t.Fatalf("(-single calls):\n%s", d)
		}
		e.Close()
	}
}

// Long chains are cut into several graphs.
func TestTogetherLong(t *testing.T) {
	ctx, _ := deferredContext(t, 2)
	x := dynamic.BatchOf([][]int64{{1, 2}, {3}})
	const calls = 1000
	for range calls {
		x = fn.Add(ctx, x, 1)
	}
	dynamic.Together(x)
	samples, err := x.Samples(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int64{{calls + 1, calls + 2}, {calls + 3}} {
		if got, err := tensor.Of[int64](samples[i]); err != nil || !slices.Equal(got, want) {
			t.Errorf("sample %d: %v, %v, want %v", i, got, err, want)
		}
	}
}

// Values may be released, and the context closed, at any time.
func TestTogetherReleased(t *testing.T) {
	for round := range 50 {
		ctx, e := deferredContext(t, 2)
		values := drawing(ctx, random.New(3), dynamic.BatchOf([][]float32{{1, 2}, {3}}))
		dynamic.Together(values[4])
		if round%2 == 0 {
			values[4].Release()
		}
		if round%3 == 0 {
			e.Close()
		}
		for _, v := range values {
			v.Release()
		}
		for _, v := range drawing(ctx, random.New(3), dynamic.BatchOf([][]float32{{1, 2}, {3}})) {
			if err := v.Evaluate(ctx); err != nil && !errors.Is(err, errs.Closed) {
				t.Fatal(err)
			}
		}
		e.Close()
	}
}

// Calls that make no graph are computed in the background all the same: Tensors, batches of another
// size, and calls beyond the largest graph.
func TestTogetherAlone(t *testing.T) {
	ctx, e := deferredContext(t, 2)
	x := fn.Add(ctx, dynamic.TensorOf([]int32{1, 2}), 1)
	computed(t, x)
	if graphs, _ := e.Joints(); graphs != 0 {
		t.Errorf("%d graphs of a Tensor", graphs)
	}
	batch := dynamic.BatchOf([][]int32{{1}, {2}})
	values := []dynamic.Value{fn.Add(ctx, x, 2), fn.Add(ctx, batch, 1), fn.Add(ctx, dynamic.BatchOf([][]int32{{1}}), 1),
		fn.Add(dynamic.WithMode(ctx, dynamic.Eager), batch, 1), batch}
	for range 600 {
		values = append(values, fn.Add(ctx, batch, x))
	}
	computed(t, values...)
	if graphs, _ := e.Joints(); graphs != 1 {
		t.Errorf("%d graphs, want one", graphs)
	}
	dynamic.Together()
	dynamic.Together(values...)
}

// computed fails the test unless Together computes values that nobody asks for.
func computed(t *testing.T, values ...dynamic.Value) {
	t.Helper()
	dynamic.Together(values...)
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		i := slices.IndexFunc(values, func(v dynamic.Value) bool { return !dynamic.Computed(v) })
		if i < 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("value %d of %d is not computed", i, len(values))
		}
	}
}

// A deferred call whose values are released is never computed, and lets go of its inputs: the
// memory of the value before it is used again.
func TestReleasedDeferredCalls(t *testing.T) {
	ctx, _ := deferredContext(t, 1)
	sync := dynamic.WithMode(ctx, dynamic.Sync)
	zeros := dynamic.TensorOf(make([]int64, 1<<16))
	used := map[*byte]bool{}
	const rounds = 50
	for range rounds {
		x := fn.Add(sync, zeros, 1)
		samples, err := x.Tensor(ctx)
		if err != nil {
			t.Fatal(err)
		}
		used[&samples.Data[0]] = true
		y := fn.Mul(ctx, x, 2)
		z := fn.Add(ctx, y, y)
		x.Release()
		y.Release()
		if dynamic.Computed(y) {
			t.Fatal("a call that another call needs was dropped")
		}
		z.Release()
		if !dynamic.Computed(y) || !dynamic.Computed(z) {
			t.Fatal("a call whose values are released is left")
		}
		if err := z.Evaluate(ctx); !errors.Is(err, errs.Closed) {
			t.Fatal(err)
		}
	}
	if len(used) > rounds/2 && !loan.Debug {
		t.Errorf("%d pieces of memory for %d values, one at a time", len(used), rounds)
	}
}
