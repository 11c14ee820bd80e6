package generic

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name:    "copy",
		Doc:     "Gives the data as they are.",
		Inputs:  []op.Port{{Name: "input", Doc: "data of any kind"}},
		Outputs: []op.Port{{Name: "output", Doc: "the same data"}},
		New:     func(*op.Config) (op.Kernel, error) { return pass{}, nil },
	})
}

// pass gives its input. Samples are never written to, so that nothing is copied.
type pass struct{}

func (pass) Grain() op.Grain { return op.PerSample }

func (pass) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return same(in) }

func (pass) Run(b *op.Block) error {
	for s := range b.Len() {
		b.Alias(0, s, b.In(0, s))
	}
	return nil
}
