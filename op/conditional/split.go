package conditional

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "split", Module: module, Branch: op.Splits,
		Doc:     "Divides the samples by a predicate.",
		Inputs:  []op.Port{{Name: "data", Doc: "what is divided"}},
		Outputs: []op.Port{{Name: "where", Doc: "the samples for which the predicate holds"}, {Name: "others", Doc: "the other samples"}},
		Params:  []op.Parameter{predicate()},
		New:     func(c *op.Config) (op.Kernel, error) { return split{newCondition(c)}, nil },
	})
}

type split struct{ condition condition }

// Infer implements op.Kernel.
func (split) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return []tensor.Spec{in[0], in[0]}, nil }

// Grain implements op.Kernel.
func (split) Grain() op.Grain { return op.PerSample }

// Run implements op.Kernel.
func (k split) Run(b *op.Block) error {
	for s := range b.Len() {
		holds, err := k.condition.at(b, s)
		if err != nil {
			b.Fail(s, err)
			continue
		}
		to, other := 0, 1
		if !holds {
			to, other = 1, 0
		}
		b.Alias(to, s, b.In(0, s))
		b.Leave(other, s)
	}
	return nil
}
