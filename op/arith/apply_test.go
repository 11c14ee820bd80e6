package arith

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

type node struct{ name string }

func (node) OpValue() {}

func TestApply(t *testing.T) {
	a, b := node{"a"}, node{"b"}
	for _, c := range []struct {
		function string
		operands []any
		args     Args
		inputs   []op.Value
	}{
		{"add", []any{a, b}, Args{Expression: "add(&0 &1)"}, []op.Value{a, b}},
		{"sub", []any{2, a}, Args{Expression: "sub($0:int32 &0)", Integers: []int{2}}, []op.Value{a}},
		{"clamp", []any{a, true, 1.5}, Args{Expression: "clamp(&0 $0:bool $0:float32)",
			Integers: []int{1}, Reals: []float64{1.5}}, []op.Value{a}},
		{"mul", []any{a, Constant{255, tensor.Uint8}}, Args{Expression: "mul(&0 $0:uint8)", Integers: []int{255}}, []op.Value{a}},
		{"mul", []any{a, Constant{3, tensor.Float64}}, Args{Expression: "mul(&0 $0:float64)", Reals: []float64{3}}, []op.Value{a}},
		{"minus", []any{a}, Args{Expression: "minus(&0)"}, []op.Value{a}},
	} {
		args, inputs, err := Apply(c.function, c.operands...)
		if err != nil || cmp.Diff(c.args, args) != "" || cmp.Diff(c.inputs, inputs, cmp.AllowUnexported(node{})) != "" {
			t.Errorf("%s%v: %v %v %v", c.function, c.operands, args, inputs, err)
		}
	}
	for _, c := range []struct {
		function string
		operands []any
		kind     errs.Kind
	}{
		{"addd", []any{a, b}, errs.Invalid},
		{"add", []any{a}, errs.Invalid},
		{"add", []any{1, 2}, errs.Invalid},
		{"add", []any{a, "2"}, errs.Invalid},
		{"add", []any{a, 1 << 40}, errs.Invalid},
		{"add", []any{a, Constant{256, tensor.Uint8}}, errs.Invalid},
		{"add", []any{a, Constant{-1, tensor.Uint64}}, errs.Invalid},
		{"add", []any{a, Constant{1.5, tensor.Int32}}, errs.Invalid},
		{"add", []any{a, Constant{1.5, tensor.Float16}}, errs.Unsupported},
		{"add", []any{a, Constant{2, tensor.Bool}}, errs.Invalid},
	} {
		if _, _, err := Apply(c.function, c.operands...); !errors.Is(err, c.kind) {
			t.Errorf("%s%v: %v", c.function, c.operands, err)
		}
	}
}

func TestResultType(t *testing.T) {
	for _, c := range []struct {
		function string
		operands []tensor.DType
		want     tensor.DType // Invalid: an error
	}{
		{"add", []tensor.DType{tensor.Uint8, tensor.Int8}, tensor.Int16},
		{"add", []tensor.DType{tensor.Uint16, tensor.Int8}, tensor.Int32},
		{"add", []tensor.DType{tensor.Uint32, tensor.Int32}, tensor.Int64},
		{"add", []tensor.DType{tensor.Int8, tensor.Uint64}, tensor.Int64},
		{"add", []tensor.DType{tensor.Int32, tensor.Uint8}, tensor.Int32},
		{"add", []tensor.DType{tensor.Uint64, tensor.Float32}, tensor.Float32},
		{"add", []tensor.DType{tensor.Float64, tensor.Float32}, tensor.Float64},
		{"add", []tensor.DType{tensor.Bool, tensor.Uint8}, tensor.Uint8},
		{"add", []tensor.DType{tensor.Bool, tensor.Bool}, tensor.Invalid},
		{"add", []tensor.DType{tensor.Float16, tensor.Float32}, tensor.Invalid},
		{"mul", []tensor.DType{tensor.Bool, tensor.Bool}, tensor.Bool},
		{"fdiv", []tensor.DType{tensor.Int64, tensor.Int8}, tensor.Float32},
		{"fdiv", []tensor.DType{tensor.Int64, tensor.Float64}, tensor.Float64},
		{"lt", []tensor.DType{tensor.Bool, tensor.Bool}, tensor.Bool},
		{"bitand", []tensor.DType{tensor.Bool, tensor.Int16}, tensor.Int16},
		{"bitand", []tensor.DType{tensor.Float32, tensor.Int16}, tensor.Invalid},
		{"floor", []tensor.DType{tensor.Int16}, tensor.Float32},
		{"abs", []tensor.DType{tensor.Int16}, tensor.Int16},
		{"abs", []tensor.DType{tensor.Bool}, tensor.Invalid},
		{"bitnot", []tensor.DType{tensor.Bool}, tensor.Bool},
		{"clamp", []tensor.DType{tensor.Uint8, tensor.Int8, tensor.Float32}, tensor.Float32},
		{"clamp", []tensor.DType{tensor.Uint8, tensor.Int8}, tensor.Invalid},
		{"frob", []tensor.DType{tensor.Uint8}, tensor.Invalid},
	} {
		got, err := ResultType(c.function, c.operands...)
		if (err != nil) != (c.want == tensor.Invalid) || err == nil && got != c.want {
			t.Errorf("%s%v: %v, %v", c.function, c.operands, got, err)
		}
	}
}

// What DALI 2.4.0 gave.
func TestRsqrtOfSingles(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for _, c := range []struct{ x, want float32 }{{4, 0.5}, {1, 1}, {0, nan}, {float32(math.Copysign(0, -1)), nan}, {-1, nan}, {inf, nan}, {1e-40, -inf}} {
		if got := rsqrt32(c.x); got != c.want && !(got != got && c.want != c.want) {
			t.Errorf("rsqrt(%g): got %g, want %g", c.x, got, c.want)
		}
	}
}
