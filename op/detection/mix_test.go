package detection

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func floatsOf(t *testing.T, x tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Of[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPrune(t *testing.T) {
	nan := float32(math.NaN())
	in := boxes([4]float32{0.1, 0.2, 0.5, 0.6}, [4]float32{-0.5, 0, 0.5, 1}, [4]float32{0.9, 0.9, 1.9, 1.9},
		[4]float32{0.5, 0.5, 0.5, 0.9},
		[4]float32{0.6, 0.1, 0.2, 0.9}, [4]float32{nan, 0, 1, 1}, [4]float32{1.5, 1.5, 2, 2})
	names := tensor.FromSlice([]int16{1, 2, 3, 4, 5, 6, 7}, 7)
	for _, c := range []struct {
		args op.Args
		want []int16
	}{
		{op.Args{}, []int16{1, 2, 3}},
		{op.Args{"min_visibility": 0.3}, []int16{1, 2}},
		{op.Args{"min_visibility": 0.6}, []int16{1}},
		{op.Args{"min_area": 0.2}, []int16{2}},
		{op.Args{"min_size": 0.45}, []int16{2}},
		{op.Args{"clip": false}, []int16{1, 2, 3}},
		{op.Args{"input_shape": []int{3, 2}}, []int16{1, 2, 3, 7}},
		{op.Args{"min_area": optest.Samples{tensor.ScalarOf[float32](0.2)}}, []int16{2}},
	} {
		c.args["output_bbox_indices"] = true
		r := optest.MustRun(t, optest.Case{Op: "bbox_prune", Args: c.args, Inputs: optest.Inputs(in, names)})
		kept, _ := tensor.Of[int16](r.Outputs[1][0])
		indices, _ := tensor.Of[int32](r.Outputs[2][0])
		if !slices.Equal(kept, c.want) || len(indices) != len(kept) || r.Outputs[0][0].Shape[0] != len(kept) {
			t.Errorf("%v: %v %v, want %v", c.args, kept, indices, c.want)
			continue
		}
		for i, at := range indices {
			box := floatsOf(t, r.Outputs[0][0])[4*i : 4*i+4]
			if _, pixels := c.args["input_shape"]; c.args["clip"] == nil && !pixels && (box[0] < 0 || box[2] > 1 || box[3] > 1) {
				t.Errorf("%v: box %d is %v", c.args, at, box)
			}
		}
	}
	r := optest.MustRun(t, optest.Case{Op: "bbox_prune", Args: op.Args{"bbox_layout": "xyWH"},
		Inputs: optest.Inputs(boxes([4]float32{-0.5, 0.25, 1, 0.5}))})
	if got := floatsOf(t, r.Outputs[0][0]); !slices.Equal(got, []float32{0, 0.25, 0.5, 0.5}) {
		t.Errorf("width and height: %v", got)
	}
}

func TestMixup(t *testing.T) {
	a, b := tensor.FromSlice([]uint8{0, 100, 255, 9}, 1, 4, 1), tensor.FromSlice([]uint8{100, 0, 255, 10}, 1, 4, 1)
	la, lb := tensor.FromSlice([]float32{1, 0}, 2), tensor.FromSlice([]float32{0, 1}, 2)
	for _, c := range []struct {
		ratio  float64
		want   []uint8
		labels []float32
	}{
		{1, []uint8{0, 100, 255, 9}, []float32{1, 0}}, {0, []uint8{100, 0, 255, 10}, []float32{0, 1}},
		{0.25, []uint8{75, 25, 255, 10}, []float32{0.25, 0.75}},
	} {
		r := optest.MustRun(t, optest.Case{Op: "mixup", Args: op.Args{"ratio": c.ratio}, Inputs: optest.Inputs(a, b, la, lb)})
		if got := r.Outputs[0][0].Data; !bytes.Equal(got, c.want) || !slices.Equal(floatsOf(t, r.Outputs[1][0]), c.labels) {
			t.Errorf("%g: %v %v", c.ratio, got, r.Outputs[1][0])
		}
	}
}

func TestCutmix(t *testing.T) {
	a, b := tensor.New(tensor.Uint8, 4, 4, 1), tensor.New(tensor.Uint8, 4, 4, 1)
	for i := range b.Data {
		b.Data[i] = 1
	}
	la, lb := tensor.FromSlice([]float32{1, 0}, 2), tensor.FromSlice([]float32{0, 1}, 2)
	for _, c := range []struct {
		args  op.Args
		count int
		first int
	}{
		{op.Args{"ratio": 0.75}, 4, 5}, {op.Args{"ratio": 1.0}, 0, -1}, {op.Args{"ratio": 0.0}, 16, 0},
		{op.Args{"ratio": 0.75, "centre_x": 0.0, "centre_y": 0.0}, 1, 0}, {op.Args{"ratio": 0.75, "centre_x": 1.0}, 2, 7},
	} {
		r := optest.MustRun(t, optest.Case{Op: "cutmix", Args: c.args, Inputs: optest.Inputs(a, b, la, lb)})
		got, labels := r.Outputs[0][0].Data, floatsOf(t, r.Outputs[1][0])
		if bytes.Count(got, []byte{1}) != c.count || bytes.IndexByte(got, 1) != c.first || labels[1] != float32(c.count)/16 {
			t.Errorf("%v: %v %v", c.args, got, labels)
		}
	}
}

func mosaicOf(sizes [4][2]int) [][]tensor.Tensor {
	in := make([][]tensor.Tensor, 12)
	for i, size := range sizes {
		image := tensor.New(tensor.Uint8, size[0], size[1], 1)
		image.Layout = "HWC"
		for p := range image.Data {
			image.Data[p] = byte(i + 1)
		}
		in[i], in[4+i], in[8+i] = []tensor.Tensor{image}, []tensor.Tensor{boxes([4]float32{0, 0, 1,
			1})}, []tensor.Tensor{labels(int32(10 + i))}
	}
	return in
}

func TestMosaic(t *testing.T) {
	r := optest.MustRun(t, optest.Case{Op: "mosaic", Args: op.Args{"size": []int{4, 4}, "fill_value": 9},
		Inputs: mosaicOf([4][2]int{{9, 9}, {1, 2}, {2, 2}, {5, 5}})})
	if got, want := r.Outputs[0][0].Data, []byte{1, 1, 9, 9, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4}; !bytes.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	want := []float32{0, 0, 0.5, 0.5, 0.5, 0.25, 1, 0.5, 0, 0.5, 0.5, 1, 0.5, 0.5, 1, 1}
	if got := floatsOf(t, r.Outputs[1][0]); !slices.Equal(got, want) {
		t.Errorf("boxes %v, want %v", got, want)
	}
	r = optest.MustRun(t, optest.Case{Op: "mosaic", Args: op.Args{"size": []int{4, 4}, "centre_x": 0.0,
		"min_visibility": 0.9}, Inputs: mosaicOf([4][2]int{{2, 2}, {2, 4}, {2, 2}, {2, 8}})})
	if v, _ := tensor.Of[int32](r.Outputs[2][0]); !slices.Equal(v, []int32{11}) {
		t.Errorf("labels %v, want 11: the others are not on the canvas, or half of them", v)
	}
}

func TestMixesRefuse(t *testing.T) {
	a, b, l := picture(2, 3), picture(3, 2), tensor.FromSlice([]float32{1, 0}, 2)
	four := mosaicOf([4][2]int{{2, 2}, {2, 2}, {2, 2}, {2, 2}})
	flat := func(change func(in []tensor.Tensor)) []tensor.Tensor {
		var in []tensor.Tensor
		for _, x := range four {
			in = append(in, x[0])
		}
		change(in)
		return in
	}
	rows := []optest.Row{
		{Op: "mixup", Inputs: []tensor.Tensor{a, b}, Args: op.Args{"ratio": 0.5}},
		{Op: "mixup", Inputs: []tensor.Tensor{a, a}, Args: op.Args{"ratio": 1.5}},
		{Op: "mixup", Inputs: []tensor.Tensor{a, a}, Args: op.Args{"ratio": math.NaN()}},
		{Op: "mixup", Inputs: []tensor.Tensor{a, l}, Args: op.Args{"ratio": 0.5}},
		{Op: "mixup", Inputs: []tensor.Tensor{a, a, l, tensor.FromSlice([]float32{1}, 1)}, Args: op.Args{"ratio": 0.5}},
		{Op: "cutmix", Inputs: []tensor.Tensor{a, b}, Args: op.Args{"ratio": 0.5}},
		{Op: "cutmix", Inputs: []tensor.Tensor{l, l}, Args: op.Args{"ratio": 0.5}},
		{Op: "cutmix", Inputs: []tensor.Tensor{a, a}, Args: op.Args{"ratio": 0.5, "centre_y": -1.0}},
		{Op: "mosaic", Inputs: flat(func([]tensor.Tensor) {}), Args: op.Args{"size": 4}},
		{Op: "mosaic", Inputs: flat(func([]tensor.Tensor) {}), Args: op.Args{"size": []int{4, 4}, "fill_value": 256}},
		{Op: "mosaic", Inputs: flat(func(in []tensor.Tensor) { in[3] = a }), Args: op.Args{"size": []int{4, 4}}},
		{Op: "mosaic", Inputs: flat(func(in []tensor.Tensor) { in[9] = labels(1, 2) }), Args: op.Args{"size": []int{4, 4}}},
		{Op: "mosaic", Inputs: flat(func(in []tensor.Tensor) { in[8] = l }), Args: op.Args{"size": []int{4, 4}}},
		{Op: "bbox_prune", Inputs: []tensor.Tensor{one, labels(1)}},
		{Op: "bbox_prune", Inputs: []tensor.Tensor{one}, Args: op.Args{"bbox_layout": "yxYX"}},
		{Op: "bbox_prune", Inputs: []tensor.Tensor{one}, Args: op.Args{"input_shape": 5}},
		{Op: "bbox_prune", Inputs: []tensor.Tensor{one}, Args: op.Args{"min_area": math.NaN()}},
	}
	for i := range rows {
		rows[i].Fails = true
	}
	optest.CheckRows(t, rows, nil)
}

func TestMixesAllocateNothing(t *testing.T) {
	a, l := picture(8, 8), tensor.FromSlice([]float32{1, 0}, 2)
	optest.CheckAllocations(t, []optest.Case{
		{Op: "mixup", Inputs: optest.Inputs(a, a, l, l), Args: op.Args{"ratio": 0.5}},
		{Op: "cutmix", Inputs: optest.Inputs(a, a, l, l), Args: op.Args{"ratio": 0.5}},
		{Op: "mosaic", Inputs: mosaicOf([4][2]int{{2, 2}, {3, 3}, {4, 4}, {5, 5}}), Args: op.Args{"size": []int{6, 6}}},
		{Op: "bbox_prune", Inputs: optest.Inputs(one, labels(1, 2)), Args: op.Args{"min_area": 0.01}},
	})
}
