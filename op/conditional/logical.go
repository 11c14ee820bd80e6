package conditional

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{
		Name: "not_", Module: module,
		Doc:     "Negates a scalar. The result is true if the number is 0.",
		Inputs:  []op.Port{{Name: "value", Doc: "a scalar"}},
		Outputs: []op.Port{{Name: "negated", Doc: "a bool: true where the value is false or 0"}},
		New:     func(*op.Config) (op.Kernel, error) { return not{}, nil },
	})
	op.Register(op.Schema{
		Name: "validate_logical", Module: module,
		Doc:     "Passes on an operand of a logical expression. An operand that is not a scalar truth value is an error.",
		Inputs:  []op.Port{{Name: "value", Doc: "a scalar of dtype bool"}},
		Outputs: []op.Port{{Name: "same", Doc: "the value"}},
		Params: []op.Parameter{
			{Name: "expression_name", Type: op.String, Required: true, Tuning: true, Doc: "The expression, for messages: and, or, not."},
			{Name: "expression_side", Type: op.String, Required: true, Tuning: true, Doc: "The side of the operand, for messages: left, right."},
		},
		New: func(c *op.Config) (op.Kernel, error) {
			return validate{op.Get[string](c, "expression_side") + " operand of " + op.Get[string](c, "expression_name")}, nil
		},
	})
}

// truth returns an error unless a tensor of the given dtype and shape is a scalar of dtype bool.
func truth(subject string, d tensor.DType, shape tensor.Shape) error {
	if d != tensor.Bool {
		return &errs.Error{Kind: errs.Mismatch, Subject: subject, Want: "a bool", Got: fmt.Sprint(d), Remedy: "compare it with 0"}
	}
	if len(shape) != 0 {
		return scalarWanted(subject, d, shape)
	}
	return nil
}

type not struct{}

// Infer implements op.Kernel.
func (not) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	if len(in[0].Shape) != 0 {
		return nil, scalarWanted("operand of not", in[0].DType, in[0].Shape)
	}
	out := in[0]
	out.DType = tensor.Bool
	return []tensor.Spec{out}, nil
}

// Run implements op.Kernel.
func (not) Run(b *op.Block) error {
	for s := range b.Len() {
		in := b.In(0, s)
		if len(in.Shape) != 0 {
			b.Fail(s, scalarWanted("operand of not", in.DType, in.Shape))
			continue
		}
		v, ok := in.Float64(0)
		if !ok {
			return &errs.Error{Kind: errs.Unsupported, Subject: "operand of not", Want: "a number or a bool", Got: fmt.Sprint(in.DType)}
		}
		negated := byte(0)
		if v == 0 {
			negated = 1
		}
		b.Out(0, s).Data[0] = negated
	}
	return nil
}

type validate struct{ subject string }

// Infer implements op.Kernel.
func (k validate) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return in[:1], truth(k.subject, in[0].DType, in[0].Shape)
}

// Run implements op.Kernel.
func (k validate) Run(b *op.Block) error {
	for s := range b.Len() {
		in := b.In(0, s)
		if err := truth(k.subject, in.DType, in.Shape); err != nil {
			b.Fail(s, err)
			continue
		}
		b.Alias(0, s, in)
	}
	return nil
}
