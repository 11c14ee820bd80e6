package generic

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestPad(t *testing.T) {
	hw := inputs(optest.Of("HW", []int{3, 2}, float32(1), 2, 3, 4, 5, 6))
	one := func(v uint8) []tensor.Tensor { return inputs(tensor.FromSlice([]uint8{v})) }
	wide := optest.Of("HW", []int{3, 4}, float32(1), 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0)
	checkAll(t, []row{
		{Op: "pad", Inputs: one(7), Args: op.Args{"shape": []int{2}, "fill_value": -5.5}, Want: tensor.FromSlice([]uint8{7, 251})},
		{Op: "pad", Inputs: one(7), Args: op.Args{"shape": []int{2}, "fill_value": 300.5}, Want: tensor.FromSlice([]uint8{7, 44})},
		{Op: "pad", Inputs: one(7), Args: op.Args{"shape": []int{2}, "fill_value": samples(optest.Of("", nil, float32(9)))}, Want: tensor.FromSlice([]uint8{7, 9})},
		{Op: "pad", Inputs: inputs(ints(7)), Args: op.Args{"shape": []int{2}, "fill_value": 2.5}, Want: ints(7, 2)},
		{Op: "pad", Inputs: inputs(tensor.FromSlice([]bool{false})), Args: op.Args{"shape": []int{2}, "fill_value": 0.3}, Want: tensor.FromSlice([]bool{false, true})},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{0}, "axis_names": "H"}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{-1}, "shape": []int{4}}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axis_names": "W", "shape": []int{4}}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": samples(ints(1)), "shape": []int{4}}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{1}, "shape": samples(ints(4))}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{1}, "align": samples(ints(4))}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{1}, "align": []int{4}, "shape": []int{0}}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{1}, "align": []int{4}, "shape": []int{-2}}, Want: wide},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{}}, Want: hw[0]},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{1, 1}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"axes": []int{2}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"axis_names": "C"}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"axis_names": "HH"}, Fails: true},
		{Op: "pad", Inputs: inputs(count("", 2)), Args: op.Args{"axis_names": "H"}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"shape": []int{4, 5, 6}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"align": []int{4, 5, 6}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"align": []int{0}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"align": samples(ints(0))}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"align": samples(ints(1, 2, 3))}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"shape": []int{math.MaxInt}}, Fails: true},
		{Op: "pad", Inputs: hw, Args: op.Args{"shape": samples(tensor.FromSlice([]int64{1 << 40}))}, Fails: true},
		{Op: "pad", Inputs: inputs(tensor.New(tensor.Float64, 2, 2, 2, 2, 2)), Args: op.Args{"shape": []int{math.MaxInt32}}, Fails: true},
		{Op: "pad", Inputs: inputs(count("")), Fails: true},
		{Op: "pad", Inputs: inputs(tensor.New(tensor.Complex64, 2)), Fails: true},
	})
}

