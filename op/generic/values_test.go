package generic

import (
	"math"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestPad(t *testing.T) {
	hw := inputs(of("HW", []int{3, 2}, float32(1), 2, 3, 4, 5, 6))
	one := func(v uint8) []tensor.Tensor { return inputs(tensor.FromSlice([]uint8{v})) }
	wide := of("HW", []int{3, 4}, float32(1), 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0)
	checkAll(t, []row{
		{op: "pad", inputs: one(7), args: op.Args{"shape": []int{2}, "fill_value": -5.5}, want: tensor.FromSlice([]uint8{7, 251})},
		{op: "pad", inputs: one(7), args: op.Args{"shape": []int{2}, "fill_value": 300.5}, want: tensor.FromSlice([]uint8{7, 44})},
		{op: "pad", inputs: one(7), args: op.Args{"shape": []int{2}, "fill_value": samples(of("", nil, float32(9)))}, want: tensor.FromSlice([]uint8{7, 9})},
		{op: "pad", inputs: inputs(ints(7)), args: op.Args{"shape": []int{2}, "fill_value": 2.5}, want: ints(7, 2)},
		{op: "pad", inputs: inputs(tensor.FromSlice([]bool{false})), args: op.Args{"shape": []int{2}, "fill_value": 0.3}, want: tensor.FromSlice([]bool{false, true})},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{0}, "axis_names": "H"}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{-1}, "shape": []int{4}}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axis_names": "W", "shape": []int{4}}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": samples(ints(1)), "shape": []int{4}}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{1}, "shape": samples(ints(4))}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{1}, "align": samples(ints(4))}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{1}, "align": []int{4}, "shape": []int{0}}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{1}, "align": []int{4}, "shape": []int{-2}}, want: wide},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{}}, want: hw[0]},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{1, 1}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"axes": []int{2}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"axis_names": "C"}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"axis_names": "HH"}, fails: true},
		{op: "pad", inputs: inputs(count("", 2)), args: op.Args{"axis_names": "H"}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"shape": []int{4, 5, 6}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"align": []int{4, 5, 6}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"align": []int{0}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"align": samples(ints(0))}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"align": samples(ints(1, 2, 3))}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"shape": []int{math.MaxInt}}, fails: true},
		{op: "pad", inputs: hw, args: op.Args{"shape": samples(tensor.FromSlice([]int64{1 << 40}))}, fails: true},
		{op: "pad", inputs: inputs(tensor.New(tensor.Float64, 2, 2, 2, 2, 2)), args: op.Args{"shape": []int{math.MaxInt32}}, fails: true},
		{op: "pad", inputs: inputs(count("")), fails: true},
		{op: "pad", inputs: inputs(tensor.New(tensor.Complex64, 2)), fails: true},
	})
}

func TestJoin(t *testing.T) {
	a, b := of("HW", []int{1, 2}, 1, 2), of("XY", []int{1, 2}, 3, 4)
	none := of("HW", []int{0, 3}, []int{}...)
	checkAll(t, []row{
		{op: "cat", inputs: inputs(a), want: a},
		{op: "cat", inputs: inputs(a, b), want: of("HW", []int{2, 2}, 1, 2, 3, 4)},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis_name": "W"}, want: of("HW", []int{1, 4}, 1, 2, 3, 4)},
		{op: "cat", inputs: inputs(a, b, a), args: op.Args{"axis": -1}, want: of("HW", []int{1, 6}, 1, 2, 3, 4, 1, 2)},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis": 2}, fails: true},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis": -3}, fails: true},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis_name": "X"}, fails: true},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis_name": "HW"}, fails: true},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis_name": ""}, fails: true},
		{op: "cat", inputs: inputs(a, b), args: op.Args{"axis_name": "H", "axis": 0}, fails: true},
		{op: "cat", inputs: inputs(a, none), want: a},
		{op: "cat", inputs: inputs(none, a), args: op.Args{"axis": 1}, want: a},
		{op: "cat", inputs: inputs(none, none), args: op.Args{"axis": 1}, want: none},
		{op: "cat", inputs: inputs(a, of("", []int{2}, 1, 2)), fails: true},
		{op: "cat", inputs: inputs(a, of("", []int{1, 1}, 1)), fails: true},
		{op: "cat", inputs: inputs(a, count("", 1, 2)), fails: true},
		{op: "cat", inputs: inputs(of("", nil, 1), of("", nil, 1)), fails: true},

		{op: "stack", inputs: inputs(a), want: of("", []int{1, 1, 2}, 1, 2)},
		{op: "stack", inputs: inputs(a, b), args: op.Args{"axis": -1}, want: of("", []int{1, 2, 2}, 1, 3, 2, 4)},
		{op: "stack", inputs: inputs(a, b), args: op.Args{"axis": 1, "axis_name": "N"}, want: of("HNW", []int{1, 2, 2}, 1, 2, 3, 4)},
		{op: "stack", inputs: inputs(a, b), args: op.Args{"axis": -3}, fails: true},
		{op: "stack", inputs: inputs(a, b), args: op.Args{"axis": 3}, fails: true},
		{op: "stack", inputs: inputs(a, none), fails: true},
		{op: "stack", inputs: inputs(of("", []int{1}, 1), of("", []int{1}, 2)), args: op.Args{"axis_name": "N"}, fails: true},
		{op: "stack", inputs: inputs(of("", nil, 1), of("", nil, 2)), args: op.Args{"axis_name": "N"}, want: of("N", []int{2}, 1, 2)},
	})
}

