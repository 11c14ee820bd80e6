package dali

import (
	"context"
	"fmt"
	"slices"

	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/tensor"
)

// externalSource appends fn.external_source.
func (g *grapher) externalSource(m *machine, kw map[string]any) (any, error) {
	var source pipeline.Source
	o := pipeline.SourceOptions{}
	var declared tensor.Spec
	for k, v := range kw {
		switch k {
		case "name":
			o.Name = fmt.Sprint(v)
		case "source":
			source = pipeline.Func(func(context.Context) ([]pipeline.Data, error) {
				v, err := m.apply(v)
				if err != nil {
					return nil, err
				}
				samples, err := arrays(v)
				return []pipeline.Data{samples}, err
			})
		case "batch":
		case "dtype":
			d, ok := v.(tensor.DType)
			if !ok {
				return nil, raise("TypeError", "external_source: dtype %v", v)
			}
			declared.DType = d
		case "ndim":
			n, ok := v.(int)
			if !ok || n < 0 {
				return nil, raise("TypeError", "external_source: ndim %v", v)
			}
			declared.Shape = slices.Repeat(tensor.Shape{-1}, n)
		case "layout":
			declared.Layout = fmt.Sprint(v)
		default:
			return nil, fmt.Errorf("unknown argument %s of external_source", k)
		}
	}
	if declared.DType != tensor.Invalid || declared.Shape != nil || declared.Layout != "" {
		o.Specs = []tensor.Spec{declared}
	}
	nodes := pipeline.ExternalSource(g.b, source, o)
	return nodes[0], g.b.Err()
}

// source appends an external source that gives the same samples in every iteration.
func (g *grapher) source(samples []tensor.Tensor) (pipeline.Node, error) {
	give := func(context.Context) ([]pipeline.Data, error) { return []pipeline.Data{samples}, nil }
	nodes := pipeline.ExternalSource(g.b, pipeline.Func(give), pipeline.SourceOptions{})
	return nodes[0], g.b.Err()
}

// outputs are the nodes of what a definition returns; constants become nodes.
func (g *grapher) outputs(v any) ([]pipeline.Node, error) {
	switch list := v.(type) {
	case tuple:
		return g.outputs([]any(list))
	case []any:
		var nodes []pipeline.Node
		for _, x := range list {
			n, err := g.node(x)
			if err != nil {
				return nil, err
			}
			nodes = append(nodes, n)
		}
		return nodes, nil
	}
	n, err := g.node(v)
	return []pipeline.Node{n}, err
}

// constantSource is src(x, n): an external source that gives n times x.
func (g *grapher) constantSource(args []any) (any, error) {
	n := 2
	if len(args) > 1 {
		n = args[1].(int)
	}
	return g.source(slices.Repeat([]tensor.Tensor{args[0].(tensor.Tensor)}, n))
}

// arrays is a list of arrays.
func arrays(v any) ([]tensor.Tensor, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("%T is no list of arrays", v)
	}
	var out []tensor.Tensor
	for _, x := range list {
		t, ok := x.(tensor.Tensor)
		if !ok {
			return nil, fmt.Errorf("%T is no array", x)
		}
		out = append(out, t)
	}
	return out, nil
}
