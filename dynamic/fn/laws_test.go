package fn_test

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Whatever an operator is called with, it returns the same result or the same kind of error in
// every mode and with any number of threads, and ends nothing but the call.
func TestAnyCall(t *testing.T) {
	one, three := dynamic.NewEvalContext(dynamic.Options{Workers: 1}), dynamic.NewEvalContext(dynamic.Options{Workers: 3})
	defer one.Close()
	defer three.Close()
	ways := []context.Context{
		dynamic.WithMode(dynamic.With(t.Context(), one), dynamic.Sync),
		dynamic.WithMode(dynamic.With(t.Context(), three), dynamic.Eager),
		dynamic.WithMode(dynamic.With(t.Context(), three), dynamic.Deferred),
	}
	for _, s := range op.Schemas() {
		if s.Reader || strings.HasPrefix(s.FullName(), "_") || s.Name == "dump_image" { // which writes files
			continue
		}
		t.Run(s.FullName(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				c := anyCall(t, s)
				var first []outcome
				for i, ctx := range ways {
					if s.Random {
						c.Draw = random.New(7)
					}
					got := outcomes(ctx, t, dynamic.Invoke(ctx, c))
					if i == 0 {
						first = got
					} else if !slices.EqualFunc(got, first, outcome.equal) {
						t.Fatalf("%v gives %v, sync mode %v", dynamic.ModeOf(ctx), got, first)
					}
				}
			})
		})
	}
}

// outcome is what came of an output.
type outcome struct {
	kind    errs.Kind // of the error, when there is one
	samples []tensor.Tensor
}

func (o outcome) equal(p outcome) bool {
	return o.kind == p.kind && slices.EqualFunc(o.samples, p.samples, func(a, b tensor.Tensor) bool { return a.Equal(b) && a.Layout == b.Layout })
}

func outcomes(ctx context.Context, t *rapid.T, values []dynamic.Value) (all []outcome) {
	for _, v := range values {
		if err := v.Evaluate(ctx); err != nil {
			var e *errs.Error
			if !errors.As(err, &e) {
				t.Fatalf("an error of no kind: %v", err)
			}
			all = append(all, outcome{kind: kindOf(err)})
			continue
		}
		switch v := v.(type) {
		case *dynamic.Tensor:
			one, _ := v.Tensor(ctx)
			all = append(all, outcome{samples: []tensor.Tensor{one}})
		case *dynamic.Batch:
			samples, _ := v.Samples(ctx)
			all = append(all, outcome{samples: samples})
		}
	}
	return all
}

// kindOf is the innermost kind in an error's chain.
func kindOf(err error) (k errs.Kind) {
	for err != nil {
		if e, ok := err.(*errs.Error); ok && e.Kind != 0 { //nolint:errorlint // each link is looked at
			k = e.Kind
		}
		err = errors.Unwrap(err)
	}
	return k
}

// anyCall is a call with inputs and arguments of which many fit.
func anyCall(t *rapid.T, s *op.Schema) dynamic.Call {
	size := rapid.IntRange(0, 3).Draw(t, "batch") // 0: Tensors
	c := dynamic.Call{Op: s.FullName(), Batch: size}
	inputs := rapid.IntRange(s.MinInputs(), max(s.MinInputs(), min(3, s.MaxInputs()))).Draw(t, "inputs")
	for i := range inputs {
		port := s.Input(i)
		layout := ""
		if len(port.Layouts) > 0 {
			layout = rapid.SampledFrom(port.Layouts).Draw(t, "layout")
		}
		dtypes := port.DTypes
		if len(dtypes) == 0 {
			dtypes = []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Float32, tensor.Float64, tensor.Bool}
		}
		c.Inputs = append(c.Inputs, anyValue(t, size, rapid.SampledFrom(dtypes).Draw(t, "dtype"), layout, false))
	}
	args := op.Args{}
	for i := range s.Params {
		p := &s.Params[i]
		if p.Name != "seed" && (p.Required || rapid.IntRange(0, 4).Draw(t, p.Name) == 0) {
			args[p.Name] = anyArgument(t, p, size)
		}
	}
	c.Args = args
	return c
}

// anyValue is a Batch, or a Tensor where size is 0, of any bits or of small numbers.
func anyValue(t *rapid.T, size int, d tensor.DType, layout string, small bool) dynamic.Value {
	ndim := len(layout)
	if layout == "" {
		ndim = rapid.IntRange(0, 3).Draw(t, "axes")
	}
	var samples []tensor.Tensor
	bits := rng.NewPhilox(rapid.Uint64().Draw(t, "bits"), 0, 0)
	for range max(1, size) {
		shape := make([]int, ndim)
		for i := range shape {
			shape[i] = rapid.IntRange(0, 4).Draw(t, "extent")
		}
		x := tensor.New(d, shape...)
		x.Layout = layout
		for i := range x.Data {
			x.Data[i] = byte(bits.Uint32())
			if d == tensor.Bool {
				x.Data[i] &= 1
			}
		}
		if small {
			fill(t, x)
		}
		samples = append(samples, x)
	}
	if size == 0 {
		return dynamic.TensorOf(samples[0])
	}
	return dynamic.BatchOf(samples)
}

// fill writes numbers from -2 to 5, float32 or int32.
func fill(t *rapid.T, x tensor.Tensor) {
	for i := range x.Len() {
		v := rapid.IntRange(-2, 5).Draw(t, "element")
		bits := uint32(int32(v))
		if x.DType == tensor.Float32 {
			bits = math.Float32bits(float32(v) / 2)
		}
		binary.LittleEndian.PutUint32(x.Data[4*i:], bits)
	}
}

// anyArgument is a value of the type of a parameter, for all samples or for each.
func anyArgument(t *rapid.T, p *op.Parameter, size int) any {
	if p.PerSample && rapid.IntRange(0, 2).Draw(t, "per sample") == 0 {
		return anyValue(t, size, rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Int32}).Draw(t, "dtype"), "", true)
	}
	integer, float := rapid.IntRange(-2, 5), rapid.SampledFrom([]float64{-1, 0, 0.25, 0.5, 1, 2, 7})
	switch p.Type {
	case op.Bool:
		return rapid.Bool().Draw(t, "bool")
	case op.Int:
		return integer.Draw(t, "int")
	case op.Float:
		return float.Draw(t, "float")
	case op.String:
		return rapid.SampledFrom([]string{"", "HWC", "xyXY", "constant", "x"}).Draw(t, "string")
	case op.Ints:
		return rapid.SliceOfN(integer, 0, 3).Draw(t, "ints")
	case op.Floats:
		return rapid.SliceOfN(float, 0, 4).Draw(t, "floats")
	case op.Strings:
		return []string{rapid.SampledFrom([]string{"", "HW", "a"}).Draw(t, "string")}
	case op.DType:
		return rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Float32, tensor.Int16, tensor.Bool, tensor.Float64}).Draw(t, "dtype")
	case op.Image:
		return op.ImageType(rapid.IntRange(0, 5).Draw(t, "image type"))
	case op.Interp:
		return op.InterpType(rapid.IntRange(0, 6).Draw(t, "filter"))
	case op.Bools:
		return rapid.SliceOfN(rapid.Bool(), 0, 3).Draw(t, "bools")
	case op.Features:
		return []op.Feature{op.VarLen("x", tensor.Int64, 0)}
	}
	return []tensor.DType{tensor.Uint8, tensor.Float32}
}
