package reduce

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
	one := tensor.FromSlice([]float32{1})
	for _, c := range []struct {
		op     string
		args   op.Args
		inputs []tensor.Tensor
	}{
		{"reductions.sum", nil, inputs(image)},
		{"reductions.mean", op.Args{"axes": []int{0, 1}}, inputs(image)},
		{"reductions.mean_square", op.Args{"axis_names": "HW"}, inputs(image)},
		{"reductions.rms", op.Args{"axes": []int{1}}, inputs(image)},
		{"reductions.max", op.Args{"axes": []int{2}, "keep_dims": true}, inputs(image)},
		{"reductions.variance", nil, inputs(image, one)},
		{"normalize", op.Args{"axes": []int{0, 1}}, inputs(image)},
		{"normalize", op.Args{"dtype": tensor.Uint8, "mean": 3.0}, inputs(image)},
		{"normalize", op.Args{"batch": true}, inputs(image)},
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