func TestJoin(t *testing.T) {
	a, b := optest.Of("HW", []int{1, 2}, 1, 2), optest.Of("XY", []int{1, 2}, 3, 4)
	none := optest.Of("HW", []int{0, 3}, []int{}...)
	checkAll(t, []row{
		{Op: "cat", Inputs: inputs(a), Want: a},
		{Op: "cat", Inputs: inputs(a, b), Want: optest.Of("HW", []int{2, 2}, 1, 2, 3, 4)},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis_name": "W"}, Want: optest.Of("HW", []int{1, 4}, 1, 2, 3, 4)},
		{Op: "cat", Inputs: inputs(a, b, a), Args: op.Args{"axis": -1}, Want: optest.Of("HW", []int{1, 6}, 1, 2, 3, 4, 1, 2)},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis": 2}, Fails: true},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis": -3}, Fails: true},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis_name": "X"}, Fails: true},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis_name": "HW"}, Fails: true},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis_name": ""}, Fails: true},
		{Op: "cat", Inputs: inputs(a, b), Args: op.Args{"axis_name": "H", "axis": 0}, Fails: true},
		{Op: "cat", Inputs: inputs(a, none), Want: a},
		{Op: "cat", Inputs: inputs(none, a), Args: op.Args{"axis": 1}, Want: a},
		{Op: "cat", Inputs: inputs(none, none), Args: op.Args{"axis": 1}, Want: none},
		{Op: "cat", Inputs: inputs(a, optest.Of("", []int{2}, 1, 2)), Fails: true},
		{Op: "cat", Inputs: inputs(a, optest.Of("", []int{1, 1}, 1)), Fails: true},
		{Op: "cat", Inputs: inputs(a, count("", 1, 2)), Fails: true},
		{Op: "cat", Inputs: inputs(optest.Of("", nil, 1), optest.Of("", nil, 1)), Fails: true},

		{Op: "stack", Inputs: inputs(a), Want: optest.Of("", []int{1, 1, 2}, 1, 2)},
		{Op: "stack", Inputs: inputs(a, b), Args: op.Args{"axis": -1}, Want: optest.Of("", []int{1, 2, 2}, 1, 3, 2, 4)},
		{Op: "stack", Inputs: inputs(a, b), Args: op.Args{"axis": 1, "axis_name": "N"}, Want: optest.Of("HNW", []int{1, 2, 2}, 1, 2, 3, 4)},
		{Op: "stack", Inputs: inputs(a, b), Args: op.Args{"axis": -3}, Fails: true},
		{Op: "stack", Inputs: inputs(a, b), Args: op.Args{"axis": 3}, Fails: true},
		{Op: "stack", Inputs: inputs(a, none), Fails: true},
		{Op: "stack", Inputs: inputs(optest.Of("", []int{1}, 1), optest.Of("", []int{1}, 2)), Args: op.Args{"axis_name": "N"}, Fails: true},
		{Op: "stack", Inputs: inputs(optest.Of("", nil, 1), optest.Of("", nil, 2)), Args: op.Args{"axis_name": "N"}, Want: optest.Of("N", []int{2}, 1, 2)},
	})
}

