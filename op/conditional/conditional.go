// Package conditional holds the operators of conditionals.
//
//	        ┌▶ the samples where the predicate holds ──▶ … ─┐
//	split ──┤                                               ├──▶ merge
//	        └▶ the others ─────────────────────────────▶ … ─┘
//
// A sample that an output of split lacks is also missing in all values that are computed from this
// output: operators see only the samples that all their inputs have. merge joins both parts and
// puts each sample at its old place.
package conditional

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

var module = []string{"_conditional"}

// predicate is the parameter of split and merge.
func predicate() op.Parameter {
	return op.Parameter{Name: "predicate", Type: op.Bool, Required: true, PerSample: true, Truth: true,
		Doc: "One number for each sample; every number except zero is true."}
}

// condition is a predicate in a kernel.
type condition struct{ value op.Scalar[bool] }

func newCondition(c *op.Config) condition { return condition{op.GetScalar[bool](c, "predicate")} }

// at reports whether the predicate is true for sample s of the block.
func (c condition) at(b *op.Block, s int) (bool, error) {
	if _, constant := c.value.Const(); !constant {
		if t := b.Arg(0, s); len(t.Shape) != 0 {
			return false, scalarWanted("argument predicate", t.DType, t.Shape)
		}
	}
	return c.value.At(b, s)
}

func scalarWanted(subject string, d tensor.DType, shape tensor.Shape) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: subject, Want: "a scalar, without dimensions", Got: fmt.Sprint(d, shape),
		Remedy: "use &, | or comparisons, which work element by element"}
}

func init() {
	op.Register(op.Schema{
		Name: "split", Module: module, Branch: op.Splits,
		Doc:     "Divides the samples by a predicate.",
		Inputs:  []op.Port{{Name: "data", Doc: "the samples to divide"}},
		Outputs: []op.Port{{Name: "where", Doc: "the samples for which the predicate holds"}, {Name: "others", Doc: "the other samples"}},
		Params:  []op.Parameter{predicate()},
		New:     func(c *op.Config) (op.Kernel, error) { return split{newCondition(c)}, nil },
	})
}

type split struct{ condition condition }

// Infer implements op.Kernel.
func (split) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return []tensor.Spec{in[0], in[0]}, nil }

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

func init() {
	op.Register(op.Schema{
		Name: "merge", Module: module, Branch: op.Merges,
		Doc: "Merges the two parts of a batch that a predicate divided.",
		Inputs: []op.Port{
			{Name: "where", Doc: "the samples for which the predicate holds"},
			{Name: "others", Doc: "the other samples, with the same dtype, number of dimensions and layout"},
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
		return &errs.Error{Kind: errs.Mismatch, Subject: "the branches", Want: "the same " + what + " in both", Got: fmt.Sprintf("%v and %v", a, b)}
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
				Want: fmt.Sprintf("the sample, because the predicate is %v", holds), Got: "no sample",
				Remedy: "merge the parts that the same predicate divided"})
			continue
		}
		b.Alias(0, s, t)
	}
	return nil
}