func TestConstants(t *testing.T) {
	checkAll(t, []row{
		{op: "constant", fails: true},
		{op: "constant", args: op.Args{"idata": []int{1}, "fdata": []float64{1}}, fails: true},
		{op: "constant", args: op.Args{"idata": []int{1}, "shape": []int{}}, want: of("", nil, int32(1))},
		{op: "constant", args: op.Args{"idata": []int{1}, "shape": []int{0, 2}}, want: of("", []int{0, 2}, []int32{}...)},
		{op: "constant", args: op.Args{"idata": []int{}}, want: ints()},
		{op: "constant", args: op.Args{"idata": []int{2, -1, 300, 1<<40 + 1}, "dtype": tensor.Int64}, want: tensor.FromSlice([]int64{2, -1, 300, 1<<40 + 1})},
		{op: "constant", args: op.Args{"idata": []int{2, -1, 300, 1<<40 + 1}, "dtype": tensor.Uint16}, want: tensor.FromSlice([]uint16{2, 0, 300, 65535})},
		{op: "constant", args: op.Args{"fdata": []float64{0.3, 0.7, -0.3, 0}, "dtype": tensor.Bool}, want: tensor.FromSlice([]bool{false, true, false, false})},
		{op: "constant", args: op.Args{"fdata": []float64{1}, "dtype": tensor.Float64}, fails: true},
		{op: "constant", args: op.Args{"idata": []int{1, 2}, "layout": "HWC"}, fails: true},
		{op: "constant", args: op.Args{"idata": []int{1}, "shape": []int{-1}}, fails: true},
		{op: "constant", args: op.Args{"idata": []int{1}, "shape": []int{math.MaxInt, 3}}, fails: true},

		{op: "zeros", want: of("", nil, int32(0))},
		{op: "zeros", args: op.Args{"shape": 3}, want: ints(0, 0, 0)},
		{op: "zeros", args: op.Args{"shape": []int{-1}}, fails: true},
		{op: "ones", args: op.Args{"shape": []int{2}, "layout": "HW"}, fails: true},
		{op: "ones", args: op.Args{"shape": samples(ints(1, 2)), "dtype": tensor.Uint8}, want: of("", []int{1, 2}, uint8(1), 1)},
		{op: "ones", args: op.Args{"shape": samples(ints(1, -2))}, fails: true},
		{op: "ones", args: op.Args{"shape": samples(ints(2)), "layout": "HW"}, fails: true},
		{op: "ones", args: op.Args{"dtype": tensor.Complex64}, fails: true},

		{op: "full", inputs: inputs(ints(1)), want: of("", nil, int32(1))},
		{op: "full", inputs: inputs(ints(1, 2)), args: op.Args{"shape": []int{2, 2}}, want: of("", []int{2, 2}, int32(1), 2, 1, 2)},
		{op: "full", inputs: inputs(ints(1, 2, 3)), args: op.Args{"shape": []int{2}}, fails: true},
		{op: "full", inputs: inputs(ints(1)), args: op.Args{"shape": []int{0}}, want: ints()},
		{op: "full_like", inputs: inputs(of("HW", []int{2, 2}, int32(0), 0, 0, 0), tensor.FromSlice([]float32{2.5, 3.5})), want: of("HW", []int{2, 2}, int32(3), 4, 3, 4)},
		{op: "full_like", inputs: inputs(ints(0, 0), tensor.FromSlice([]float32{1, 2, 3})), fails: true},
		{op: "ones_like", inputs: inputs(of("HW", []int{1, 2}, int32(7), 7)), args: op.Args{"dtype": tensor.Int8}, want: of("HW", []int{1, 2}, int8(1), 1)},
		{op: "zeros_like", inputs: inputs(tensor.FromSlice([]float64{7})), want: tensor.FromSlice([]float64{0})},
	})
}

