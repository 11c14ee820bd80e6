package generic

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name:    "reshape",
		Doc:     "Gives the elements, in their order, another shape or layout.",
		Inputs:  reshapingInputs(),
		Outputs: []op.Port{{Name: "output", Doc: "the same elements in the other shape"}},
		Params:  reshapingParams(),
		New:     func(c *op.Config) (op.Kernel, error) { return newReshaping(c) },
	})
}
