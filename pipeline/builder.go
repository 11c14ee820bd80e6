package pipeline

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// A Builder collects the operators of a graph, mostly through pipeline/fn. After the first mistake
// it ignores further calls, and Define returns the mistake. [Define] makes a Builder and finishes
// it. [NewBuilder] and [Builder.Definition] do the same by hand.
type Builder struct {
	options Options
	graph   graph.Builder
	sinks   []graph.Edge
	sources map[string]*sourceNode // the external sources, by the name of their node
	// branch is the branch whose operators are being appended, or nil. home maps each node that was
	// made in a branch to this branch.
	branch  *branch
	home    map[*graph.Node]*branch
	outputs []Node
	set     bool // SetOutputs was called
	moved   []string
	doing   string // the expression whose operators are being appended, for messages
	err     error
}

// NewBuilder returns a Builder for a graph that you build by hand.
//
//	b, err := pipeline.NewBuilder(options)
//	jpegs, labels := fn.ReadersFile(b, fn.ReadersFileArgs{FileRoot: "train"})
//	b.SetOutputs(fn.DecodersImage(b, jpegs, fn.DecodersImageArgs{}), labels)
//	def, err := b.Definition()
func NewBuilder(o Options) (*Builder, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	b := &Builder{options: o}
	b.graph.Tolerant = o.TolerateUnused
	if c := o.compat(); c != (native{}) { // the graph itself makes Bivouac's own names
		b.graph.Name = c.NodeName
	}
	return b, nil
}

// SetOutputs sets the nodes to deliver. Call it once, for a graph that you build by hand. With
// Define, the function that Define calls returns these nodes.
func (b *Builder) SetOutputs(outputs ...Node) {
	if b.set {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.SetOutputs", Want: "one call of SetOutputs",
			Got: "a second call"})
	}
	b.outputs, b.set = outputs, true
}

// Definition checks the graph and returns its definition. The builder cannot be used afterwards.
func (b *Builder) Definition() (*Definition, error) {
	whole, err := b.finish(b.outputs)
	if err != nil {
		return nil, err
	}
	g, err := whole.Merged(func(n *graph.Node) bool { return b.options.compat().DrawsAlike(n.Seeded) })
	if err != nil {
		return nil, errs.Wrap("pipeline.Define", "", err)
	}
	d := &Definition{options: b.options, whole: whole, graph: g, sources: b.sources, moved: b.moved, seen: &completions{}}
	if err := d.options.declared().checkSpecs(d.specs()); err != nil {
		return nil, err
	}
	return d, nil
}

// Op appends an operator by its full name, such as "decoders.image", and returns its outputs. args
// is a struct of op/opargs or an op.Args; nil means the defaults.
func (b *Builder) Op(operator string, args any, inputs ...Node) []Node {
	s, err := op.Lookup(operator)
	if err != nil {
		b.fail(err)
		return make([]Node, 1)
	}
	return b.add(s, args, inputs)
}

// add appends an operator to the current branch.
func (b *Builder) add(s *op.Schema, args any, inputs []Node) []Node {
	name, set, err := op.Arguments(args)
	if err != nil {
		b.fail(errs.Wrap("", s.FullName(), err))
	}
	edges := make([]graph.Edge, len(inputs))
	for i, in := range inputs {
		edges[i] = b.bring(in.edge)
	}
	for _, arg := range slices.Sorted(maps.Keys(set)) {
		if from, ok := set[arg].From.(Node); ok {
			set[arg] = op.Argument{From: b.bring(from.edge)}
		}
	}
	device := takeDevice(set)
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
	b.place(n, device)
	return b.nodes(n)
}

// nodes returns the outputs of a node.
func (b *Builder) nodes(n *graph.Node) []Node {
	nodes := make([]Node, len(n.Specs))
	for i := range nodes {
		nodes[i] = Node{b, graph.Edge{Node: n, Output: i}}
	}
	return nodes
}

// fail keeps the first mistake.
func (b *Builder) fail(err error) {
	if b.err == nil {
		b.err = errs.Wrap("pipeline.Define", b.doing, err)
	}
}

// Fail makes err the mistake that Define returns, unless there was one before. It is for functions
// that append several operators and check their own arguments.
func (b *Builder) Fail(err error) { b.fail(err) }

// Err returns the first mistake so far.
func (b *Builder) Err() error { return b.err }

// DrawAlike makes operators draw the same random numbers as first, for example to crop the same
// window of an image and of its mask. All of them must draw random numbers, and others must have no
// seed of their own.
func (b *Builder) DrawAlike(first Node, others ...Node) {
	for _, n := range append([]Node{first}, others...) {
		x := n.edge.Node
		if b.err != nil {
			return
		}
		if err := b.graph.Check(n.edge); err != nil || !x.Schema.Random || n.edge != first.edge && x.Seeded {
			b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.DrawAlike", Subject: n.edge.String(),
				Want: "an operator that draws random numbers and has no seed of its own",
				Got:  "another operator", Err: err})
			return
		}
	}
	for _, n := range others {
		if n.edge.Node != first.edge.Node {
			n.edge.Node.Draws = first.edge.Node.Drawer()
		}
	}
}

// AddSink keeps a node, and the operators that it needs, although the node is not delivered.
func (b *Builder) AddSink(n Node) { b.sinks = append(b.sinks, b.bring(n.edge)) }

// finish returns the graph that makes outputs.
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
