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
		{Op: "reshape", Inputs: hw, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{0, -1, 1}}, Fails: true},
		{Op: "reshape", Inputs: inputs(count("", 3, 4)), Args: op.Args{"src_dims": []int{0, -1, 1}}, Want: to("", 3, 1, 4)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{0, -1, 1}, "rel_shape": []float64{1, 1, 1}}, Want: to("", 3, 1, 4)},
		{Op: "reshape", Inputs: inputs(count("HW", 3, 1)), Args: op.Args{"src_dims": []int{1}}, Fails: true},
		{Op: "reshape", Inputs: inputs(count("HW", 1, 1)), Args: op.Args{"src_dims": []int{1, 1}}, Want: to("HW", 1, 1)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{1, 0}, "shape": []int{2, 6}}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{1, 0}, "shape": []int{12}}, Want: to("", 12)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{1, 0}, "rel_shape": []float64{0.5, 2}}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{1, 0}, "rel_shape": []float64{0.5, -1}}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{1}, "rel_shape": []float64{0.5, -1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": []int{2, 0}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{1, 1, -1}}, Want: to("", 3, 4, 1)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{0.5, -1}}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{0.34, -1}}, Want: to("HW", 1, 12)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{0, -1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{-1, -1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": []float64{1e30, -1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{-1, -1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{-2, 3}}, Want: to("HW", 4, 3)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{-1, 5}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{math.MaxInt, math.MaxInt, 2}}, Fails: true},
		{Op: "reshape", Inputs: inputs(count("HW", 3, 0)), Args: op.Args{"shape": []int{0, -1}}, Fails: true},
		{Op: "reshape", Inputs: inputs(count("HW", 3, 0)), Args: op.Args{"shape": []int{5, -1}}, Want: to("HW", 5, 0)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{4, 3}, "layout": "HWC"}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"layout": ""}, Want: to("", 3, 4)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{4, 3}, "layout": ""}, Want: to("", 4, 3)},
		{Op: "reshape", Inputs: inputs(count("HW", 1, 1)), Args: op.Args{"shape": []int{}}, Want: to("")},
		{Op: "reshape", Inputs: inputs(hw[0], tensor.FromSlice([]int64{2, 6})), Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: inputs(hw[0], ints(-1, 6)), Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: inputs(hw[0], ints(-1, -1)), Fails: true},
		{Op: "reshape", Inputs: inputs(hw[0], optest.Of("", []int{1, 2}, 2, 6)), Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: inputs(hw[0], tensor.FromSlice([]float32{2, 6})), Fails: true},
		{Op: "reshape", Inputs: inputs(count("", 4, 0), ints(0, 3)), Want: to("", 0, 3)},
		{Op: "reshape", Inputs: inputs(hw[0], ints(2, 6)), Args: op.Args{"shape": []int{2, 6}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": []int{2, 6}, "rel_shape": []float64{1, 1}}, Fails: true},
		{Op: "reshape", Inputs: hw, Args: op.Args{"shape": samples(ints(-1, 6))}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"rel_shape": samples(tensor.FromSlice([]float32{0.5, -1}))}, Want: to("HW", 2, 6)},
		{Op: "reshape", Inputs: hw, Args: op.Args{"src_dims": samples(ints(1, 0))}, Want: to("HW", 4, 3)},
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
		{Op: "reinterpret", Inputs: in(3, 4), Fails: true},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64}, Want: zeros("HW", 3, 2)},
		{Op: "reinterpret", Inputs: in(3, 3), Args: op.Args{"dtype": tensor.Float64}, Fails: true},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64, "shape": []int{6}}, Want: zeros("", 6)},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64, "shape": []int{12}}, Fails: true},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64, "shape": []int{-1, 2}}, Want: zeros("HW", 3, 2)},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64, "rel_shape": []float64{1, 0.5}}, Want: zeros("HW", 3, 2)},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Float64, "rel_shape": []float64{1, -1}}, Want: zeros("HW", 3, 2)},
		{Op: "reinterpret", Inputs: in(), Args: op.Args{"dtype": tensor.Uint8}, Fails: true}, // DALI crashes
		{Op: "reinterpret", Inputs: in(), Args: op.Args{"dtype": tensor.Int32}, Want: optest.Of("", nil, int32(0))},
		{Op: "reinterpret", Inputs: in(3, 4), Args: op.Args{"dtype": tensor.Complex64}, Fails: true},
	})
}

