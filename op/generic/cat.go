package generic

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name: "cat",
		Doc: "Joins data along an axis that they have. Samples without elements are left out, whatever their shape. " +
			"The layout is that of the first input.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of one type, whose shapes differ in that axis at most"}},
		Repeat:  mostInputs,
		Outputs: []op.Port{{Name: "output", Doc: "the joined data"}},
		Params:  joiningParams("Axis along which to join; a negative one counts from the end.", "Axis along which to join, by its letter in the layout of the first input."),
		New:     func(c *op.Config) (op.Kernel, error) { return newJoining(c, false) },
	})
}
