package generic

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name:    "stack",
		Doc:     "Joins data along a new axis.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of one type and shape"}},
		Repeat:  mostInputs,
		Outputs: []op.Port{{Name: "output", Doc: "the stacked data"}},
		Params:  joiningParams("Number of the new axis; a negative one counts from the end of the output.", "Letter of the new axis in the layout; without it there is no layout."),
		New:     func(c *op.Config) (op.Kernel, error) { return newJoining(c, true) },
	})
}
