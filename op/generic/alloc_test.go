package generic

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestAllocates runs operators again and again: a steady state allocates nothing.
func TestAllocates(t *testing.T) {
	image := tensor.New(tensor.Uint8, 20, 30, 3)
	image.Layout = "HWC"
	labels := tensor.FromSlice([]int32{1})
	for _, c := range []struct {
		op     string
		args   op.Args
		inputs []tensor.Tensor
	}{
		{"cast", op.Args{"dtype": tensor.Float32}, inputs(image)},
		{"cast_like", nil, inputs(image, labels)},
		{"copy", nil, inputs(image)},
		{"transpose", op.Args{"perm": []int{2, 0, 1}}, inputs(image)},
		{"reshape", op.Args{"shape": []int{-1, 3}}, inputs(image)},
		{"reinterpret", op.Args{"dtype": tensor.Int8}, inputs(image)},
		{"pad", op.Args{"shape": []int{32, 32, 3}}, inputs(image)},
		{"cat", nil, inputs(image, image)},
		{"stack", nil, inputs(image, image)},
		{"constant", op.Args{"idata": []int{1, 2, 3}}, nil},
		{"zeros", op.Args{"shape": []int{10}}, nil},
		{"ones_like", nil, inputs(image)},
		{"full", op.Args{"shape": []int{3, 3}}, inputs(labels)},
		{"full_like", nil, inputs(image, labels)},
		{"one_hot", op.Args{"num_classes": 10}, inputs(labels)},
		{"lookup_table", op.Args{"keys": []int{1}, "values": []float64{2}}, inputs(image)},
		{"element_extract", op.Args{"element_map": []int{0}}, inputs(tensor.New(tensor.Uint8, 4, 5))},
		{"sequence_rearrange", op.Args{"new_order": []int{0, 3}}, inputs(tensor.New(tensor.Uint8, 4, 5))},
		{"permute_batch", op.Args{"indices": []int{0}}, inputs(image)},
		{"get_property", op.Args{"key": "layout"}, inputs(image)},
		{"_shape", nil, inputs(image)},
		{"expand_dims", op.Args{"axes": []int{0}}, inputs(image)},
		{"squeeze", op.Args{"axes": []int{0}}, inputs(tensor.New(tensor.Uint8, 1, 3))},
	} {
		k := optest.Case{Op: c.op, Args: c.args, Count: 1}
		for _, in := range c.inputs {
			k.Inputs = append(k.Inputs, []tensor.Tensor{in})
		}
		r, err := optest.New(k)
		if err != nil {
			t.Fatalf("%s: %v", c.op, err)
		}
		if n := testing.AllocsPerRun(20, func() {
			if err := r.Run(); err != nil || len(r.Result.Errors) > 0 {
				t.Fatalf("%s: %v %v", c.op, err, r.Result.Errors)
			}
		}); n > 0 {
			t.Errorf("%s: %g allocations", c.op, n)
		}
	}
}
