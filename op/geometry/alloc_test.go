package geometry

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestAllocates runs operators again and again: a steady state allocates nothing.
func TestAllocates(t *testing.T) {
	m, points := matrix(2, 1, 2, 3, 4, 5, 6), tensor.New(tensor.Float32, 5, 2)
	for _, c := range []struct {
		op     string
		args   op.Args
		inputs []tensor.Tensor
	}{
		{"transforms.translation", op.Args{"offset": []float64{1, 2}}, nil},
		{"transforms.scale", op.Args{"scale": []float64{1, 2}, "center": []float64{1, 2}}, inputs(m)},
		{"transforms.rotation", op.Args{"angle": 20.0, "axis": []float64{1, 2, 3}}, nil},
		{"transforms.shear", op.Args{"shear": []float64{1, 2}}, inputs(m)},
		{"transforms.crop", op.Args{"to_end": []float64{1, 2}}, nil},
		{"transforms.combine", nil, inputs(m, m)},
		{"coord_transform", op.Args{"MT": sample(m)}, inputs(points)},
		{"coord_flip", nil, inputs(points)},
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
