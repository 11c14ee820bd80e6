package graph

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Builder makes graphs. The zero Builder is ready. It is not safe for concurrent use.
type Builder struct {
	nodes []*Node
	names map[string]int // how many nodes have taken a name of their own or of their operator
}

// Add appends a node. The sources of argument inputs, Argument.From, are Edges.
// An empty name becomes that of the operator, with "#2", "#3" … for further ones:
// random numbers are keyed by it, so that new nodes of other operators change nothing.
func (b *Builder) Add(operator, name string, inputs []Edge, args map[string]op.Argument) (*Node, error) {
	s, err := op.Lookup(operator)
	if err != nil {
		return nil, err
	}
	n := &Node{Schema: s, Inputs: inputs}
	if n.Name, err = b.claim(s, name); err != nil {
		return nil, err
	}
	if least, most := s.MinInputs(), s.MaxInputs(); len(inputs) < least || len(inputs) > most {
		want := fmt.Sprintf("%d inputs", least)
		if most > least {
			want = fmt.Sprintf("%d to %d inputs", least, most)
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: operator, Subject: "node " + n.Name, Want: want, Got: fmt.Sprint(len(inputs))}
	}
	specs := make([]tensor.Spec, len(inputs))
	for i, in := range inputs {
		if err := b.check(in); err != nil {
			return nil, errs.Wrap(operator, fmt.Sprintf("node %s, input %d", n.Name, i), err)
		}
		specs[i] = in.Spec()
		if err := checkPort(n, i, s.Input(i), specs[i]); err != nil {
			return nil, err
		}
	}
	if err := b.arguments(n, args); err != nil {
		return nil, err
	}
	if s.Reader {
		err = n.read()
	} else {
		err = n.compute(specs)
	}
	if err != nil {
		return nil, err
	}
	n.Index = len(b.nodes)
	b.nodes = append(b.nodes, n)
	return n, nil
}

func (b *Builder) claim(s *op.Schema, name string) (string, error) {
	if b.names == nil {
		b.names = map[string]int{}
	}
	if name == "" {
		name = s.FullName()
		for b.names[name] > 0 {
			b.names[s.FullName()]++
			name = fmt.Sprintf("%s#%d", s.FullName(), b.names[s.FullName()])
		}
	}
	if !utf8.ValidString(name) {
		return "", &errs.Error{Kind: errs.Invalid, Op: s.FullName(), Subject: "node name", Want: "UTF-8", Got: strconv.Quote(name)}
	}
	if b.names[name] > 0 {
		return "", &errs.Error{Kind: errs.Exists, Op: s.FullName(), Subject: "node " + name, Got: "a name that another node has"}
	}
	b.names[name] = 1
	return name, nil
}

// check refuses edges of other builders.
func (b *Builder) check(e Edge) error {
	if e.Node == nil {
		return &errs.Error{Kind: errs.Invalid, Want: "an output of a node", Got: "nothing"}
	}
	if i := e.Node.Index; i >= len(b.nodes) || b.nodes[i] != e.Node || e.Output < 0 || e.Output >= len(e.Node.Specs) {
		return &errs.Error{Kind: errs.Invalid, Want: "an output of a node of this graph", Got: "one of another graph, " + e.Node.Name}
	}
	return nil
}

func checkPort(n *Node, i int, port op.Port, got tensor.Spec) error {
	subject := fmt.Sprintf("node %s, input %d (%s)", n.Name, i, port.Name)
	if len(port.DTypes) > 0 && !slices.Contains(port.DTypes, got.DType) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: subject, Want: fmt.Sprintf("elements of %v", port.DTypes), Got: got.DType.String()}
	}
	if len(port.Layouts) > 0 && got.Layout != "" && !slices.Contains(port.Layouts, got.Layout) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: subject, Want: fmt.Sprintf("layout %v", port.Layouts), Got: got.Layout}
	}
	return nil
}