func TestSqueezeAndExpand(t *testing.T) {
	column, hw := inputs(count("HW", 4, 1)), inputs(count("HW", 3, 4))
	checkAll(t, []row{
		{Op: "squeeze", Inputs: column, Fails: true},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": []int{1}, "axis_names": "W"}, Fails: true},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": []int{-1}}, Want: count("HW", 4, 1)},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": []int{2}}, Want: count("HW", 4, 1)},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": []int{1, 1}}, Fails: true},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": []int{0}}, Fails: true},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axis_names": "C"}, Fails: true},
		{Op: "squeeze", Inputs: column, Args: op.Args{"axes": samples(ints(1))}, Want: count("H", 4)},
		{Op: "squeeze", Inputs: inputs(count("", 4, 1)), Args: op.Args{"axis_names": "C"}, Fails: true},
		{Op: "squeeze", Inputs: inputs(count("", 4, 1)), Args: op.Args{"axes": []int{1}}, Want: count("", 4)},
		{Op: "squeeze", Inputs: inputs(count("HW", 1, 1)), Args: op.Args{"axis_names": "HW"}, Want: count("")},
		{Op: "squeeze", Inputs: inputs(count("HW", 1, 1)), Args: op.Args{"axes": []int{}}, Want: count("HW", 1, 1)},

		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{-1}}, Fails: true},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{1, 1}}, Fails: true},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{3}}, Fails: true},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{3, 2}}, Want: count("", 3, 4, 1, 1)},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{2, 0}, "new_axis_names": "XY"}, Want: count("YHXW", 1, 3, 1, 4)},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{2}, "new_axis_names": "X"}, Want: count("HWX", 3, 4, 1)},
		{Op: "expand_dims", Inputs: hw, Args: op.Args{"axes": []int{0}, "new_axis_names": "XY"}, Fails: true},
		{Op: "expand_dims", Inputs: inputs(count("", 3, 4)), Args: op.Args{"axes": []int{0}, "new_axis_names": "X"}, Fails: true},
		{Op: "expand_dims", Inputs: inputs(count("")), Args: op.Args{"axes": []int{0}, "new_axis_names": "X"}, Want: count("X", 1)},
		{Op: "expand_dims", Inputs: inputs(count("")), Args: op.Args{"axes": []int{0}}, Want: count("", 1)},
	})
}

func TestTranspose(t *testing.T) {
	hw := inputs(optest.Of("HW", []int{2, 3}, 0, 1, 2, 3, 4, 5))
	turned := func(layout string) tensor.Tensor { return optest.Of(layout, []int{3, 2}, 0, 3, 1, 4, 2, 5) }
	checkAll(t, []row{
		{Op: "transpose", Inputs: hw, Want: turned("WH")},
		{Op: "transpose", Inputs: hw, Args: op.Args{"perm": []int{-1, 0}}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"perm": []int{0, 0}}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"perm": []int{0}}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"perm": []int{}}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"output_layout": "ABC"}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"output_layout": ""}, Fails: true},
		{Op: "transpose", Inputs: hw, Args: op.Args{"output_layout": "AB", "transpose_layout": false}, Want: turned("AB")},
		{Op: "transpose", Inputs: hw, Args: op.Args{"transpose_layout": false}, Want: turned("HW")},
		{Op: "transpose", Inputs: inputs(count("")), Want: count("")},
		{Op: "transpose", Inputs: inputs(count("HW", 2, 0)), Want: count("WH", 0, 2)},
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
