package tree_test

import (
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Views returns the memory that Into fills in place, and nothing else.
func TestViews(t *testing.T) {
	type inner struct {
		W    []float32
		Mask []bool
	}
	var cycle any
	cycle = &cycle
	grid := &[2][2]int32{}
	dst := map[string]any{
		"slice": make([]float32, 3), "tensor": tensor.New(tensor.BFloat16, 2, 2), "array": [2]float32{}, "grid": grid,
		"struct": &inner{W: make([]float32, 2), Mask: make([]bool, 2)}, "list": []any{[]int64{1}, nil}, "scalar": 1.5,
		"zero": tensor.Tensor{}, "empty": []float32{}, "node": tree.NewLeaf(1), "cycle": cycle,
	}
	want := map[string]string{
		"slice": "float32[3]", "tensor": "bfloat16[2,2]", "grid": "int32[2,2]", "struct.W": "float32[2]", "list.0": "int64[1]",
	}
	for _, e := range tree.Views(dst) {
		name := e.Path.Param()
		got, _ := e.Node.Tensor()
		if got.String() != want[name] {
			t.Errorf("%s: %v, want %q", name, got, want[name])
		}
		delete(want, name)
		if name == "grid" {
			got.Data[0] = 7
		}
	}
	for name := range want {
		t.Errorf("%s: no view", name)
	}
	if grid[0][0] != 7 {
		t.Error("the view of an array behind a pointer is not its memory")
	}
}

// A tree of the destination's own memory is as good as one of a copy.
func TestIntoOwnMemory(t *testing.T) {
	dst := map[string]any{"w": []float32{0, 0}, "t": tensor.New(tensor.Int8, 2)}
	src := tree.NewDict()
	for _, e := range tree.Views(dst) {
		v, _ := e.Node.Tensor()
		for i := range v.Data {
			v.Data[i] = 1
		}
		src.Set(e.Path.Param(), e.Node)
	}
	if err := tree.Into(src, dst); err != nil {
		t.Fatal(err)
	}
	if got := dst["t"].(tensor.Tensor).Data; got[0] != 1 || got[1] != 1 {
		t.Errorf("got %v", got)
	}
}
