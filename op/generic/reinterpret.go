package generic

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name: "reinterpret",
		Doc: "Takes the bytes of the elements for elements of another type. Without a shape the last axis " +
			"becomes longer or shorter by the ratio of the sizes of both types.",
		Inputs:  reshapingInputs(),
		Outputs: []op.Port{{Name: "output", Doc: "the same bytes with the other type and shape"}},
		Params: append(reshapingParams(),
			op.Parameter{Name: "dtype", Type: op.DType, Doc: "Type of the output; by default that of the input."}),
		New: func(c *op.Config) (op.Kernel, error) { return newReshaping(c) },
	})
}
