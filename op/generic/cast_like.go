package generic

import "github.com/bivouac-ml/bivouac/op"

func init() {
	op.Register(op.Schema{
		Name: "cast_like",
		Doc:  "Converts elements to the type of other data, as cast does.",
		Inputs: []op.Port{
			{Name: "input", Doc: "numbers of any shape"},
			{Name: "like", Doc: "data whose type is taken; its contents are not read"},
		},
		Outputs: []op.Port{{Name: "output", Doc: "the shape of the input in the other type"}},
		New:     func(c *op.Config) (op.Kernel, error) { return &cast{config: c}, nil },
	})
}
