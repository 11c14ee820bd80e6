package reduce

import (
	"testing"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

func BenchmarkReduce(b *testing.B) {
	image := tensor.New(tensor.Uint8, 224, 224, 3)
	floats := tensor.New(tensor.Float32, 3, 224, 224)
	for _, c := range []struct {
		name, op string
		args     op.Args
		in       tensor.Tensor
	}{
		{"mean of uint8", "reductions.mean", nil, image},
		{"mean of channels", "reductions.mean", op.Args{"axes": []int{0, 1}}, image},
		{"mean of float32", "reductions.mean", nil, floats},
		{"max of planes", "reductions.max", op.Args{"axes": []int{1, 2}}, floats},
		{"normalize uint8", "normalize", op.Args{"axes": []int{0, 1}}, image},
		{"normalize float32", "normalize", nil, floats},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, err := optest.New(optest.Case{Op: c.op, Args: c.args, Inputs: [][]tensor.Tensor{{c.in}}})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(c.in.Data)))
			for b.Loop() {
				if err := r.Run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