func TestConstants(t *testing.T) {
	checkAll(t, []row{
		{Op: "constant", Fails: true},
		{Op: "constant", Args: op.Args{"idata": []int{1}, "fdata": []float64{1}}, Fails: true},
		{Op: "constant", Args: op.Args{"idata": []int{1}, "shape": []int{}}, Want: optest.Of("", nil, int32(1))},
		{Op: "constant", Args: op.Args{"idata": []int{1}, "shape": []int{0, 2}}, Want: optest.Of("", []int{0, 2}, []int32{}...)},
		{Op: "constant", Args: op.Args{"idata": []int{}}, Want: ints()},
		{Op: "constant", Args: op.Args{"idata": []int{2, -1, 300, 1<<40 + 1}, "dtype": tensor.Int64}, Want: tensor.FromSlice([]int64{2, -1, 300, 1<<40 + 1})},
		{Op: "constant", Args: op.Args{"idata": []int{2, -1, 300, 1<<40 + 1}, "dtype": tensor.Uint16}, Want: tensor.FromSlice([]uint16{2, 0, 300, 65535})},
		{Op: "constant", Args: op.Args{"fdata": []float64{0.3, 0.7, -0.3, 0}, "dtype": tensor.Bool}, Want: tensor.FromSlice([]bool{false, true, false, false})},
		{Op: "constant", Args: op.Args{"fdata": []float64{1}, "dtype": tensor.Float64}, Fails: true},
		{Op: "constant", Args: op.Args{"idata": []int{1, 2}, "layout": "HWC"}, Fails: true},
		{Op: "constant", Args: op.Args{"idata": []int{1}, "shape": []int{-1}}, Fails: true},
		{Op: "constant", Args: op.Args{"idata": []int{1}, "shape": []int{math.MaxInt, 3}}, Fails: true},

		{Op: "zeros", Want: optest.Of("", nil, int32(0))},
		{Op: "zeros", Args: op.Args{"shape": 3}, Want: ints(0, 0, 0)},
		{Op: "zeros", Args: op.Args{"shape": []int{-1}}, Fails: true},
		{Op: "ones", Args: op.Args{"shape": []int{2}, "layout": "HW"}, Fails: true},
		{Op: "ones", Args: op.Args{"shape": samples(ints(1, 2)), "dtype": tensor.Uint8}, Want: optest.Of("", []int{1, 2}, uint8(1), 1)},
		{Op: "ones", Args: op.Args{"shape": samples(ints(1, -2))}, Fails: true},
		{Op: "ones", Args: op.Args{"shape": samples(ints(2)), "layout": "HW"}, Fails: true},
		{Op: "ones", Args: op.Args{"dtype": tensor.Complex64}, Fails: true},

		{Op: "full", Inputs: inputs(ints(1)), Want: optest.Of("", nil, int32(1))},
		{Op: "full", Inputs: inputs(ints(1, 2)), Args: op.Args{"shape": []int{2, 2}}, Want: optest.Of("", []int{2, 2}, int32(1), 2, 1, 2)},
		{Op: "full", Inputs: inputs(ints(1, 2, 3)), Args: op.Args{"shape": []int{2}}, Fails: true},
		{Op: "full", Inputs: inputs(ints(1)), Args: op.Args{"shape": []int{0}}, Want: ints()},
		{Op: "full_like", Inputs: inputs(optest.Of("HW", []int{2, 2}, int32(0), 0, 0, 0), tensor.FromSlice([]float32{2.5, 3.5})), Want: optest.Of("HW", []int{2, 2}, int32(3), 4, 3, 4)},
		{Op: "full_like", Inputs: inputs(ints(0, 0), tensor.FromSlice([]float32{1, 2, 3})), Fails: true},
		{Op: "ones_like", Inputs: inputs(optest.Of("HW", []int{1, 2}, int32(7), 7)), Args: op.Args{"dtype": tensor.Int8}, Want: optest.Of("HW", []int{1, 2}, int8(1), 1)},
		{Op: "zeros_like", Inputs: inputs(tensor.FromSlice([]float64{7})), Want: tensor.FromSlice([]float64{0})},
	})
}

