package segmentation

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// The runs of a mask make the mask again, and the runs of COCO's example are as in COCO.
func TestRuns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h, w := rapid.IntRange(0, 6).Draw(t, "h"), rapid.IntRange(0, 6).Draw(t, "w")
		m := tensor.New(tensor.Uint8, h, w)
		for i := range m.Data {
			m.Data[i] = byte(rapid.IntRange(0, 1).Draw(t, "pixel"))
		}
		r, err := optest.Run(optest.Case{Op: "segmentation.encode_runs", Inputs: optest.Inputs(m)})
		if err != nil || r.Errors[0] != nil {
			t.Fatal(err, r.Errors)
		}
		back, err := optest.Run(optest.Case{Op: "segmentation.decode_runs",
			Inputs: optest.Inputs(r.Outputs[0][0]), Args: op.Args{"size": []int{h, w}}})
		if err != nil || back.Errors[0] != nil {
			t.Fatal(err, back.Errors)
		}
		if got := back.Outputs[0][0]; !got.Shape.Equal(m.Shape) || !bytes.Equal(got.Data, m.Data) {
			t.Fatalf("%v of %v", got.Data, m.Data)
		}
	})
	r := optest.MustRun(t, optest.Case{Op: "segmentation.encode_runs",
		Inputs: optest.Inputs(tensor.FromSlice([]uint8{0, 1, 0, 1, 1, 0}, 2, 3))})
	if v, _ := tensor.Of[uint32](r.Outputs[0][0]); !slices.Equal(v, []uint32{1, 3, 2}) {
		t.Errorf("runs %v, want 1 3 2", v)
	}
}

func filled(t *testing.T, size []int, points []float32, table ...int32) []int32 {
	t.Helper()
	r := optest.MustRun(t, optest.Case{Op: "segmentation.fill_polygons", Args: op.Args{"size": size},
		Inputs: optest.Inputs(tensor.FromSlice(table, len(table)/3, 3), tensor.FromSlice(points, len(points)/2, 2))})
	v, _ := tensor.Of[int32](r.Outputs[0][0])
	return v
}

func TestFillPolygons(t *testing.T) {
	square := []float32{1, 1, 3, 1, 3, 3, 1, 3}
	if got := filled(t, []int{4, 4}, square, 7, 0, 4); !slices.Equal(got,
		[]int32{-1, -1, -1, -1, -1, 7, 7, -1, -1, 7, 7, -1, -1, -1, -1, -1}) {
		t.Errorf("a square: %v", got)
	}
	// Neighbours share no pixel and leave none out.
	halves := []float32{-5, -5, 1.5, -5, 1.5, 9, -5, 9, 1.5, -5, 99, -5, 99, 9, 1.5, 9}
	if got := filled(t, []int{1, 3}, halves, 0, 0, 4, 1, 4, 8); !slices.Equal(got, []int32{0, 1, 1}) {
		t.Errorf("two halves: %v", got)
	}
	if got := filled(t, []int{2, 2}, square, 1, 0, 2, 2, 1, 1); !slices.Equal(got, []int32{-1, -1, -1, -1}) {
		t.Errorf("polygons of fewer than 3 vertices: %v", got)
	}
}

func TestFormsRefuse(t *testing.T) {
	runs, points := tensor.FromSlice([]uint32{1, 3}, 2), tensor.New(tensor.Float32, 3, 2)
	size := op.Args{"size": []int{2, 3}}
	rows := []optest.Row{
		{Op: "segmentation.decode_runs", Inputs: []tensor.Tensor{runs}, Args: size},
		{Op: "segmentation.decode_runs", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{-1, 7}, 2)}, Args: size},
		{Op: "segmentation.decode_runs", Inputs: []tensor.Tensor{tensor.FromSlice([]uint32{1 << 31, 1 << 31}, 2)}, Args: size},
		{Op: "segmentation.decode_runs", Inputs: []tensor.Tensor{runs}, Args: op.Args{"size": 4}},
		{Op: "segmentation.decode_runs", Inputs: []tensor.Tensor{runs}, Args: op.Args{"size": []int{-1, -4}}},
		{Op: "segmentation.encode_runs", Inputs: []tensor.Tensor{runs}},
		{Op: "segmentation.fill_polygons", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{0, 0, 4}, 1, 3), points}, Args: size},
		{Op: "segmentation.fill_polygons", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{0, 2, 1}, 1, 3), points}, Args: size},
		{Op: "segmentation.fill_polygons", Inputs: []tensor.Tensor{tensor.FromSlice([]int32{0, 2}, 1, 2), points}, Args: size},
	}
	for i := range rows {
		rows[i].Fails = true
	}
	optest.CheckRows(t, rows, nil)
}

func TestFormsAllocateNothing(t *testing.T) {
	size := op.Args{"size": []int{2, 3}}
	polygons, points := tensor.FromSlice([]int32{0, 0, 3}, 1, 3), tensor.FromSlice([]float32{0, 0, 3, 0, 0, 2}, 3, 2)
	optest.CheckAllocations(t, []optest.Case{
		{Op: "segmentation.encode_runs", Inputs: optest.Inputs(sample(tensor.Uint8, 2, 3))},
		{Op: "segmentation.decode_runs", Inputs: optest.Inputs(tensor.FromSlice([]uint32{1, 5}, 2)), Args: size},
		{Op: "segmentation.fill_polygons", Inputs: optest.Inputs(polygons, points), Args: size},
	})
}
