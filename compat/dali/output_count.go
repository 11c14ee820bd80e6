package dali

import (
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// OutputCount returns how many outputs an operator of a serialized pipeline has. Its arguments and
// the number of its inputs decide it. The outputs that the message names do not count.
func OutputCount(o *pipeproto.Op) (int, error) {
	const what = "dali.OutputCount"
	name, known := Operator(o.Name)
	if name == externalSource {
		return 0, &errs.Error{Kind: errs.Unsupported, Op: what, Subject: o.Name, Want: "an operator that computes or reads"}
	}
	if !known {
		return 0, errs.Wrap(what, "", unknownOperator(o.Name))
	}
	s, err := op.Lookup(name)
	if err != nil {
		return 0, errs.Wrap(what, "", err)
	}
	args, err := (&rebuilder{}).arguments(s, o)
	if err != nil {
		return 0, errs.Wrap(what, o.Name, err)
	}
	set := map[string]op.Argument{}
	for name, v := range args {
		if _, ok := s.Param(name); ok || v == nil {
			set[name] = op.Argument{Const: v}
		}
	}
	inputs := 0
	for _, e := range o.Inputs {
		if e.IsArgument {
			set[e.Argument] = op.Argument{From: pipeline.Node{}}
		} else {
			inputs++
		}
	}
	c, _, err := op.Resolve(s, o.Instance, inputs, set)
	if err != nil {
		return 0, errs.Wrap(what, "", err)
	}
	if s.OutputCount == nil {
		return len(s.Outputs), nil
	}
	n, err := s.OutputCount(c)
	return n, errs.Wrap(what, "", err)
}
