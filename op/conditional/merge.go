package conditional

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "merge", Module: module, Branch: op.Merges,
		Doc: "Puts together what a predicate divided.",
		Inputs: []op.Port{
			{Name: "where", Doc: "the samples for which the predicate holds"},
			{Name: "others", Doc: "the other samples, of the same dtype, number of dimensions and layout"},
		},
		Outputs: []op.Port{{Name: "merged", Doc: "all samples"}},
		Params:  []op.Parameter{predicate()},
		New:     func(c *op.Config) (op.Kernel, error) { return merge{newCondition(c)}, nil },
	})
}

type merge struct{ condition condition }

// Infer implements op.Kernel.
func (merge) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	a, b := in[0], in[1]
	differ := func(what string, a, b any) error {
		return &errs.Error{Kind: errs.Mismatch, Subject: "the branches", Want: "one " + what, Got: fmt.Sprintf("%v and %v", a, b)}
	}
	if a.DType != b.DType {
		return nil, differ("dtype", a.DType, b.DType)
	}
	if a.Shape == nil || b.Shape == nil {
		a.Shape = nil
		return []tensor.Spec{a}, nil
	}
	if len(a.Shape) != len(b.Shape) {
		return nil, differ("number of dimensions", len(a.Shape), len(b.Shape))
	}
	if a.Layout != b.Layout {
		return nil, differ("layout", fmt.Sprintf("%q", a.Layout), fmt.Sprintf("%q", b.Layout))
	}
	shape := make(tensor.Shape, len(a.Shape))
	for i := range shape {
		shape[i] = -1
		if a.Shape[i] == b.Shape[i] {
			shape[i] = a.Shape[i]
		}
	}
	a.Shape = shape
	return []tensor.Spec{a}, nil
}

// Grain implements op.Kernel.
func (merge) Grain() op.Grain { return op.PerSample }

// Run implements op.Kernel.
func (k merge) Run(b *op.Block) error {
	for s := range b.Len() {
		holds, err := k.condition.at(b, s)
		if err != nil {
			b.Fail(s, err)
			continue
		}
		from := 0
		if !holds {
			from = 1
		}
		t := b.In(from, s)
		if !t.DType.Valid() {
			b.Fail(s, &errs.Error{Kind: errs.Mismatch, Subject: "input " + []string{"where", "others"}[from],
				Want: fmt.Sprintf("the sample, as the predicate is %v", holds), Got: "nothing",
				Remedy: "merge what was divided by the same predicate"})
			continue
		}
		b.Alias(0, s, t)
	}
	return nil
}
