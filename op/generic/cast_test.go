package generic

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/element"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func castTo[T tensor.Element](t *testing.T, in tensor.Tensor) []T {
	t.Helper()
	r, err := optest.Run(optest.Case{Op: "cast", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{"dtype": tensor.DTypeOf[T]()}})
	if err != nil || len(r.Errors) > 0 {
		t.Fatal(err, r.Errors)
	}
	out, err := tensor.Of[T](r.Outputs[0][0])
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func check[T any](t *testing.T, what string, got, want []T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestCast(t *testing.T) {
	inf := float32(math.Inf(1))
	floats := tensor.FromSlice([]float32{0.5, -0.5, 1.49, 2.5, -2.5, 300, -300, inf, -inf, float32(math.NaN()), 1e20})
	check(t, "float32 to uint8", castTo[uint8](t, floats), []uint8{1, 0, 1, 3, 0, 255, 0, 255, 0, 0, 255})
	check(t, "float32 to int8", castTo[int8](t, floats), []int8{1, -1, 1, 3, -3, 127, -128, 127, -128, 0, 127})
	check(t, "float32 to int64", castTo[int64](t, floats), []int64{1, -1, 1, 3, -3, 300, -300, math.MaxInt64, math.MinInt64, math.MinInt64, math.MaxInt64})
	check(t, "float32 to uint64", castTo[uint64](t, floats), []uint64{1, 0, 1, 3, 0, 300, 0, math.MaxUint64, 0, 1 << 63, math.MaxUint64})
	ints := tensor.FromSlice([]int64{math.MinInt64, -129, -1, 0, 200, 70000, math.MaxInt64})
	check(t, "int64 to int8", castTo[int8](t, ints), []int8{-128, -128, -1, 0, 127, 127, 127})
	check(t, "int64 to uint16", castTo[uint16](t, ints), []uint16{0, 0, 0, 0, 200, 65535, 65535})
	check(t, "int64 to uint64", castTo[uint64](t, ints), []uint64{0, 0, 0, 0, 200, 70000, math.MaxInt64})
	check(t, "uint64 to int32", castTo[int32](t, tensor.FromSlice([]uint64{5, math.MaxUint64})), []int32{5, math.MaxInt32})
	check(t, "uint8 to float32", castTo[float32](t, tensor.FromSlice([]uint8{0, 255})), []float32{0, 255})
	check(t, "float64 to float32", castTo[float32](t, tensor.FromSlice([]float64{0.1})), []float32{0.1})
	check(t, "the same type", castTo[int16](t, tensor.FromSlice([]int16{7})), []int16{7})
}

// TestCastAll converts a value that every type holds between all pairs.
func TestCastAll(t *testing.T) {
	one := tensor.FromSlice([]uint8{1})
	for _, from := range element.Types() {
		in := one
		if from != tensor.Uint8 {
			r, err := optest.Run(optest.Case{Op: "cast", Inputs: [][]tensor.Tensor{{one}}, Args: op.Args{"dtype": from}})
			if err != nil {
				t.Fatal(err)
			}
			in = r.Outputs[0][0]
		}
		for _, to := range element.Types() {
			r, err := optest.Run(optest.Case{Op: "cast", Inputs: [][]tensor.Tensor{{in}}, Args: op.Args{"dtype": to}})
			if err != nil || len(r.Errors) > 0 {
				t.Fatalf("%s to %s: %v %v", from, to, err, r.Errors)
			}
			if back := castTo[uint8](t, r.Outputs[0][0]); back[0] != 1 {
				t.Errorf("%s to %s: 1 became %d", from, to, back[0])
			}
		}
	}
}

func TestRefused(t *testing.T) {
	in := tensor.FromSlice([]uint8{1})
	for _, args := range []op.Args{{}, {"dtype": tensor.Complex64}, {"dtype": "float32"}} {
		_, err := optest.Run(optest.Case{Op: "cast", Inputs: [][]tensor.Tensor{{in}}, Args: args})
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Unsupported) {
			t.Errorf("%v: got %v", args, err)
		}
	}
}
