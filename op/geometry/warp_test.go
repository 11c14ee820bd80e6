package geometry

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func picture(layout string, shape ...int) tensor.Tensor {
	t := tensor.New(tensor.Uint8, shape...)
	t.Layout = layout
	for i := range t.Data {
		t.Data[i] = byte(i)
	}
	return t
}

func TestWarpRefuses(t *testing.T) {
	in := inputs(picture("HWC", 5, 4, 1))
	keep := []float64{1, 0, 0, 0, 1, 0}
	with := func(name string, v any) op.Args { return op.Args{"matrix": keep, name: v} }
	checkAll(t, []row{
		{Op: "warp_affine", Inputs: in, Args: op.Args{"matrix": keep}, Want: in[0]},
		{Op: "warp_affine", Inputs: in, Args: with("size", []float64{2.5, 3.4}), Want: optest.Of("HWC", []int{3, 3, 1}, uint8(0), 1, 2, 4, 5, 6, 8, 9, 10)},
		{Op: "warp_affine", Inputs: inputs(picture("FHWC", 2, 2, 2, 1)), Args: op.Args{"matrix": []float64{1, 0, 1, 0, 1, 0}, "fill_value": 9.0},
			Want: optest.Of("FHWC", []int{2, 2, 2, 1}, uint8(1), 9, 3, 9, 5, 9, 7, 9)},
		{Op: "warp_affine", Inputs: inputs(picture("", 5, 4, 1)), Args: op.Args{"matrix": keep}, Want: in[0]},
		{Op: "warp_affine", Inputs: inputs(picture("HWC", 0, 4, 1)), Args: op.Args{"matrix": keep}, Want: picture("HWC", 0, 4, 1)},
		{Op: "warp_affine", Inputs: inputs(picture("HWC", 0, 4, 1)), Args: with("size", []float64{2, 2}), Fails: true}, // DALI hangs
		{Op: "warp_affine", Inputs: in, Fails: true},
		{Op: "warp_affine", Inputs: in, Args: op.Args{"matrix": keep[1:]}, Fails: true},
		{Op: "warp_affine", Inputs: in, Args: op.Args{"matrix": []float64{1, 1, 1, 1, 1, 1}, "inverse_map": false}, Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("interp_type", op.InterpCubic), Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("dtype", tensor.Int16), Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("size", []float64{0, 3}), Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("size", []float64{-2, 3}), Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("size", 2.0), Fails: true},
		{Op: "warp_affine", Inputs: in, Args: with("size", []float64{2e9, 2e9}), Fails: true},
		{Op: "warp_affine", Inputs: inputs(picture("CHW", 5, 4, 1)), Args: op.Args{"matrix": keep}, Fails: true},
		{Op: "warp_affine", Inputs: inputs(picture("", 5, 4)), Args: op.Args{"matrix": keep}, Fails: true},
		{Op: "warp_affine", Inputs: inputs(picture("DHWC", 5, 4, 1, 1)), Args: op.Args{"matrix": keep}, Fails: true},
		{Op: "warp_affine", Inputs: inputs(in[0], optest.Of("", []int{2, 3}, 1.0, 0, 0, 0, 1, 0)), Fails: true},
		{Op: "warp_affine", Inputs: inputs(optest.Of("HWC", []int{1, 1, 1}, int8(1))), Args: op.Args{"matrix": keep}, Fails: true},
		{Op: "rotate", Inputs: in, Args: op.Args{"angle": 0.0}, Want: in[0]},
		{Op: "rotate", Inputs: in, Args: op.Args{"angle": math.NaN()}, Fails: true},
		{Op: "rotate", Inputs: inputs(picture("DHWC", 2, 3, 4, 1)), Args: op.Args{"angle": 10.0, "axis": []float64{0, 0, 0}}, Fails: true},
		{Op: "rotate", Inputs: inputs(picture("DHWC", 2, 3, 4, 1)), Args: op.Args{"angle": 0.0}, Fails: true},
		{Op: "rotate", Inputs: inputs(picture("DHWC", 2, 3, 4, 1)), Args: op.Args{"angle": 0.0, "axis": []float64{1, 0}}, Fails: true},
		{Op: "rotate", Inputs: in, Fails: true},
	})
}

// TestWarpThereAndBack maps by a transform and by its inverse. Points are float32.
func TestWarpThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float32Range(-3, 3), 6, 6).Draw(t, "matrix")
		m := affineMap{n: 2, matrix: [3][3]float32{{v[0], v[1]}, {v[3], v[4]}}, offset: [3]float32{v[2], v[5]}}
		back, err := m.inverse()
		if abs(v[0]*v[4]-v[1]*v[3]) < 1e-1 || err != nil {
			return
		}
		var xs, ys, zs [3]float32
		m.row(0, 4, xs[:], ys[:], zs[:])
		for i := range xs {
			x := back.matrix[0][0]*xs[i] + back.matrix[0][1]*ys[i] + back.offset[0]
			y := back.matrix[1][0]*xs[i] + back.matrix[1][1]*ys[i] + back.offset[1]
			if abs(x-float32(i)-0.5) > 1e-2 || abs(y-4.5) > 1e-2 {
				t.Fatalf("pixel %d, 4 came back as %g, %g", i, x-0.5, y-0.5)
			}
		}
	})
}

