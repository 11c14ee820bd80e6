package pipeline

import (
	"context"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/graph"
	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/op/decoders" // operators that every pipeline knows
	_ "github.com/bivouac-ml/bivouac/op/generic"
	_ "github.com/bivouac-ml/bivouac/op/image"
	_ "github.com/bivouac-ml/bivouac/op/random"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Node is what an operator gives: one tensor a sample. It is the input and, by
// op.Of, an argument of further operators of the same builder.
type Node struct{ edge graph.Edge }

// OpValue implements op.Value.
func (Node) OpValue() {}

// Spec describes the samples of the node; dimensions of -1 are known only from
// the data. It is the zero Spec after a mistake in the graph.
func (n Node) Spec() tensor.Spec {
	if n.edge.Node == nil {
		return tensor.Spec{}
	}
	return n.edge.Spec()
}

// Name returns the name of the node's operator in the graph, or "" after a mistake.
func (n Node) Name() string {
	if n.edge.Node == nil {
		return ""
	}
	return n.edge.Node.Name
}

// Builder takes the operators of a graph, mostly through pipeline/fn. After the
// first mistake it takes nothing more, and Define returns it.
type Builder struct {
	graph graph.Builder
	err   error
}

// Op appends an operator by its full name, such as "decoders.image", and returns its outputs. args are a
// struct of op/opargs or op.Args; nil are the defaults.
func (b *Builder) Op(operator string, args any, inputs ...Node) []Node {
	outputs := 1
	if s, err := op.Lookup(operator); err == nil {
		outputs = len(s.Outputs)
	}
	nodes := make([]Node, outputs)
	if b.err != nil {
		return nodes
	}
	edges := make([]graph.Edge, len(inputs))
	for i, in := range inputs {
		edges[i] = in.edge
	}
	name, set, err := op.Arguments(args)
	if err != nil {
		b.err = errs.Wrap("pipeline.Define", operator, err)
		return nodes
	}
	for arg, a := range set {
		if from, ok := a.From.(Node); ok {
			set[arg] = op.Argument{From: from.edge}
		}
	}
	n, err := b.graph.Add(operator, name, edges, set)
	if err != nil {
		b.err = errs.Wrap("pipeline.Define", "", err)
		return nodes
	}
	for i := range nodes {
		nodes[i].edge = graph.Edge{Node: n, Output: i}
	}
	return nodes
}

// Err returns the first mistake so far.
func (b *Builder) Err() error { return b.err }

// Definition is a checked graph with options. It is immutable; any number of
// pipelines can be made from it, and run at the same time.
type Definition struct {
	options Options
	graph   *graph.Graph
}

// Define calls define, which appends operators to p and returns the nodes to
// deliver, and checks the graph. No file is touched.
func Define(o Options, define func(p *Builder) []Node) (*Definition, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Builder{graph: graph.Builder{Name: o.compat().NodeName}}
	nodes := define(b)
	if b.err != nil {
		return nil, b.err
	}
	outputs := make([]graph.Edge, len(nodes))
	for i, n := range nodes {
		outputs[i] = n.edge
	}
	g, err := b.graph.Graph(outputs)
	if err != nil {
		return nil, errs.Wrap("pipeline.Define", "", err)
	}
	return &Definition{options: o, graph: g}, nil
}

// New opens the data sets and returns a pipeline at its beginning. Options that
// are set in o replace those of the definition; nil changes none. Close must be called.
func (d *Definition) New(ctx context.Context, o *Options) (*Pipeline, error) {
	options := d.options.overlay(o)
	if err := options.Validate(); err != nil {
		return nil, err
	}
	options = options.withDefaults()
	var sources []reader.Source
	closeAll := func() {
		for _, s := range sources {
			s.Close()
		}
	}
	for _, n := range d.graph.Readers() {
		s, err := n.Reader.Open(ctx, n.Config)
		if err != nil {
			closeAll()
			return nil, errs.Wrap("pipeline.New", "", err)
		}
		sources = append(sources, s)
	}
	p, err := newPipeline(d.graph, sources, options)
	if err != nil {
		closeAll()
		return nil, errs.Wrap("pipeline.New", "", err)
	}
	return p, nil
}
