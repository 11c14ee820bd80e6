package dynamic_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// instruction is one line of a random body: an operator on values of lines before.
type instruction struct {
	kind    int
	x, y    int // lines
	rng     int
	batched bool
}

// drawBody returns the body of random instructions that draws from two generators.
func drawBody(t *rapid.T, size int) func(rngs [2]*random.RNG, constant dynamic.Value) dynamic.Body {
	lines := make([]instruction, rapid.IntRange(1, 12).Draw(t, "lines"))
	for i := range lines {
		lines[i] = instruction{rapid.IntRange(0, 6).Draw(t, "kind"), rapid.IntRange(0, 99).Draw(t, "x"),
			rapid.IntRange(0, 99).Draw(t, "y"), rapid.IntRange(0, 1).Draw(t, "rng"), rapid.Bool().Draw(t, "batched")}
	}
	return func(rngs [2]*random.RNG, constant dynamic.Value) dynamic.Body {
		return func(ctx context.Context, in []dynamic.Value) []dynamic.Value {
			values := append([]dynamic.Value{constant}, in...)
			for _, l := range lines {
				values = append(values, l.call(ctx, rngs[l.rng], size, values))
			}
			return values[len(values)-min(3, len(lines)):]
		}
	}
}

// call makes the value of a line.
func (l instruction) call(ctx context.Context, g *random.RNG, size int, values []dynamic.Value) dynamic.Value {
	x, y := values[l.x%len(values)], values[l.y%len(values)]
	switch l.kind {
	case 0:
		if l.batched {
			return random.UniformBatch(ctx, g, size, random.UniformArgs{Range: op.Const([]float64{-2, 3})})
		}
		return random.Uniform(ctx, g, random.UniformArgs{})
	case 1:
		if l.batched {
			return random.NormalBatch(ctx, g, size, random.NormalArgs{})
		}
		return random.Normal(ctx, g, random.NormalArgs{})
	case 2, 3:
		function := []string{"add", "mul"}[l.kind-2]
		if isBatch(x) || isBatch(y) {
			return dynamic.Apply[*dynamic.Batch](ctx, function, x, y)
		}
		return dynamic.Apply[*dynamic.Tensor](ctx, function, x, y)
	case 4: // an argument that differs by sample
		if b, ok := x.(*dynamic.Batch); ok {
			return random.NormalBatch(ctx, g, 0, random.NormalArgs{Mean: op.Of[float64](b)})
		}
		return random.Normal(ctx, g, random.NormalArgs{Mean: op.Of[float64](x)})
	case 5:
		if b, ok := x.(*dynamic.Batch); ok {
			return fn.Cast(ctx, b, fn.CastArgs{DType: tensor.Float32})
		}
		return fn.Mul(ctx, x.(*dynamic.Tensor), 0.5)
	}
	return x
}

func isBatch(v dynamic.Value) bool { _, ok := v.(*dynamic.Batch); return ok }

// Whatever a body does, its loop gives what calling it gives, in all modes, at any depth, and
// goes on from any step as calls do, and calls as it does.
func TestCompiledLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		size := rapid.IntRange(1, 5).Draw(t, "size")
		body := drawBody(t, size)
		seed := rapid.Uint64().Draw(t, "seed")
		constant := dynamic.Value(dynamic.TensorOf(float32(3)))
		if rapid.Bool().Draw(t, "constant batch") {
			constant = dynamic.BatchOf(make([]float32, size))
		}
		mode := rapid.SampledFrom([]dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync}).Draw(t, "mode")
		called := [2]*random.RNG{random.New(seed), random.New(seed + 1)}
		looped := [2]*random.RNG{called[0].Clone(), called[1].Clone()}
		depth := rapid.IntRange(-1, 4).Draw(t, "depth")
		compile := func() (*dynamic.Loop, error) {
			return dynamic.Compile(ctx, nil, body(looped, constant), dynamic.LoopOptions{Prefetch: depth, Workers: 2})
		}
		loop, err := compile()
		if err != nil && strings.Contains(err.Error(), "outputs") {
			t.Skip("the body returns nothing that it computes")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { loop.Close() }() //nolint:errcheck // never fails
		for step := range rapid.IntRange(1, 6).Draw(t, "steps") {
			got, err := loop.Next(ctx)
			if err != nil {
				t.Fatal(err)
			}
			want := body(called, constant)(dynamic.WithMode(ctx, mode), nil)
			for i := range want {
				if d := cmp.Diff(contents(want[i]), contents(got[i])); d != "" || isBatch(got[i]) != isBatch(want[i]) {
					t.Fatalf("step %d, output %d: %s", step, i, d)
				}
			}
			for i := range called {
				if called[i].State() != looped[i].State() {
					t.Fatalf("step %d: generator %d stands at %v, want %v", step, i, looped[i].State(), called[i].State())
				}
			}
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0: // another loop goes on from the state
				loop.Close() //nolint:errcheck // never fails
				if loop, err = compile(); err != nil {
					t.Fatal(err)
				}
			case 1: // somebody goes elsewhere
				n := rapid.Uint64Range(0, 99).Draw(t, "words")
				called[0].Advance(n)
				looped[0].Advance(n)
			}
		}
	})
}

// contents are the samples of a value, or its error, to compare.
func contents(v dynamic.Value) any {
	ctx := context.Background()
	if b, ok := v.(*dynamic.Batch); ok {
		samples, err := b.Samples(ctx)
		if err != nil {
			return fmt.Sprint(err)
		}
		return samples
	}
	s, err := v.(*dynamic.Tensor).Tensor(ctx)
	if err != nil {
		return fmt.Sprint(err)
	}
	return s
}
