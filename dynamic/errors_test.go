package dynamic_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "panic", Module: []string{"test"}, Inputs: []op.Port{{Name: "in"}}, Outputs: []op.Port{{Name: "out"}},
		New: func(*op.Config) (op.Kernel, error) { return panicKernel{}, nil },
	})
}

type panicKernel struct{}

func (panicKernel) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (panicKernel) Run(*op.Block) error                           { panic("out of order") }

// TestMistakes makes calls that go wrong. Each error is of the kind that is named, says what is
// wrong, and where the call is: in its function, of a line or two.
func TestMistakes(t *testing.T) {
	type tensors = []dynamic.Value
	invoke := dynamic.Invoke1[*dynamic.Tensor]
	x, b := dynamic.TensorOf([]int32{1, 0}), dynamic.BatchOf([][]int32{{1, 2, 3}, {4, 5}, {6}})
	images := dynamic.BatchOf([][]byte{[]byte("no image"), {}})
	everyMode := []struct {
		call func(ctx context.Context) dynamic.Value
		kind errs.Kind
		says []string
		soon bool // is known at the call in all modes
	}{
		// What operators refuse.
		{func(ctx context.Context) dynamic.Value { return fn.FloorDiv(ctx, x, x) }, errs.Invalid, []string{"_arithmetic_generic_op", "sample 0"}, false},
		{func(ctx context.Context) dynamic.Value { return dynamic.Index(ctx, b, 1) }, errs.Invalid, []string{"sample 2", "want", "got"}, false},
		{func(ctx context.Context) dynamic.Value { return dynamic.Index(ctx, x, 0, 0) }, errs.Mismatch, []string{"want", "got"}, false},
		{func(ctx context.Context) dynamic.Value { return fn.And(ctx, dynamic.TensorOf(1.5), 1) }, errs.Invalid, []string{"float32"}, false},
		{func(ctx context.Context) dynamic.Value { return fn.DecodersImage(ctx, images, fn.DecodersImageArgs{}) }, errs.Corrupt, []string{"decoders.image", "sample 0"}, false},
		{func(ctx context.Context) dynamic.Value { return fn.Resize(ctx, x, fn.ResizeArgs{})[0] }, errs.Invalid, []string{"resize", "want"}, false},
		{func(ctx context.Context) dynamic.Value { return fn.Pad(ctx, b, fn.PadArgs{Axes: op.Const([]int{3})}) }, errs.Invalid, []string{"pad", "axes"}, false},
		{func(ctx context.Context) dynamic.Value { return fn.Cast(ctx, x, fn.CastArgs{}) }, errs.Invalid, []string{"cast", "dtype"}, false},
		{func(ctx context.Context) dynamic.Value {
			return fn.Pad(ctx, x, fn.PadArgs{FillValue: op.Of[float64](x), Shape: op.Const([]int{5})})
		}, errs.Mismatch, []string{"pad", "fill_value", "1 number"}, false},
		{func(ctx context.Context) dynamic.Value {
			return fn.Pad(ctx, x, fn.PadArgs{Shape: op.Of[[]int](dynamic.TensorOf(1.5))})
		}, errs.Invalid, []string{"shape", "float32 per sample", "cast it"}, false},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "test.panic", Inputs: tensors{x}})
		}, errs.Other, []string{"panicked: out of order", "errors_test.go"}, false},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pad", Inputs: tensors{x, x, x}})
		}, errs.Invalid, []string{"pad", "1 inputs"}, false},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pad", Args: op.Args{"fil_value": 3}, Inputs: tensors{x}})
		}, errs.Invalid, []string{"fil_value", `did you mean "fill_value"?`}, false},
		// What a call is refused for.
		{func(ctx context.Context) dynamic.Value { return fn.Add(ctx, b, dynamic.BatchOf([]int{1})) }, errs.Invalid, []string{"input 1", "a batch of 3 samples, like input 0", "got 1"}, true},
		{func(ctx context.Context) dynamic.Value {
			return fn.Pad(ctx, b, fn.PadArgs{FillValue: op.Of[float64](images)})
		}, errs.Invalid, []string{"an argument", "3 samples"}, true},
		{func(ctx context.Context) dynamic.Value { return fn.Add(ctx, x, b) }, errs.Invalid, []string{"a Batch"}, true},
		{func(ctx context.Context) dynamic.Value { return fn.Add(ctx, x, "3") }, errs.Invalid, []string{"operand", "string"}, true},
		{func(ctx context.Context) dynamic.Value { return dynamic.Apply[*dynamic.Tensor](ctx, "addd", x, 1) }, errs.Invalid, []string{"addd"}, true},
		{func(ctx context.Context) dynamic.Value { return dynamic.Index(ctx, x, 1.5) }, errs.Invalid, []string{"index 0", "float64"}, true},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pads", Inputs: tensors{x}})
		}, errs.NotFound, []string{"pads", "did you mean"}, true},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pad", Inputs: tensors{nil, x}})
		}, errs.Invalid, []string{"input 0", "nil"}, true},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pad", Args: 3, Inputs: tensors{x}})
		}, errs.Invalid, []string{"arguments", "int"}, true},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "pad", Args: struct{ F func() }{}, Inputs: tensors{x}})
		}, errs.Invalid, []string{"arguments", "func()"}, true},
		{func(ctx context.Context) dynamic.Value { return invoke(ctx, dynamic.Call{Op: "random.uniform"}) }, errs.Invalid, []string{"generator"}, true},
		{func(ctx context.Context) dynamic.Value { return invoke(ctx, dynamic.Call{Op: "readers.file"}) }, errs.Unsupported, []string{"dynamic/readers"}, true},
		{func(ctx context.Context) dynamic.Value {
			return invoke(ctx, dynamic.Call{Op: "_conditional.split", Inputs: tensors{x}})
		}, errs.Unsupported, []string{"if"}, true},
		{func(ctx context.Context) dynamic.Value {
			return random.Uniform(ctx, nil, opargs.RandomUniform{Seed: op.Const(3)})
		}, errs.Invalid, []string{"seed"}, false},
	}
	every(t, func(t *testing.T, ctx context.Context) {
		for i, c := range everyMode {
			v := c.call(ctx)
			soon := c.soon || dynamic.ModeOf(ctx) == dynamic.Sync
			if (v.Err() != nil) != soon {
				t.Errorf("%d: error at the call: %v", i, v.Err())
			}
			err := v.Evaluate(ctx)
			if err == nil || errs.KindOf(err) != c.kind || c.kind != errs.Other && !errors.Is(err, c.kind) {
				t.Errorf("%d: %v, want %v", i, err, c.kind)
				continue
			}
			file, line := runtime.FuncForPC(reflect.ValueOf(c.call).Pointer()).FileLine(reflect.ValueOf(c.call).Pointer())
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%d: %v\nwant %s", i, err, want)
				}
			}
			at := func(line int) string { return fmt.Sprintf("dynamic: call at %s:%d: ", file, line) }
			if !strings.HasPrefix(err.Error(), at(line)) && !strings.HasPrefix(err.Error(), at(line+1)) {
				t.Errorf("%d: %v\nwant %s", i, err, at(line))
			}
			if v.Err() != err || v.Evaluate(ctx) != err {
				t.Errorf("%d: the error changes", i)
			}
		}
	})
}

