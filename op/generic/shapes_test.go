package generic

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestReshape(t *testing.T) {
	hw := inputs(count("HW", 3, 4))
	to := func(layout string, shape ...int) tensor.Tensor { return count(layout, shape...) }
	checkAll(t, []row{
		{op: "reshape", inputs: hw, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{0, -1, 1}}, fails: true},
		{op: "reshape", inputs: inputs(count("", 3, 4)), args: op.Args{"src_dims": []int{0, -1, 1}}, want: to("", 3, 1, 4)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{0, -1, 1}, "rel_shape": []float64{1, 1, 1}}, want: to("", 3, 1, 4)},
		{op: "reshape", inputs: inputs(count("HW", 3, 1)), args: op.Args{"src_dims": []int{1}}, fails: true},
		{op: "reshape", inputs: inputs(count("HW", 1, 1)), args: op.Args{"src_dims": []int{1, 1}}, want: to("HW", 1, 1)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{1, 0}, "shape": []int{2, 6}}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{1, 0}, "shape": []int{12}}, want: to("", 12)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{1, 0}, "rel_shape": []float64{0.5, 2}}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{1, 0}, "rel_shape": []float64{0.5, -1}}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{1}, "rel_shape": []float64{0.5, -1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": []int{2, 0}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{1, 1, -1}}, want: to("", 3, 4, 1)},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{0.5, -1}}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{0.34, -1}}, want: to("HW", 1, 12)},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{0, -1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{-1, -1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": []float64{1e30, -1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{-1, -1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{-2, 3}}, want: to("HW", 4, 3)},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{-1, 5}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{math.MaxInt, math.MaxInt, 2}}, fails: true},
		{op: "reshape", inputs: inputs(count("HW", 3, 0)), args: op.Args{"shape": []int{0, -1}}, fails: true},
		{op: "reshape", inputs: inputs(count("HW", 3, 0)), args: op.Args{"shape": []int{5, -1}}, want: to("HW", 5, 0)},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{4, 3}, "layout": "HWC"}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"layout": ""}, want: to("", 3, 4)},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{4, 3}, "layout": ""}, want: to("", 4, 3)},
		{op: "reshape", inputs: inputs(count("HW", 1, 1)), args: op.Args{"shape": []int{}}, want: to("")},
		{op: "reshape", inputs: inputs(hw[0], tensor.FromSlice([]int64{2, 6})), want: to("HW", 2, 6)},
		{op: "reshape", inputs: inputs(hw[0], ints(-1, 6)), want: to("HW", 2, 6)},
		{op: "reshape", inputs: inputs(hw[0], ints(-1, -1)), fails: true},
		{op: "reshape", inputs: inputs(hw[0], of("", []int{1, 2}, 2, 6)), want: to("HW", 2, 6)},
		{op: "reshape", inputs: inputs(hw[0], tensor.FromSlice([]float32{2, 6})), fails: true},
		{op: "reshape", inputs: inputs(count("", 4, 0), ints(0, 3)), want: to("", 0, 3)},
		{op: "reshape", inputs: inputs(hw[0], ints(2, 6)), args: op.Args{"shape": []int{2, 6}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"shape": []int{2, 6}, "rel_shape": []float64{1, 1}}, fails: true},
		{op: "reshape", inputs: hw, args: op.Args{"shape": samples(ints(-1, 6))}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"rel_shape": samples(tensor.FromSlice([]float32{0.5, -1}))}, want: to("HW", 2, 6)},
		{op: "reshape", inputs: hw, args: op.Args{"src_dims": samples(ints(1, 0))}, want: to("HW", 4, 3)},
	})
}

func TestReinterpret(t *testing.T) {
	zeros := func(layout string, shape ...int) tensor.Tensor {
		z := tensor.New(tensor.Float64, shape...)
		z.Layout = layout
		return z
	}
	in := func(shape ...int) []tensor.Tensor {
		z := tensor.New(tensor.Float32, shape...)
		z.Layout = "HW"[:len(shape)]
		return inputs(z)
	}
	checkAll(t, []row{
		{op: "reinterpret", inputs: in(3, 4), fails: true},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64}, want: zeros("HW", 3, 2)},
		{op: "reinterpret", inputs: in(3, 3), args: op.Args{"dtype": tensor.Float64}, fails: true},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64, "shape": []int{6}}, want: zeros("", 6)},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64, "shape": []int{12}}, fails: true},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64, "shape": []int{-1, 2}}, want: zeros("HW", 3, 2)},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64, "rel_shape": []float64{1, 0.5}}, want: zeros("HW", 3, 2)},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Float64, "rel_shape": []float64{1, -1}}, want: zeros("HW", 3, 2)},
		{op: "reinterpret", inputs: in(), args: op.Args{"dtype": tensor.Uint8}, fails: true}, // DALI crashes
		{op: "reinterpret", inputs: in(), args: op.Args{"dtype": tensor.Int32}, want: of("", nil, int32(0))},
		{op: "reinterpret", inputs: in(3, 4), args: op.Args{"dtype": tensor.Complex64}, fails: true},
	})
}

