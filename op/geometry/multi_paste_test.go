package geometry

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestMultiPaste(t *testing.T) {
	in := inputs(optest.Of("HWC", []int{2, 3, 1}, uint8(1), 2, 3, 4, 5, 6))
	pair := func(v ...int32) optest.Samples { return sample(optest.Of("", []int{len(v) / 2, 2}, v...)) }
	part := func(v ...float32) optest.Samples { return sample(optest.Of("", []int{len(v) / 2, 2}, v...)) }
	with := func(more op.Args) op.Args {
		args := op.Args{"in_ids": 0, "output_size": []int{4, 4}}
		for k, v := range more {
			args[k] = v
		}
		return args
	}
	checkAll(t, []row{
		{Op: "multi_paste", Inputs: in, Want: in[0]},
		{Op: "multi_paste", Inputs: in, Args: op.Args{"in_ids": []int{0}, "dtype": tensor.Int16}, Want: optest.Of("HWC", []int{2, 3, 1}, int16(1), 2, 3, 4, 5, 6)},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_anchors_rel": part(.26, .4), "shapes_rel": part(.5, .5), "out_anchors_rel": part(.4, .35)}),
			Want: optest.Of("HWC", []int{4, 4, 1}, uint8(0), 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0)},
		{Op: "multi_paste", Inputs: inputs(in[0], optest.Of("HWC", []int{1, 1, 1}, uint8(9))), Args: op.Args{"output_size": []int{2, 3}, "out_anchors": pair(0, 0, 1, 1)},
			Want: optest.Of("HWC", []int{2, 3, 1}, uint8(1), 2, 3, 4, 9, 6)},
		{Op: "multi_paste", Inputs: inputs(in[0], optest.Of("HWC", []int{1, 1, 1}, uint8(9))), Fails: true},
		{Op: "multi_paste", Inputs: inputs(in[0], in[0]), Args: with(nil), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_ids": 1}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_ids": -1}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_anchors": pair(0, 2), "shapes": pair(1, 2)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_anchors": pair(-1, 0)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"shapes": pair(-1, 1)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"out_anchors": pair(3, 0)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_ids": []int{0, 0}, "in_anchors": pair(0, 0)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_anchors": pair(0, 0), "in_anchors_rel": part(0, 0)}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"in_anchors": 1}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"output_size": []int{4}}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"output_size": []int{-4, 4}}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"output_size": []int{1 << 40, 1 << 40}}), Fails: true},
		{Op: "multi_paste", Inputs: in, Args: with(op.Args{"dtype": tensor.Float16}), Fails: true},
		{Op: "multi_paste", Inputs: inputs(picture("", 2, 2)), Args: with(nil), Fails: true},
		{Op: "multi_paste", Inputs: inputs(optest.Of("", nil, uint8(1))), Args: with(nil), Fails: true},
	})
	batch := []tensor.Tensor{in[0], optest.Of("HWC", []int{1, 1, 2}, uint8(1), 2)}
	r, err := optest.Run(optest.Case{Op: "multi_paste", Args: with(op.Args{"in_ids": []int{0, 1}}), Inputs: [][]tensor.Tensor{batch}})
	if err != nil || !errors.Is(r.Errors[0], errs.Mismatch) {
		t.Errorf("pictures of 1 and 2 channels on one canvas: %v %v", err, r.Errors)
	}
}

// TestNothingPanics gives operators random arguments; they compute or return an error.
func TestNothingPanics(t *testing.T) {
	params := map[string][]string{
		"transforms.translation": {"offset"}, "transforms.scale": {"scale", "center"}, "transforms.rotation": {"angle", "axis", "center"},
		"transforms.shear": {"shear", "angles", "center"}, "transforms.crop": {"from_start", "from_end", "to_start", "to_end"},
		"coord_transform": {"M", "MT", "T"}, "warp_affine": {"matrix", "size", "fill_value"}, "rotate": {"angle", "axis", "size"},
		"paste": {"fill_value", "ratio", "paste_x"}, "grid_mask": {"ratio", "angle", "shift_x"}, "water": {"ampl_x", "freq_y"}, "sphere": nil,
		"multi_paste": {"in_ids", "output_size"}, "coord_flip": {"center_x"},
	}
	var names []string
	for name := range params {
		names = append(names, name)
	}
	slices.Sort(names)
	numbers := rapid.SampledFrom([]float64{-1e30, -7, -1, -0.5, 0, 0.3, 1, 1.5, 2, 3, 6, 9, 1e9, 1e30})
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "op")
		args := op.Args{}
		for _, p := range params[name] {
			switch {
			case !rapid.Bool().Draw(t, "give "+p):
			case p == "fill_value" && name == "paste" || p == "in_ids" || p == "output_size":
				args[p] = rapid.SliceOfN(rapid.IntRange(-2, 9), 0, 3).Draw(t, p)
			case p == "size":
				args[p] = rapid.SliceOfN(rapid.Float64Range(-2, 9), 0, 3).Draw(t, p)
			case p == "ratio" && name == "paste":
				args[p] = rapid.Float64Range(0, 4).Draw(t, p)
			default:
				args[p] = numbers.Draw(t, p)
				if s, _ := op.Lookup(name); s != nil {
					if q, _ := s.Param(p); q.Type == op.Floats {
						args[p] = rapid.SliceOfN(numbers, 0, 12).Draw(t, p)
					}
				}
			}
		}
		in := tensor.New(rapid.SampledFrom([]tensor.DType{tensor.Uint8, tensor.Int16, tensor.Float32, tensor.Bool}).Draw(t, "dtype"),
			rapid.SliceOfN(rapid.IntRange(0, 4), 0, 5).Draw(t, "shape")...)
		if l := rapid.SampledFrom([]string{"", "HWC", "DHWC", "FHWC", "FDHWC", "CHW"}).Draw(t, "layout"); len(l) == len(in.Shape) {
			in.Layout = l
		}
		c := optest.Case{Op: name, Args: args, Static: rapid.Bool().Draw(t, "static"), Count: 1}
		if len(params[name]) == 0 || rapid.Bool().Draw(t, "input") || name[0] != 't' {
			c.Inputs = [][]tensor.Tensor{{in}}
		}
		r, err := optest.Run(c)
		if err == nil && r.Errors[0] == nil {
			if err := r.Outputs[0][0].Check(); err != nil {
				t.Fatalf("%s %v of %v: %v", name, args, in, err)
			}
		}
	})
}
