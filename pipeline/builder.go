package pipeline

import (
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/graph"
	"github.com/bivouac-ml/bivouac/op"
)

// Builder takes the operators of a graph, mostly through pipeline/fn. After the
// first mistake it takes nothing more, and Define returns it.
type Builder struct {
	graph   graph.Builder
	sinks   []graph.Edge
	sources map[string]*sourceNode // external ones, by the name of their node
	// branch is the one whose operators are being taken, or nil; home says to which
	// branch the nodes that were made in one belong.
	branch *branch
	home   map[*graph.Node]*branch
	err    error
}

// Op appends an operator by its full name, such as "decoders.image", and returns its outputs. args are a
// struct of op/opargs or op.Args; nil are the defaults.
func (b *Builder) Op(operator string, args any, inputs ...Node) []Node {
	s, err := op.Lookup(operator)
	if err != nil {
		b.fail(err)
		return make([]Node, 1)
	}
	return b.add(s, args, inputs)
}

// add appends an operator in the branch that is being taken.
func (b *Builder) add(s *op.Schema, args any, inputs []Node) []Node {
	name, set, err := op.Arguments(args)
	if err != nil {
		b.fail(errs.Wrap("", s.FullName(), err))
	}
	edges := make([]graph.Edge, len(inputs))
	for i, in := range inputs {
		edges[i] = b.bring(in.edge)
	}
	for arg, a := range set {
		if from, ok := a.From.(Node); ok {
			set[arg] = op.Argument{From: b.bring(from.edge)}
		}
	}
	if b.err != nil {
		return make([]Node, len(s.Outputs))
	}
	n, err := b.graph.AddSchema(s, name, edges, set)
	if err != nil {
		b.fail(err)
		return make([]Node, len(s.Outputs))
	}
	if len(n.Inputs)+len(n.Args) > 0 {
		b.settle(n, b.branch)
	}
	return b.outputs(n)
}

// outputs returns the outputs of a node.
func (b *Builder) outputs(n *graph.Node) []Node {
	nodes := make([]Node, len(n.Specs))
	for i := range nodes {
		nodes[i] = Node{b, graph.Edge{Node: n, Output: i}}
	}
	return nodes
}

// fail keeps the first mistake.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = errs.Wrap("pipeline.Define", "", err)
	}
}

// Err returns the first mistake so far.
func (b *Builder) Err() error { return b.err }

// AddSink keeps the operators that a node needs though it is not delivered.
func (b *Builder) AddSink(n Node) { b.sinks = append(b.sinks, b.bring(n.edge)) }

// finish returns the graph of outputs.
func (b *Builder) finish(outputs []Node) (*graph.Graph, error) {
	edges := make([]graph.Edge, len(outputs))
	for i, n := range outputs {
		edges[i] = b.bring(n.edge)
	}
	if b.err != nil {
		return nil, b.err
	}
	g, err := b.graph.Graph(edges, b.sinks...)
	if err != nil {
		return nil, errs.Wrap("pipeline.Define", "", err)
	}
	return g, nil
}