// arguments resolves the arguments of n and its own seed.
func (b *Builder) arguments(n *Node, set map[string]op.Argument) error {
	config, inputs, err := op.Resolve(n.Schema, n.Name, len(n.Inputs), set)
	if err != nil {
		return err
	}
	n.Config = config
	for _, name := range inputs {
		e, ok := set[name].From.(Edge)
		if !ok {
			return config.Invalid(name, "an output of a node", fmt.Sprintf("%T", set[name].From), "")
		}
		if err := b.check(e); err != nil {
			return errs.Wrap(n.Schema.FullName(), "node "+n.Name+", argument "+name, err)
		}
		p, _ := n.Schema.Param(name)
		if err := config.CheckArgument(p, e.Spec()); err != nil {
			return err
		}
		n.Args = append(n.Args, e)
	}
	if seed := op.Get[int](config, "seed"); config.Has("seed") && seed >= 0 {
		n.Seed, n.Seeded = uint64(seed), true
	}
	return nil
}

// read makes n a reader.
func (n *Node) read() error {
	o, err := reader.Lookup(n.Schema)
	if err != nil {
		return err
	}
	n.Reader = &o
	n.Specs, err = o.Outputs(n.Config)
	return err
}

// compute makes n's kernel and learns what it gives.
func (n *Node) compute(in []tensor.Spec) error {
	var err error
	if n.Kernel, err = n.Schema.New(n.Config); err != nil {
		return err
	}
	if n.Specs, err = n.Kernel.Infer(in); err != nil {
		var e *errs.Error
		if errors.As(err, &e) && e.Op != "" {
			return err
		}
		return errs.Wrap(n.Schema.FullName(), "node "+n.Name, err)
	}
	outputs := len(n.Schema.Outputs)
	if n.Schema.OutputCount != nil {
		if outputs, err = n.Schema.OutputCount(n.Config); err != nil {
			return err
		}
	}
	if len(n.Specs) != outputs {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: "node " + n.Name,
			Want: fmt.Sprintf("%d outputs as its schema says", outputs), Got: fmt.Sprint(len(n.Specs))}
	}
	for i, spec := range n.Specs {
		if !spec.DType.Valid() {
			return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: fmt.Sprintf("node %s, output %d", n.Name, i), Got: "no dtype"}
		}
	}
	var from []*Node
	for _, e := range append(slices.Clone(n.Inputs), n.Args...) {
		from = append(from, e.Node)
	}
	n.Stage = stage(n.Kernel.Grain(), from)
	return nil
}

// Graph returns the graph of outputs: the nodes that they need, and no others.
func (b *Builder) Graph(outputs []Edge) (*Graph, error) {
	if len(outputs) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "graph", Want: "at least one output", Got: "none"}
	}
	needed := make([]bool, len(b.nodes))
	for i, e := range outputs {
		if err := b.check(e); err != nil {
			return nil, errs.Wrap("graph", fmt.Sprintf("output %d", i), err)
		}
		needed[e.Node.Index] = true
	}
	for i := len(b.nodes) - 1; i >= 0; i-- {
		if needed[i] {
			for _, e := range append(slices.Clone(b.nodes[i].Inputs), b.nodes[i].Args...) {
				needed[e.Node.Index] = true
			}
		}
	}
	g := &Graph{}
	copies := map[*Node]*Node{}
	for i, n := range b.nodes {
		if !needed[i] {
			continue
		}
		c := *n
		c.Index = len(g.Nodes)
		c.Inputs, c.Args = moved(n.Inputs, copies), moved(n.Args, copies)
		copies[n] = &c
		g.Nodes = append(g.Nodes, &c)
		g.Stages = max(g.Stages, c.Stage+1)
	}
	g.Outputs = moved(outputs, copies)
	return g, nil
}

func moved(edges []Edge, to map[*Node]*Node) []Edge {
	out := make([]Edge, len(edges))
	for i, e := range edges {
		out[i] = Edge{Node: to[e.Node], Output: e.Output}
	}
	return out
}
