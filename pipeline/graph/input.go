package graph

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// inputSchema describes inputs of graphs: DALI's external_source. The graph knows only that it has
// outputs.
var inputSchema = op.Schema{
	Name: "external_source", Doc: "Gives what it is fed from outside.", Stateful: true,
	Outputs: []op.Port{{Name: "data", Doc: "what was fed"}},
}

// Input appends an input: a node whose outputs are fed from outside, one tensor a sample each.
// specs declare what is known about the outputs; they may be empty.
//
// An output with dtype, shape (of the right rank) and layout is known at once. Any other output is
// known only once there is data. Nodes that depend on it are checked as early as possible, and
// [Graph.Specialize] describes them.
func (b *Builder) Input(name string, outputs int, specs []tensor.Spec) (*Node, error) {
	n := &Node{Schema: &inputSchema, Fed: true}
	var err error
	if n.Name, err = b.claim(n.Schema, name); err != nil {
		return nil, err
	}
	if outputs < 1 {
		return nil, inputError(n, "at least one output", fmt.Sprint(outputs))
	}
	if len(specs) != 0 && len(specs) != outputs {
		return nil, inputError(n, fmt.Sprintf("a description of each of %d outputs", outputs), fmt.Sprint(len(specs)))
	}
	for i, s := range specs {
		if s.Layout != "" && s.Shape != nil && len(s.Layout) != len(s.Shape) {
			return nil, inputError(n, fmt.Sprintf("output %d with a layout of %d axes", i, len(s.Shape)), s.Layout)
		}
	}
	if n.Config, _, err = op.Resolve(n.Schema, n.Name, 0, nil); err != nil {
		return nil, err
	}
	n.declared = make([]tensor.Spec, outputs)
	copy(n.declared, specs)
	n.Specs = make([]tensor.Spec, outputs)
	for i, s := range n.declared {
		if s.DType.Valid() && s.Shape != nil && (s.Layout != "" || len(s.Shape) == 0) {
			n.Specs[i] = s
		}
	}
	n.named = name != ""
	b.append(n)
	return n, nil
}

func inputError(n *Node, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: "node " + n.Name, Want: want, Got: got}
}

// Declared returns what was declared about the outputs of an input of the graph:
// a dtype that is not valid, a nil shape and an empty layout were left open.
func (n *Node) Declared() []tensor.Spec { return n.declared }

// Fed returns the inputs of the graph.
func (g *Graph) Fed() []*Node {
	var list []*Node
	for _, n := range g.Nodes {
		if n.Fed {
			list = append(list, n)
		}
	}
	return list
}

// Known reports whether everything in the graph is described, so that it can be
// run. Otherwise Specialize makes such a graph.
func (g *Graph) Known() bool {
	for _, n := range g.Nodes {
		if !n.Known() {
			return false
		}
	}
	return true
}

// Specialize returns the graph for inputs as the first data shows them: specs[i] describes the
// outputs of the i-th node of Fed, with dtype and rank. A spec that contradicts the declaration is
// an errs.Mismatch. A spec that an operator does not take is an errs.Invalid, as in [Builder.Add].
// late describes the outputs of late nodes, by name. Late nodes without a description, and the
// nodes after them, are not described. Specialize does not change g.
func (g *Graph) Specialize(specs [][]tensor.Spec, late map[string][]tensor.Spec) (*Graph, error) {
	fed := 0
	return g.rewrite(nil, func(n *Node) error {
		if n.Fed {
			if fed == len(specs) {
				return inputError(n, "a description of its outputs", "no description")
			}
			fed++
			return n.describe(specs[fed-1])
		}
		if n.Kernel == nil {
			return nil
		}
		if err := n.compute(); err != nil { // a kernel of its own: Infer may prepare it
			return err
		}
		if err := n.settle(g.Tolerant && n.Unused); err != nil {
			return err
		}
		if made := late[n.Name]; made != nil && n.Late() && n.Ready() {
			n.Specs = made
		}
		return nil
	})
}

// describe sets the specs of the outputs of an input of the graph.
func (n *Node) describe(specs []tensor.Spec) error {
	if len(specs) != len(n.declared) {
		return inputError(n, fmt.Sprintf("%d outputs", len(n.declared)), fmt.Sprint(len(specs)))
	}
	for i, got := range specs {
		want := n.declared[i]
		differs := func(field string, want, got any) error {
			return &errs.Error{Kind: errs.Mismatch, Op: n.Schema.FullName(),
				Subject: fmt.Sprintf("node %s, output %d, %s", n.Name, i, field),
				Want:    fmt.Sprint(want), Got: fmt.Sprint(got)}
		}
		switch {
		case !got.DType.Valid() || got.Shape == nil:
			return differs("description", "a dtype and a shape", "a description without them")
		case want.DType.Valid() && want.DType != got.DType:
			return differs("dtype", want.DType, got.DType)
		case want.Shape != nil && len(want.Shape) != len(got.Shape):
			return differs("number of dimensions", len(want.Shape), len(got.Shape))
		case want.Layout != "" && want.Layout != got.Layout:
			return differs("layout", want.Layout, got.Layout)
		}
		for d, size := range want.Shape {
			if size >= 0 && got.Shape[d] >= 0 && got.Shape[d] != size {
				return differs("shape", want.Shape, got.Shape)
			}
		}
	}
	n.Specs = specs
	return nil
}
