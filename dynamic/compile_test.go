package dynamic_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op/arith"
	_ "github.com/bivouac-ml/bivouac/op/arith"
	_ "github.com/bivouac-ml/bivouac/op/random"
	"github.com/bivouac-ml/bivouac/tensor"
)

// uniform calls random.uniform for a batch of n, or for a tensor.
func uniform(ctx context.Context, g dynamic.Draw, n int) dynamic.Value {
	return dynamic.Invoke(ctx, dynamic.Call{Op: "random.uniform", Draw: g, Batch: n})[0]
}

func add(ctx context.Context, x, y dynamic.Value) dynamic.Value {
	args, inputs, err := arith.Apply("add", x, y)
	if err != nil {
		panic(err)
	}
	return dynamic.Invoke(ctx, dynamic.Call{Op: arith.Name, Args: args, Inputs: []dynamic.Value{inputs[0].(dynamic.Value), inputs[1].(dynamic.Value)}})[0]
}

func samples(t *testing.T, v dynamic.Value) (list []tensor.Tensor) {
	t.Helper()
	var err error
	switch v := v.(type) {
	case *dynamic.Batch:
		list, err = v.Samples(context.Background())
	case *dynamic.Tensor:
		list = make([]tensor.Tensor, 1)
		list[0], err = v.Tensor(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A loop gives what its body gives when it is called in every step, and leaves generators
// where that leaves them.
func TestLoopEqualsCalls(t *testing.T) {
	ctx := context.Background()
	body := func(g, h *random.RNG) dynamic.Body {
		return func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			x, y, one := uniform(ctx, g, 5), uniform(ctx, h, 5), uniform(ctx, g, 0)
			return []dynamic.Value{add(ctx, add(ctx, x, y), one), one, y, y}
		}
	}
	for _, depth := range []int{dynamic.NoPrefetch, 0, 1, 7} {
		g, h := random.New(1), random.New(2)
		eg, eh := g.Clone(), h.Clone()
		loop, err := dynamic.Compile(ctx, nil, body(g, h), dynamic.LoopOptions{Prefetch: depth})
		if err != nil {
			t.Fatal(err)
		}
		eager := body(eg, eh)
		for step := range 9 {
			got, err := loop.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := eager(ctx, nil)
			for i := range want {
				if d := cmp.Diff(samples(t, want[i]), samples(t, got[i])); d != "" {
					t.Fatalf("depth %d, step %d, output %d: %s", depth, step, i, d)
				}
			}
			if g.State() != eg.State() || h.State() != eh.State() {
				t.Fatalf("depth %d, step %d: generators at %v and %v, want %v and %v", depth, step, g.State(), h.State(),
					eg.State(), eh.State())
			}
			if step == 4 { // somebody draws in between
				g.Advance(3)
				eg.Advance(3)
			}
		}
		ahead := map[int]int64{dynamic.NoPrefetch: 0, 0: 2, 1: 1, 7: 7}[depth]
		if s := loop.Statistics(); s.Steps != 9 || s.Queue != ahead || s.Depth != ahead {
			t.Errorf("depth %d: %+v", depth, s)
		}
		if err := loop.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
