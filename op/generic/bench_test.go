package generic

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkGeneric(b *testing.B) {
	image := tensor.New(tensor.Uint8, 224, 224, 3)
	planes := tensor.New(tensor.Uint8, 3, 224, 224)
	floats := tensor.New(tensor.Float32, 224, 224, 3)
	for _, c := range []struct {
		name, op string
		args     op.Args
		inputs   []tensor.Tensor
	}{
		{"transpose HWC to CHW", "transpose", op.Args{"perm": []int{2, 0, 1}}, inputs(image)},
		{"transpose CHW to HWC", "transpose", op.Args{"perm": []int{1, 2, 0}}, inputs(planes)},
		{"cast uint8 to float32", "cast", op.Args{"dtype": tensor.Float32}, inputs(image)},
		{"cast float32 to uint8", "cast", op.Args{"dtype": tensor.Uint8}, inputs(floats)},
		{"pad", "pad", op.Args{"shape": []int{256, 256, 3}}, inputs(image)},
		{"cat of channels", "cat", op.Args{"axis": 2}, inputs(image, image)},
		{"stack", "stack", nil, inputs(image, image)},
		{"lookup_table", "lookup_table", op.Args{"keys": []int{1, 2}, "values": []float64{2, 3}}, inputs(image)},
	} {
		b.Run(c.name, func(b *testing.B) {
			optest.Bench(b, optest.Case{Op: c.op, Args: c.args, Inputs: optest.Inputs(c.inputs...)})
		})
	}
}