func TestOneHot(t *testing.T) {
	square := inputs(optest.Of("HW", []int{2, 2}, int32(1), 0, 0, 1))
	hot := func(layout string) tensor.Tensor {
		return optest.Of(layout, []int{2, 2, 2}, float32(0), 1, 1, 0, 1, 0, 0, 1)
	}
	two := func(more op.Args) op.Args {
		more["num_classes"] = 2
		return more
	}
	checkAll(t, []row{
		{Op: "one_hot", Inputs: square, Args: two(op.Args{}), Want: hot("")},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"axis_name": "C"}), Want: hot("HWC")},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"axis": 0, "axis_name": "C"}), Want: optest.Of("CHW", []int{2, 2, 2}, float32(0), 1, 1, 0, 1, 0, 0, 1)},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"axis": 3}), Fails: true},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"axis": -2}), Fails: true},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"axis_name": "CD"}), Fails: true},
		{Op: "one_hot", Inputs: square, Args: op.Args{"num_classes": -3}, Fails: true},
		{Op: "one_hot", Inputs: square, Args: op.Args{"num_classes": math.MaxInt}, Fails: true},
		{Op: "one_hot", Inputs: square, Args: two(op.Args{"dtype": tensor.Float16}), Fails: true},
		{Op: "one_hot", Inputs: inputs(tensor.FromSlice([]bool{true})), Args: two(op.Args{}), Fails: true},
		{Op: "one_hot", Inputs: inputs(optest.Of("", []int{2, 1}, int32(1), 0)), Args: two(op.Args{"axis_name": "C"}), Fails: true},
		{Op: "one_hot", Inputs: inputs(optest.Of("", []int{1, 1}, int32(1))), Args: two(op.Args{}), Want: tensor.FromSlice([]float32{0, 1})},
		{Op: "one_hot", Inputs: inputs(ints(1)), Args: two(op.Args{"axis_name": "C"}), Want: optest.Of("C", []int{2}, float32(0), 1)},
		{Op: "one_hot", Inputs: inputs(ints(1)), Args: two(op.Args{"axis": 1}), Want: optest.Of("", []int{1, 2}, float32(0), 1)},
		{Op: "one_hot", Inputs: inputs(ints(1)), Args: op.Args{}, Want: optest.Of("", []int{0}, []float32{}...)},
		{Op: "one_hot", Inputs: inputs(tensor.FromSlice([]float32{1.7, -0.5})), Args: two(op.Args{}), Want: optest.Of("", []int{2, 2}, float32(0), 1, 1, 0)},
		{Op: "one_hot", Inputs: inputs(ints(0)), Args: two(op.Args{"on_value": 300.7, "off_value": -1.7, "dtype": tensor.Uint8}), Want: tensor.FromSlice([]uint8{44, 255})},
	})
	mixed := []tensor.Tensor{ints(1), ints(1, 0)}
	res, err := optest.Run(optest.Case{Op: "one_hot", Args: two(op.Args{}), Inputs: [][]tensor.Tensor{mixed}})
	if err != nil || len(res.Outputs[0][0].Shape) != 2 || len(res.Outputs[0][1].Shape) != 2 {
		t.Errorf("a batch with samples of one element and of more: %v %v", res.Outputs, err)
	}
}

func TestLookupTable(t *testing.T) {
	table := op.Args{"keys": []int{1, 2, 2}, "values": []float64{5, 7, 6.5}, "default_value": -300.5}
	with := func(k string, v any) op.Args {
		a := op.Args{k: v}
		for name, x := range table {
			if name != k {
				a[name] = x
			}
		}
		return a
	}
	indices := ints(-1, 65535, 65536, 70000, 2, 1)
	checkAll(t, []row{
		{Op: "lookup_table", Inputs: inputs(indices), Args: table, Want: tensor.FromSlice([]float32{-300.5, -300.5, -300.5, -300.5, 6.5, 5})},
		{Op: "lookup_table", Inputs: inputs(tensor.FromSlice([]int8{-1, 2})), Args: with("dtype", tensor.Int16), Want: tensor.FromSlice([]int16{-301, 7})},
		{Op: "lookup_table", Inputs: inputs(tensor.FromSlice([]uint64{math.MaxUint64, 1})), Args: with("dtype", tensor.Uint8), Want: tensor.FromSlice([]uint8{0, 5})},
		{Op: "lookup_table", Inputs: inputs(indices), Args: with("keys", []int{1, 2, 65536}), Fails: true},
		{Op: "lookup_table", Inputs: inputs(indices), Args: with("keys", []int{-1, 2, 3}), Fails: true},
		{Op: "lookup_table", Inputs: inputs(indices), Args: with("keys", []int{1}), Fails: true},
		{Op: "lookup_table", Inputs: inputs(count("", 2)), Args: table, Fails: true},
		{Op: "lookup_table", Inputs: inputs(tensor.FromSlice([]bool{true})), Args: table, Fails: true},
		{Op: "lookup_table", Inputs: inputs(ints(3)), Args: op.Args{"default_value": 9.0, "output_dtype": tensor.Float64}, Want: tensor.FromSlice([]float64{9})},
	})
}

