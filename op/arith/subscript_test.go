package arith_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// counted returns a tensor whose elements are their own numbers.
func counted(layout string, shape ...int) tensor.Tensor {
	values := make([]int32, tensor.Shape(shape).Len())
	for i := range values {
		values[i] = int32(i)
	}
	x := tensor.FromSlice(values)
	x.Shape, x.Layout = shape, layout
	return x
}

func part(x tensor.Tensor, args op.Args) (tensor.Tensor, error) {
	r, err := optest.Run(optest.Case{Op: "_tensor_subscript", Args: args, Inputs: [][]tensor.Tensor{{x}}})
	if err != nil {
		return tensor.Tensor{}, err
	}
	return r.Outputs[0][0], r.Errors[0]
}

func TestSubscript(t *testing.T) {
	scalar := func(v int64) optest.Samples { return optest.Samples{tensor.ScalarOf(v)} }
	cube := counted("HWC", 2, 3, 2)
	for _, c := range []struct {
		in     tensor.Tensor
		args   op.Args
		shape  tensor.Shape
		layout string
		want   []int32
	}{
		{cube, op.Args{"at_0": 1}, tensor.Shape{3, 2}, "WC", []int32{6, 7, 8, 9, 10, 11}},
		{cube, op.Args{"at_0": -2, "at_2": 1}, tensor.Shape{3}, "W", []int32{1, 3, 5}},
		{cube, op.Args{"lo_1": 1, "hi_1": 10}, tensor.Shape{2, 2, 2}, "HWC", []int32{2, 3, 4, 5, 8, 9, 10, 11}},
		{cube, op.Args{"step_1": -2, "at_0": 0}, tensor.Shape{2, 2}, "WC", []int32{4, 5, 0, 1}},
		{cube, op.Args{"at_0": 1, "at_1": 2, "at_2": 0}, tensor.Shape{}, "", []int32{10}},
		{cube, op.Args{"at_0": scalar(1), "lo_1": scalar(-1)}, tensor.Shape{1, 2}, "WC", []int32{10, 11}},
		{counted("", 3), op.Args{"lo_0": 2, "hi_0": 0, "step_0": -1}, tensor.Shape{2}, "", []int32{2, 1}},
		{counted("", 3), op.Args{"hi_0": -10, "step_0": -2}, tensor.Shape{2}, "", []int32{2, 0}},
		{counted("", 3), op.Args{"lo_0": 5}, tensor.Shape{0}, "", []int32{}},
		{counted("", 3), op.Args{"num_subscripts": 1}, tensor.Shape{3}, "", []int32{0, 1, 2}},
		{counted("", 0), op.Args{"step_0": -1}, tensor.Shape{0}, "", []int32{}},
	} {
		got, err := part(c.in, c.args)
		if err != nil {
			t.Errorf("%v: %v", c.args, err)
			continue
		}
		values, err := tensor.Of[int32](got)
		if d := cmp.Diff(c.want, values); d != "" || err != nil || !got.Shape.Equal(c.shape) || got.Layout != c.layout {
			t.Errorf("%v: %v %q %v\n%s", c.args, got, got.Layout, err, d)
		}
	}
	for _, c := range []struct {
		in   tensor.Tensor
		args op.Args
		kind errs.Kind
	}{
		{cube, op.Args{"at_0": 2}, errs.Invalid},
		{cube, op.Args{"at_0": -3}, errs.Invalid},
		{cube, op.Args{"at_3": 0}, errs.Mismatch},
		{cube, op.Args{"num_subscripts": 4}, errs.Mismatch},
		{cube, op.Args{"at_0": 0, "lo_0": 1}, errs.Invalid},
		{cube, op.Args{"step_0": 0}, errs.Invalid},
		{cube, op.Args{"step_0": scalar(0)}, errs.Invalid},
		{cube, op.Args{"at_0": optest.Samples{tensor.FromSlice([]int32{1})}}, errs.Mismatch},
		{cube, op.Args{"at_0": optest.Samples{tensor.ScalarOf[float32](1)}}, errs.Invalid},
		{counted(""), op.Args{"at_0": 0}, errs.Mismatch},
		{cube, op.Args{"num_subscripts": -1}, errs.Invalid},
	} {
		if _, err := part(c.in, c.args); !errors.Is(err, c.kind) {
			t.Errorf("%v: %v", c.args, err)
		}
	}
}

// indices returns the indices of a slice in Python, from its definition.
func indices(lo, hi, step *int, n int) []int {
	var out []int
	by := 1
	if step != nil {
		by = *step
	}
	fix := func(v *int, def int) int {
		if v == nil {
			return def
		}
		x := *v
		if x < 0 {
			x += n
		}
		if by > 0 {
			return min(max(x, 0), n)
		}
		return min(max(x, -1), n-1)
	}
	if by > 0 {
		for i := fix(lo, 0); i < fix(hi, n); i += by {
			out = append(out, i)
		}
		return out
	}
	for i := fix(lo, n-1); i > fix(hi, -1); i += by {
		out = append(out, i)
	}
	return out
}

func TestSubscriptLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 4).Draw(t, "shape")
		args, kept := op.Args{}, make([][]int, len(shape))
		var want tensor.Shape
		for axis, n := range shape {
			draw := func(name string, g *rapid.Generator[int]) *int {
				if rapid.Bool().Draw(t, "no "+name) {
					return nil
				}
				v := g.Draw(t, name)
				args[fmt.Sprintf("%s_%d", name, axis)] = v
				return &v
			}
			if n > 0 && rapid.Bool().Draw(t, "index") {
				if at := draw("at", rapid.IntRange(-n, n-1)); at != nil {
					kept[axis] = []int{(*at + n) % n}
					continue
				}
			}
			step := draw("step", rapid.SampledFrom([]int{-3, -2, -1, 1, 2, 3}))
			kept[axis] = indices(draw("lo", rapid.IntRange(-7, 7)), draw("hi", rapid.IntRange(-7, 7)), step, n)
			want = append(want, len(kept[axis]))
		}
		in := counted("", shape...)
		got, err := part(in, args)
		if err != nil || !got.Shape.Equal(want) {
			t.Fatalf("%v of %v: %v %v, want %v", args, shape, got, err, want)
		}
		values, err := tensor.Of[int32](got)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range values {
			from, rest, stride := 0, i, 1
			for axis := len(shape) - 1; axis >= 0; axis-- {
				from += kept[axis][rest%len(kept[axis])] * stride
				rest /= len(kept[axis])
				stride *= shape[axis]
			}
			if int(v) != from {
				t.Fatalf("%v of %v: element %d is %d, want %d", args, shape, i, v, from)
			}
		}
	})
}

func TestSubscriptAllocatesNothing(t *testing.T) {
	optest.CheckAllocations(t, []optest.Case{{Op: "_tensor_subscript", Args: op.Args{"at_0": 1, "step_1": -1}, Inputs: [][]tensor.Tensor{{counted("HWC", 4, 5, 3)}}}})
}

func TestSubscriptCheck(t *testing.T) {
	for n, ok := range map[int]bool{0: true, 2: true, 3: false} {
		x := counted("HW", 2, 2)
		r, err := optest.Run(optest.Case{Op: "_subscript_dim_check", Args: op.Args{"num_subscripts": n}, Inputs: [][]tensor.Tensor{{x}}})
		if (err == nil) != ok || ok && !r.Outputs[0][0].Equal(x) || !ok && !errors.Is(err, errs.Mismatch) {
			t.Errorf("%d subscripts: %v %v", n, r.Outputs, err)
		}
	}
}
