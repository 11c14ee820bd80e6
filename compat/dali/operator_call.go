package dali

import (
	"slices"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// OperatorCall is an operator of a serialized pipeline, in the form in which dynamic mode calls it.
type OperatorCall struct {
	Name   string   // such as "decoders.image"
	Args   op.Args  // the constants
	Inputs int      // without those that are arguments
	Values []string // the arguments that differ per sample, in the order of their edges
}

// CallOf returns the call of an operator of a serialized pipeline. Arguments that DALI gives all
// operators are left out. An operator that Bivouac does not have, and an argument that the operator
// does not have, are errors that name them.
func CallOf(o *pipeproto.Op) (OperatorCall, error) {
	const what = "dali.CallOf"
	var c OperatorCall
	name, known := Operator(o.Name)
	if !known || name == externalSource {
		return c, errs.Wrap(what, "", unknownOperator(o.Name))
	}
	s, err := op.Lookup(name)
	if err != nil {
		return c, errs.Wrap(what, "", err)
	}
	args, err := (&rebuilder{}).arguments(s, o)
	if err != nil {
		return c, errs.Wrap(what, o.Name, err)
	}
	c = OperatorCall{Name: name, Args: op.Args{}}
	for key, v := range args {
		if _, ok := s.Param(key); ok || v == nil {
			c.Args[key] = v
		}
	}
	delete(c.Args, "device") // everything is computed on the CPU
	for _, e := range o.Inputs {
		switch {
		case !e.IsArgument:
			c.Inputs++
		case slices.Contains(c.Values, e.Argument):
			return c, &errs.Error{Kind: errs.Invalid, Op: what, Subject: "argument " + e.Argument, Got: "two values"}
		default:
			c.Values = append(c.Values, e.Argument)
		}
	}
	return c, nil
}
