package pipeline

import (
	"maps"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// Builder takes the operators of a graph, mostly through pipeline/fn. After the
// first mistake it takes nothing more, and Define returns it. [Define] makes and
// ends one; by hand, [NewBuilder] and [Builder.Definition] do.
type Builder struct {
	options Options
	graph   graph.Builder
	sinks   []graph.Edge
	sources map[string]*sourceNode // external ones, by the name of their node
	// branch is the one whose operators are being taken, or nil; home says to which
	// branch the nodes that were made in one belong.
	branch  *branch
	home    map[*graph.Node]*branch
	outputs []Node
	set     bool // outputs are
	moved   []string
	doing   string // the expression whose operators are being appended, for messages
	err     error
}

// NewBuilder returns a builder for a graph that is put together by hand.
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
	if c := o.compat(); c != (native{}) { // Bivouac's own names are the graph's
		b.graph.Name = c.NodeName
	}
	return b, nil
}

// SetOutputs says which nodes are delivered. It is for graphs that are put
// together by hand, once: the function that Define calls returns them.
func (b *Builder) SetOutputs(outputs ...Node) {
	if b.set {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.SetOutputs", Want: "outputs once", Got: "others before"})
	}
	b.outputs, b.set = outputs, true
}

// Definition checks the graph and returns its definition, with which the builder is done.
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
// are a struct of op/opargs or op.Args; nil are the defaults.
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

// Err returns the first mistake so far.
func (b *Builder) Err() error { return b.err }

// DrawAlike makes operators draw the same random numbers as first, which draws some as well: one
// window of an image and of its mask, say. The operators have no seed of their own.
func (b *Builder) DrawAlike(first Node, others ...Node) {
	for _, n := range append([]Node{first}, others...) {
		x := n.edge.Node
		if b.err != nil {
			return
		}
		if err := b.graph.Check(n.edge); err != nil || !x.Schema.Random || n.edge != first.edge && x.Seeded {
			b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.DrawAlike", Subject: n.edge.String(),
				Want: "an operator that draws random numbers, without a seed of its own",
				Got:  "another", Err: err})
			return
		}
	}
	for _, n := range others {
		if n.edge.Node != first.edge.Node {
			n.edge.Node.Draws = first.edge.Node.Drawer()
		}
	}
}

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