// TestQuarterTurns turns a picture by right angles, which moves pixels exactly.
func TestQuarterTurns(t *testing.T) {
	in := picture("HWC", 3, 5, 2)
	turned := in
	for range 4 {
		r, err := optest.Run(optest.Case{Op: "rotate", Args: op.Args{"angle": 90.0, "fill_value": 0.0, "interp_type": op.InterpNN}, Inputs: [][]tensor.Tensor{{turned}}})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(err, r.Errors)
		}
		turned = r.Outputs[0][0].Clone()
		if h, w := turned.Shape[0], turned.Shape[1]; h*w != 15 {
			t.Fatalf("turned to %v", turned)
		}
	}
	if !turned.Equal(in) {
		t.Errorf("four turns gave %v", turned.Data)
	}
}

func BenchmarkWarp(b *testing.B) {
	in := picture("HWC", 224, 224, 3)
	for name, args := range map[string]op.Args{
		"linear": {"angle": 20.0, "keep_size": true}, "nearest": {"angle": 20.0, "keep_size": true, "interp_type": op.InterpNN, "fill_value": 0.0},
	} {
		b.Run(name, func(b *testing.B) {
			optest.Bench(b, optest.Case{Op: "rotate", Args: args, Inputs: [][]tensor.Tensor{{in}}})
		})
	}
}

// Perspective warps allocate nothing once they have run, whatever the type and the filter.
func TestPerspectiveAllocatesNothing(t *testing.T) {
	var cases []optest.Case
	for _, dtype := range []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Int16, tensor.Float32} {
		for _, interp := range []op.InterpType{op.InterpLinear, op.InterpNN, op.InterpCubic} {
			for _, c := range []int{2, 3} {
				in := tensor.New(dtype, 9, 21, c)
				in.Layout = "HWC"
				cases = append(cases, optest.Case{Op: "experimental.warp_perspective", Inputs: [][]tensor.Tensor{{in}},
					Args: op.Args{"matrix": []float64{0.9, 0.1, 5, -0.05, 1.1, -3, 0.002, -0.01, 1}, "interp_type": interp}})
			}
		}
	}
	optest.CheckAllocations(t, cases)
}

func BenchmarkPerspective(b *testing.B) {
	matrix := []float64{0.9, 0.1, 5, -0.05, 1.1, 3, 0.0002, -0.0001, 1}
	for _, t := range []tensor.DType{tensor.Uint8, tensor.Uint16, tensor.Int16, tensor.Float32} {
		in := tensor.New(t, 224, 224, 3)
		in.Layout = "HWC"
		filters := map[string]op.InterpType{"linear": op.InterpLinear, "nearest": op.InterpNN, "cubic": op.InterpCubic}
		for name, interp := range filters {
			b.Run(name+"-"+t.String(), func(b *testing.B) {
				args := op.Args{"matrix": matrix, "interp_type": interp}
				optest.Bench(b, optest.Case{Op: "experimental.warp_perspective", Args: args, Inputs: [][]tensor.Tensor{{in}}})
			})
		}
	}
}

func TestDisplacementsAndMasks(t *testing.T) {
	in := inputs(picture("HWC", 2, 3, 1))
	checkAll(t, []row{
		{Op: "water", Inputs: in, Args: op.Args{"mask": 0}, Want: in[0]},
		{Op: "water", Inputs: in, Args: op.Args{"ampl_x": 0.0, "ampl_y": 0.0}, Want: in[0]},
		{Op: "water", Inputs: inputs(optest.Of("HWC", []int{1, 1, 1}, uint16(1))), Fails: true},
		{Op: "water", Inputs: inputs(picture("CHW", 2, 3, 1)), Fails: true},
		{Op: "sphere", Inputs: in, Args: op.Args{"interp_type": op.InterpLanczos3}, Fails: true},
		{Op: "sphere", Inputs: inputs(picture("", 2, 3)), Fails: true},
		{Op: "grid_mask", Inputs: in, Args: op.Args{"tile": 2}, Want: optest.Of("HWC", []int{2, 3, 1}, uint8(0), 1, 0, 3, 4, 5)},
		{Op: "grid_mask", Inputs: in, Args: op.Args{"tile": 2, "ratio": 0.0}, Want: in[0]},
		{Op: "grid_mask", Inputs: in, Args: op.Args{"tile": 2, "ratio": 2.0}, Want: optest.Of("HWC", []int{2, 3, 1}, uint8(0), 0, 0, 0, 0, 0)},
		{Op: "grid_mask", Inputs: in, Args: op.Args{"tile": 0}, Fails: true},
		{Op: "grid_mask", Inputs: in, Args: op.Args{"tile": sample(optest.Of("", nil, int32(-1)))}, Fails: true},
		{Op: "grid_mask", Inputs: inputs(optest.Of("HWC", []int{1, 1, 1}, int8(1))), Fails: true},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 2.0, "fill_value": 9, "paste_x": 0.0, "paste_y": 1.0, "n_channels": 1},
			Want: optest.Of("HWC", []int{4, 6, 1}, uint8(9), 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 1, 2, 9, 9, 9, 3, 4, 5, 9, 9, 9)},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 1.0, "fill_value": 300, "min_canvas_size": 4.0}, Want: optest.Of("HWC", []int{4, 4, 1},
			uint8(44), 44, 44, 44, 0, 1, 2, 44, 3, 4, 5, 44, 44, 44, 44, 44)},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 0.5, "fill_value": 9}, Fails: true},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 1e30, "fill_value": 9}, Fails: true},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 2.0, "fill_value": []int{9, 8}}, Fails: true},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 2.0, "fill_value": []int{9, 8, 7}}, Fails: true},
		{Op: "paste", Inputs: in, Args: op.Args{"ratio": 2.0, "fill_value": 9, "paste_x": 1.5}, Fails: true},
		{Op: "paste", Inputs: inputs(optest.Of("HWC", []int{1, 1, 1}, int16(1))), Args: op.Args{"ratio": 2.0, "fill_value": 9}, Fails: true},
	})
}