func TestOneHot(t *testing.T) {
	square := inputs(of("HW", []int{2, 2}, int32(1), 0, 0, 1))
	hot := func(layout string) tensor.Tensor { return of(layout, []int{2, 2, 2}, float32(0), 1, 1, 0, 1, 0, 0, 1) }
	two := func(more op.Args) op.Args {
		more["num_classes"] = 2
		return more
	}
	checkAll(t, []row{
		{op: "one_hot", inputs: square, args: two(op.Args{}), want: hot("")},
		{op: "one_hot", inputs: square, args: two(op.Args{"axis_name": "C"}), want: hot("HWC")},
		{op: "one_hot", inputs: square, args: two(op.Args{"axis": 0, "axis_name": "C"}), want: of("CHW", []int{2, 2, 2}, float32(0), 1, 1, 0, 1, 0, 0, 1)},
		{op: "one_hot", inputs: square, args: two(op.Args{"axis": 3}), fails: true},
		{op: "one_hot", inputs: square, args: two(op.Args{"axis": -2}), fails: true},
		{op: "one_hot", inputs: square, args: two(op.Args{"axis_name": "CD"}), fails: true},
		{op: "one_hot", inputs: square, args: op.Args{"num_classes": -3}, fails: true},
		{op: "one_hot", inputs: square, args: op.Args{"num_classes": math.MaxInt}, fails: true},
		{op: "one_hot", inputs: square, args: two(op.Args{"dtype": tensor.Float16}), fails: true},
		{op: "one_hot", inputs: inputs(tensor.FromSlice([]bool{true})), args: two(op.Args{}), fails: true},
		{op: "one_hot", inputs: inputs(of("", []int{2, 1}, int32(1), 0)), args: two(op.Args{"axis_name": "C"}), fails: true},
		{op: "one_hot", inputs: inputs(of("", []int{1, 1}, int32(1))), args: two(op.Args{}), want: tensor.FromSlice([]float32{0, 1})},
		{op: "one_hot", inputs: inputs(ints(1)), args: two(op.Args{"axis_name": "C"}), want: of("C", []int{2}, float32(0), 1)},
		{op: "one_hot", inputs: inputs(ints(1)), args: two(op.Args{"axis": 1}), want: of("", []int{1, 2}, float32(0), 1)},
		{op: "one_hot", inputs: inputs(ints(1)), args: op.Args{}, want: of("", []int{0}, []float32{}...)},
		{op: "one_hot", inputs: inputs(tensor.FromSlice([]float32{1.7, -0.5})), args: two(op.Args{}), want: of("", []int{2, 2}, float32(0), 1, 1, 0)},
		{op: "one_hot", inputs: inputs(ints(0)), args: two(op.Args{"on_value": 300.7, "off_value": -1.7, "dtype": tensor.Uint8}), want: tensor.FromSlice([]uint8{44, 255})},
	})
	mixed := []tensor.Tensor{ints(1), ints(1, 0)}
	res, err := optest.Run(optest.Case{Op: "one_hot", Args: two(op.Args{}), Inputs: [][]tensor.Tensor{mixed}})
	if err != nil || len(res.Outputs[0][0].Shape) != 2 || len(res.Outputs[0][1].Shape) != 2 {
		t.Errorf("a batch of samples with one element and with more: %v %v", res.Outputs, err)
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
		{op: "lookup_table", inputs: inputs(indices), args: table, want: tensor.FromSlice([]float32{-300.5, -300.5, -300.5, -300.5, 6.5, 5})},
		{op: "lookup_table", inputs: inputs(tensor.FromSlice([]int8{-1, 2})), args: with("dtype", tensor.Int16), want: tensor.FromSlice([]int16{-301, 7})},
		{op: "lookup_table", inputs: inputs(tensor.FromSlice([]uint64{math.MaxUint64, 1})), args: with("dtype", tensor.Uint8), want: tensor.FromSlice([]uint8{0, 5})},
		{op: "lookup_table", inputs: inputs(indices), args: with("keys", []int{1, 2, 65536}), fails: true},
		{op: "lookup_table", inputs: inputs(indices), args: with("keys", []int{-1, 2, 3}), fails: true},
		{op: "lookup_table", inputs: inputs(indices), args: with("keys", []int{1}), fails: true},
		{op: "lookup_table", inputs: inputs(count("", 2)), args: table, fails: true},
		{op: "lookup_table", inputs: inputs(tensor.FromSlice([]bool{true})), args: table, fails: true},
		{op: "lookup_table", inputs: inputs(ints(3)), args: op.Args{"default_value": 9.0, "output_dtype": tensor.Float64}, want: tensor.FromSlice([]float64{9})},
	})
}