func TestSequences(t *testing.T) {
	frames := inputs(optest.Of("FX", []int{3, 2}, 0, 1, 2, 3, 4, 5))
	checkAll(t, []row{
		{Op: "element_extract", Inputs: frames, Args: op.Args{"element_map": []int{2, 0}}, Want: optest.Of("X", []int{2}, 4, 5)},
		{Op: "element_extract", Inputs: frames, Args: op.Args{"element_map": []int{3}}, Fails: true},
		{Op: "element_extract", Inputs: frames, Args: op.Args{"element_map": []int{}}, Fails: true},
		{Op: "element_extract", Inputs: frames, Args: op.Args{"element_map": []int{-1}}, Fails: true},
		{Op: "element_extract", Inputs: inputs(optest.Of("HW", []int{1, 1}, 0)), Args: op.Args{"element_map": []int{0}}, Fails: true},
		{Op: "element_extract", Inputs: inputs(optest.Of("", []int{1}, 0)), Args: op.Args{"element_map": []int{0}}, Fails: true},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": []int{2, 0, 2}}, Want: optest.Of("FX", []int{3, 2}, 4, 5, 0, 1, 4, 5)},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": samples(ints(1))}, Want: optest.Of("FX", []int{1, 2}, 2, 3)},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": samples(ints(3))}, Fails: true},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": samples(ints())}, Fails: true},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": []int{3}}, Fails: true},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": []int{-1}}, Fails: true},
		{Op: "sequence_rearrange", Inputs: frames, Args: op.Args{"new_order": []int{}}, Fails: true},
		{Op: "sequence_rearrange", Inputs: inputs(optest.Of("", []int{1}, 0)), Args: op.Args{"new_order": []int{0}}, Fails: true},
		{Op: "permute_batch", Inputs: frames, Args: op.Args{"indices": []int{1}}, Fails: true},
		{Op: "permute_batch", Inputs: frames, Args: op.Args{"indices": []int{-1}}, Fails: true},
		{Op: "permute_batch", Inputs: frames, Args: op.Args{"indices": samples(ints(0, 0))}, Fails: true},
	})
}

func TestShapes(t *testing.T) {
	in := inputs(optest.Of("HW", []int{2, 1}, 0, 0))
	checkAll(t, []row{
		{Op: "_shape", Inputs: in, Want: tensor.FromSlice([]int64{2, 1})},
		{Op: "_shape", Inputs: in, Args: op.Args{"dtype": tensor.Float64}, Want: tensor.FromSlice([]float64{2, 1})},
		{Op: "_shape", Inputs: in, Args: op.Args{"dtype": tensor.Uint8}, Fails: true},
		{Op: "shapes", Inputs: in, Args: op.Args{"type": tensor.Int32}, Want: ints(2, 1)},
		{Op: "shapes", Inputs: inputs(optest.Of("", nil, 0)), Want: tensor.FromSlice([]int64{})},
		{Op: "get_property", Inputs: in, Args: op.Args{"key": "layout"}, Want: tensor.FromSlice([]uint8("HW"))},
		{Op: "get_property", Inputs: in, Args: op.Args{"key": "source_info"}, Want: tensor.FromSlice([]uint8{})},
		{Op: "get_property", Inputs: in, Args: op.Args{"key": "shape"}, Fails: true},
	})
}

// TestScalarsOfUnknownRank gives operators scalars in place of arrays, which only the data shows.
func TestScalarsOfUnknownRank(t *testing.T) {
	scalar := tensor.Tensor{DType: tensor.Float32, Data: make([]byte, 4)}
	for name, args := range map[string]op.Args{
		"element_extract": {"element_map": []int{0}}, "sequence_rearrange": {"new_order": []int{0}},
		"transpose": {"perm": []int{1, 0}}, "expand_dims": {"axes": []int{1}}, "cat": nil,
	} {
		checkAll(t, []row{{Op: name, Args: args, Inputs: inputs(scalar), Fails: true}})
	}
	checkAll(t, []row{{Op: "pad", Inputs: inputs(scalar), Want: scalar}})
}
