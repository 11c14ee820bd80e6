package dynamic_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// What a typed function cannot give in its kind is a failed value that names the call.
func TestKinds(t *testing.T) {
	ctx := t.Context()
	one, two := dynamic.TensorOf([]uint8{1, 2}), dynamic.BatchOf([][]uint8{{1, 2}, {3, 4}})
	factors := op.Of[float64](dynamic.BatchOf([]float32{1, 2}))
	for name, v := range map[string]dynamic.Value{
		"a Batch as an argument of a Tensor":         fn.Brightness(ctx, one, fn.BrightnessArgs{Brightness: factors}),
		"a Batch as second input of a Tensor":        fn.CastLike(ctx, one, two, fn.CastLikeArgs{}),
		"a Batch of no size":                         fn.OnesBatch(ctx, 0, fn.OnesArgs{}),
		"a Batch of a size below 0":                  random.UniformBatch(ctx, random.New(1), -1, random.UniformArgs{}),
		"a Batch of a size that another input lacks": random.UniformBatch(ctx, random.New(1), 3, random.UniformArgs{}, two),
		"a seed":          random.Uniform(ctx, random.New(1), random.UniformArgs{Seed: op.Const(3)}),
		"several outputs": fn.ElementExtract(ctx, one, fn.ElementExtractArgs{ElementMap: []int{0, 1}})[1],
	} {
		err := v.Evaluate(ctx)
		if !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil || !strings.Contains(err.Error(), "call_test.go:") {
			t.Errorf("%s: %v does not name the call", name, err)
		}
	}
}

// Tensors that stand beside Batches serve all their samples.
func TestBroadcastOfFurtherInputs(t *testing.T) {
	ctx := t.Context()
	two := dynamic.BatchOf([][1][1][3]uint8{{{{1, 2, 3}}}, {{{3, 4, 5}}}}, dynamic.Form{Layout: "HWC"})
	out := fn.Brightness(ctx, two, fn.BrightnessArgs{Brightness: op.Of[float64](dynamic.TensorOf(2.0))})
	samples, err := out.Samples(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(samples) != 2 || samples[1].Data[1] != 8 {
		t.Errorf("%v", samples)
	}
	n, err := random.UniformBatch(ctx, random.New(1), 0, random.UniformArgs{}, two).Samples(ctx)
	if err != nil || len(n) != 2 {
		t.Errorf("%d numbers for a batch of 2, %v", len(n), err)
	}
}

// Sizes that nobody can mean are errors, before memory ends.
func TestSizesBeyondReason(t *testing.T) {
	ctx := t.Context()
	for name, v := range map[string]dynamic.Value{
		"a batch of 2^62":      random.UniformBatch(ctx, random.New(1), 1<<62, random.UniformArgs{}),
		"a batch of -3":        random.UniformBatch(ctx, random.New(1), -3, random.UniformArgs{}),
		"a broadcast to 2^40":  dynamic.Broadcast(dynamic.TensorOf(1), 1<<40),
		"a shape of 2^80":      random.Uniform(ctx, random.New(1), random.UniformArgs{Shape: op.Const([]int{1 << 40, 1 << 40})}),
		"a shape of 2^60":      fn.Ones(ctx, fn.OnesArgs{Shape: op.Const([]int{1 << 60})}),
		"a batch of 4 samples": fn.OnesBatch(ctx, 4, fn.OnesArgs{Shape: op.Const([]int{1 << 40})}),
	} {
		if err := v.Evaluate(ctx); !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Exhausted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