func TestSequences(t *testing.T) {
	frames := inputs(of("FX", []int{3, 2}, 0, 1, 2, 3, 4, 5))
	checkAll(t, []row{
		{op: "element_extract", inputs: frames, args: op.Args{"element_map": []int{2, 0}}, want: of("X", []int{2}, 4, 5)},
		{op: "element_extract", inputs: frames, args: op.Args{"element_map": []int{3}}, fails: true},
		{op: "element_extract", inputs: frames, args: op.Args{"element_map": []int{}}, fails: true},
		{op: "element_extract", inputs: frames, args: op.Args{"element_map": []int{-1}}, fails: true},
		{op: "element_extract", inputs: inputs(of("HW", []int{1, 1}, 0)), args: op.Args{"element_map": []int{0}}, fails: true},
		{op: "element_extract", inputs: inputs(of("", []int{1}, 0)), args: op.Args{"element_map": []int{0}}, fails: true},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": []int{2, 0, 2}}, want: of("FX", []int{3, 2}, 4, 5, 0, 1, 4, 5)},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": samples(ints(1))}, want: of("FX", []int{1, 2}, 2, 3)},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": samples(ints(3))}, fails: true},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": samples(ints())}, fails: true},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": []int{3}}, fails: true},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": []int{-1}}, fails: true},
		{op: "sequence_rearrange", inputs: frames, args: op.Args{"new_order": []int{}}, fails: true},
		{op: "sequence_rearrange", inputs: inputs(of("", []int{1}, 0)), args: op.Args{"new_order": []int{0}}, fails: true},
		{op: "permute_batch", inputs: frames, args: op.Args{"indices": []int{1}}, fails: true},
		{op: "permute_batch", inputs: frames, args: op.Args{"indices": []int{-1}}, fails: true},
		{op: "permute_batch", inputs: frames, args: op.Args{"indices": samples(ints(0, 0))}, fails: true},
	})
}

func TestShapes(t *testing.T) {
	in := inputs(of("HW", []int{2, 1}, 0, 0))
	checkAll(t, []row{
		{op: "_shape", inputs: in, want: tensor.FromSlice([]int64{2, 1})},
		{op: "_shape", inputs: in, args: op.Args{"dtype": tensor.Float64}, want: tensor.FromSlice([]float64{2, 1})},
		{op: "_shape", inputs: in, args: op.Args{"dtype": tensor.Uint8}, fails: true},
		{op: "shapes", inputs: in, args: op.Args{"type": tensor.Int32}, want: ints(2, 1)},
		{op: "shapes", inputs: inputs(of("", nil, 0)), want: tensor.FromSlice([]int64{})},
		{op: "get_property", inputs: in, args: op.Args{"key": "layout"}, want: tensor.FromSlice([]uint8("HW"))},
		{op: "get_property", inputs: in, args: op.Args{"key": "source_info"}, want: tensor.FromSlice([]uint8{})},
		{op: "get_property", inputs: in, args: op.Args{"key": "shape"}, fails: true},
	})
}

// TestScalarsOfUnknownRank gives operators scalars where they expected more, which
// nothing told before the data.
func TestScalarsOfUnknownRank(t *testing.T) {
	scalar := tensor.Tensor{DType: tensor.Float32, Data: make([]byte, 4)}
	for name, args := range map[string]op.Args{
		"element_extract": {"element_map": []int{0}}, "sequence_rearrange": {"new_order": []int{0}},
		"transpose": {"perm": []int{1, 0}}, "expand_dims": {"axes": []int{1}}, "cat": nil,
	} {
		row{op: name, args: args, inputs: inputs(scalar), fails: true}.check(t)
	}
	row{op: "pad", inputs: inputs(scalar), want: scalar}.check(t)
}