func TestSqueezeAndExpand(t *testing.T) {
	column, hw := inputs(count("HW", 4, 1)), inputs(count("HW", 3, 4))
	checkAll(t, []row{
		{op: "squeeze", inputs: column, fails: true},
		{op: "squeeze", inputs: column, args: op.Args{"axes": []int{1}, "axis_names": "W"}, fails: true},
		{op: "squeeze", inputs: column, args: op.Args{"axes": []int{-1}}, want: count("HW", 4, 1)},
		{op: "squeeze", inputs: column, args: op.Args{"axes": []int{2}}, want: count("HW", 4, 1)},
		{op: "squeeze", inputs: column, args: op.Args{"axes": []int{1, 1}}, fails: true},
		{op: "squeeze", inputs: column, args: op.Args{"axes": []int{0}}, fails: true},
		{op: "squeeze", inputs: column, args: op.Args{"axis_names": "C"}, fails: true},
		{op: "squeeze", inputs: column, args: op.Args{"axes": samples(ints(1))}, want: count("H", 4)},
		{op: "squeeze", inputs: inputs(count("", 4, 1)), args: op.Args{"axis_names": "C"}, fails: true},
		{op: "squeeze", inputs: inputs(count("", 4, 1)), args: op.Args{"axes": []int{1}}, want: count("", 4)},
		{op: "squeeze", inputs: inputs(count("HW", 1, 1)), args: op.Args{"axis_names": "HW"}, want: count("")},
		{op: "squeeze", inputs: inputs(count("HW", 1, 1)), args: op.Args{"axes": []int{}}, want: count("HW", 1, 1)},

		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{-1}}, fails: true},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{1, 1}}, fails: true},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{3}}, fails: true},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{3, 2}}, want: count("", 3, 4, 1, 1)},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{2, 0}, "new_axis_names": "XY"}, want: count("YHXW", 1, 3, 1, 4)},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{2}, "new_axis_names": "X"}, want: count("HWX", 3, 4, 1)},
		{op: "expand_dims", inputs: hw, args: op.Args{"axes": []int{0}, "new_axis_names": "XY"}, fails: true},
		{op: "expand_dims", inputs: inputs(count("", 3, 4)), args: op.Args{"axes": []int{0}, "new_axis_names": "X"}, fails: true},
		{op: "expand_dims", inputs: inputs(count("")), args: op.Args{"axes": []int{0}, "new_axis_names": "X"}, want: count("X", 1)},
		{op: "expand_dims", inputs: inputs(count("")), args: op.Args{"axes": []int{0}}, want: count("", 1)},
	})
}

func TestTranspose(t *testing.T) {
	hw := inputs(of("HW", []int{2, 3}, 0, 1, 2, 3, 4, 5))
	turned := func(layout string) tensor.Tensor { return of(layout, []int{3, 2}, 0, 3, 1, 4, 2, 5) }
	checkAll(t, []row{
		{op: "transpose", inputs: hw, want: turned("WH")},
		{op: "transpose", inputs: hw, args: op.Args{"perm": []int{-1, 0}}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"perm": []int{0, 0}}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"perm": []int{0}}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"perm": []int{}}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"output_layout": "ABC"}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"output_layout": ""}, fails: true},
		{op: "transpose", inputs: hw, args: op.Args{"output_layout": "AB", "transpose_layout": false}, want: turned("AB")},
		{op: "transpose", inputs: hw, args: op.Args{"transpose_layout": false}, want: turned("HW")},
		{op: "transpose", inputs: inputs(count("")), want: count("")},
		{op: "transpose", inputs: inputs(count("HW", 2, 0)), want: count("WH", 0, 2)},
	})
}

// As in DALI 2.4.0, an extent of 0 is the largest of the batch, as a negative one is.
func TestPadToTheLargest(t *testing.T) {
	in := []tensor.Tensor{tensor.New(tensor.Uint8, 2, 5), tensor.New(tensor.Uint8, 4, 3)}
	for _, extent := range []int{0, -1, -5} {
		r, err := optest.Run(optest.Case{Op: "pad", Args: op.Args{"shape": []int{extent}, "axes": []int{0}}, Inputs: [][]tensor.Tensor{in}})
		if err != nil || len(r.Errors) > 0 {
			t.Fatal(err, r.Errors)
		}
		if a, b := r.Outputs[0][0].Shape, r.Outputs[0][1].Shape; !a.Equal(tensor.Shape{4, 5}) || !b.Equal(tensor.Shape{4, 3}) {
			t.Errorf("%d: got %v and %v", extent, a, b)
		}
	}
}