// A call that is refused knows nothing of the one before it.
func TestRefusedAfterBatch(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		for range 3 {
			if err := fn.Add(ctx, dynamic.BatchOf([]int{1, 2}), 1).Evaluate(ctx); err != nil {
				t.Fatal(err)
			}
			if v, ok := dynamic.Invoke(ctx, dynamic.Call{Op: "no such operator"})[0].(*dynamic.Tensor); !ok ||
				!errors.Is(v.Err(), errs.NotFound) {
				t.Errorf("%v", v)
			}
		}
	})
}

// A value has the error of the value that it was computed from, with the first call.
func TestErrorsStay(t *testing.T) {
	every(t, func(t *testing.T, ctx context.Context) {
		bad := dynamic.Index(ctx, dynamic.BatchOf([][]int32{{1}, {2, 3}}), 1)
		sum := fn.Add(ctx, fn.Mul(ctx, bad, 2), dynamic.Index(ctx, dynamic.TensorOf([]int{1}), 7))
		want := bad.Evaluate(ctx)
		for name, v := range map[string]dynamic.Value{"sum": sum, "sample": sum.At(1), "choice": bad.Select(0), "broadcast": dynamic.Broadcast(bad.At(0), 2)} {
			if err := v.Evaluate(ctx); err != want || v.Err() != want || want == nil {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
		if sum.DType() != tensor.Invalid || sum.NDim() != 0 || sum.Shapes() != nil || sum.NBytes() != 0 ||
			sum.Layout() != "" || sum.Len() != 2 {
			t.Errorf("what failed is described: %v", sum)
		}
	})
}
