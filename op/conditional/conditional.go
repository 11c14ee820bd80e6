// Package conditional has the operators that conditionals are made of.
//
//	        ┌▶ the samples where the predicate holds ──▶ … ─┐
//	split ──┤                                               ├──▶ merge
//	        └▶ the others ─────────────────────────────▶ … ─┘
//
// What is left out of an output of split does not exist in what is computed from
// it either: operators see only the samples that all their inputs have. merge
// puts both parts together, each sample where it was.
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
		Doc: "A single number for each sample; what is not zero is true."}
}

// condition is a predicate in a kernel.
type condition struct{ value op.Scalar[bool] }

func newCondition(c *op.Config) condition { return condition{op.GetScalar[bool](c, "predicate")} }

// at returns whether the predicate holds for sample s of the block.
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
		Remedy: "&, | and comparisons work element by element"}
}
