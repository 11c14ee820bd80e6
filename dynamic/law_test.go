package dynamic_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A call on batches gives for each sample what the same call on that sample alone gives, where
// inputs and arguments are batches and Tensors, which serve all samples, in any mixture.
func TestBatchIsItsSamples(t *testing.T) {
	ctx := scoped(t, dynamic.Eager)
	invoke := func(name string, args any, inputs ...dynamic.Value) dynamic.Value {
		return dynamic.Invoke(ctx, dynamic.Call{Op: name, Args: args, Inputs: inputs})[0]
	}
	calls := []func(x, y dynamic.Value) dynamic.Value{
		func(x, y dynamic.Value) dynamic.Value {
			return invoke("pad", opargs.Pad{FillValue: op.Of[float64](y), Shape: op.Const([]int{9})}, x)
		},
		func(x, y dynamic.Value) dynamic.Value {
			return invoke("pad", op.Args{"fill_value": y, "shape": []int{9}}, x)
		},
		func(x, y dynamic.Value) dynamic.Value { return invoke("cat", nil, x, x) },
		func(x, y dynamic.Value) dynamic.Value {
			return invoke("slice", opargs.Slice{Start: op.Of[[]int](y), Axes: op.Const([]int{0})}, x)
		},
		func(x, y dynamic.Value) dynamic.Value {
			return invoke("_tensor_subscript", op.Args{"at_0": y, "num_subscripts": 1}, x)
		},
		func(x, y dynamic.Value) dynamic.Value {
			return invoke("reductions.sum", opargs.ReductionsSum{DType: tensor.Int64}, x)
		},
	}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 9).Draw(r, "samples")
		// given returns a Tensor or a Batch, and what it is for sample i.
		given := func(name string, one func() tensor.Tensor) (dynamic.Value, func(i int) dynamic.Value) {
			if rapid.Bool().Draw(r, name+" is a Tensor") {
				x := dynamic.TensorOf(one())
				return x, func(int) dynamic.Value { return x }
			}
			samples := make([]tensor.Tensor, n)
			for i := range samples {
				samples[i] = one()
			}
			return dynamic.BatchOf(samples), func(i int) dynamic.Value { return dynamic.TensorOf(samples[i]) }
		}
		x, xAt := given("x", func() tensor.Tensor {
			return tensor.FromSlice(rapid.SliceOfN(rapid.Int32Range(-9, 9), 4, 7).Draw(r, "elements"))
		})
		y, yAt := given("y", func() tensor.Tensor { return tensor.ScalarOf(rapid.Int32Range(0, 4).Draw(r, "number")) })
		call := rapid.SampledFrom(calls).Draw(r, "call")
		b, ok := call(x, y).(*dynamic.Batch)
		if !ok { // both, or what the call takes of them, are Tensors
			return
		}
		failed := b.Evaluate(ctx) == nil
		for i, got := range b.Tensors() {
			want := call(xAt(i), yAt(i)).(*dynamic.Tensor)
			g, err := got.Tensor(ctx)
			w, err2 := want.Tensor(ctx)
			if b.Evaluate(context.Background()) != nil { // one sample fails all
				failed = failed || err2 != nil
				continue
			}
			if err != nil || err2 != nil || !g.Equal(w) {
				r.Fatalf("sample %d: %v %x, %v; alone %v %x, %v", i, g, g.Data, err, w, w.Data, err2)
			}
		}
		if !failed {
			r.Fatalf("%v, and no sample fails alone", b.Err())
		}
	})
}
