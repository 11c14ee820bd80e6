package graph

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
)

// Builder makes graphs. The zero Builder is ready. It is not safe for concurrent use.
type Builder struct {
	// Name names a node that has no name of its own, given how many such nodes came
	// before it and what names are taken; nil is [NumberedName].
	Name func(s *op.Schema, unnamed int, taken func(string) bool) string

	// Tolerant makes tolerant graphs; see Graph.Tolerant.
	Tolerant bool

	nodes   []*Node
	names   map[string]bool // that nodes have
	unnamed int             // nodes without a name of their own
	numbers map[string]int  // by operator: all numbers of names below are taken
}

// NumberedName is the operator's name, with "#2", "#3" … for further nodes.
func NumberedName(s *op.Schema, _ int, taken func(string) bool) string {
	name, _ := numberedName(s, 0, taken)
	return name
}

// numberedName works like NumberedName if the numbers below from are known to be taken. Number 1 is
// the operator's name.
func numberedName(s *op.Schema, from int, taken func(string) bool) (name string, number int) {
	for number = max(from, 1); ; number++ {
		if name = s.FullName(); number > 1 {
			name = fmt.Sprintf("%s#%d", s.FullName(), number)
		}
		if !taken(name) {
			return name, number
		}
	}
}

// Add appends a node. The sources of argument inputs, Argument.From, are Edges. An empty name
// becomes the result of b.Name: by default the operator's name, with a number if it is taken.
// Random numbers are keyed by this name, so that new nodes of other operators change nothing.
func (b *Builder) Add(operator, name string, inputs []Edge, args map[string]op.Argument) (*Node, error) {
	s, err := op.Lookup(operator)
	if err != nil {
		return nil, err
	}
	return b.AddSchema(s, name, inputs, args)
}

// AddSchema works like Add, for an operator that need not be registered.
func (b *Builder) AddSchema(s *op.Schema, name string, inputs []Edge, args map[string]op.Argument) (*Node, error) {
	if s.Reader {
		if n, err := b.addBehind(s, name, args); n != nil || err != nil {
			return n, err
		}
	}
	var err error
	n := &Node{Schema: s, Inputs: inputs, named: name != ""}
	if n.Name, err = b.claim(s, name); err != nil {
		return nil, err
	}
	if least, most := s.MinInputs(), s.MaxInputs(); len(inputs) < least || len(inputs) > most {
		want := fmt.Sprintf("%d inputs", least)
		if most > least {
			want = fmt.Sprintf("%d to %d inputs", least, most)
		}
		return nil, &errs.Error{Kind: errs.Invalid, Op: s.FullName(), Subject: "node " + n.Name, Want: want,
			Got: fmt.Sprint(len(inputs))}
	}
	for i, in := range inputs {
		if err := b.Check(in); err != nil {
			return nil, errs.Wrap(s.FullName(), fmt.Sprintf("node %s, input %d", n.Name, i), err)
		}
	}
	if err := b.arguments(n, args); err != nil {
		return nil, err
	}
	if s.Reader {
		err = n.read()
	} else {
		err = n.compute()
	}
	if err != nil {
		return nil, err
	}
	if err := n.guard(); err != nil {
		return nil, err
	}
	if err := n.settle(b.Tolerant); err != nil {
		return nil, err
	}
	if n.Refused != nil {
		if err := n.checkLayouts(); err != nil {
			return nil, err
		}
	}
	b.append(n)
	return n, nil
}

// addBehind appends a reader with arguments per sample, and the operator behind it that takes them,
// which it returns. It returns nil for other readers.
func (b *Builder) addBehind(s *op.Schema, name string, args map[string]op.Argument) (*Node, error) {
	o, err := reader.Lookup(s)
	perSample := false
	for _, a := range args {
		perSample = perSample || a.From != nil
	}
	if err != nil || o.Behind == nil || !perSample {
		return nil, nil
	}
	own, operator, after := o.Behind(args)
	n, err := b.AddSchema(s, name, nil, own)
	if err != nil {
		return nil, err
	}
	rest, err := b.Add(operator, n.Name+"/"+operator, []Edge{{Node: n}}, after(n.Specs[0]))
	if err == nil {
		rest.behind = true
	}
	return rest, err
}

func (b *Builder) append(n *Node) {
	n.Index = len(b.nodes)
	b.nodes = append(b.nodes, n)
}

// numbered returns the same name as NumberedName, in a time that does not depend on the number of
// nodes: a number that is taken stays taken.
func (b *Builder) numbered(s *op.Schema, taken func(string) bool) string {
	if b.numbers == nil {
		b.numbers = map[string]int{}
	}
	name, number := numberedName(s, b.numbers[s.FullName()], taken)
	b.numbers[s.FullName()] = number
	return name
}

func (b *Builder) claim(s *op.Schema, name string) (string, error) {
	if b.names == nil {
		b.names = map[string]bool{}
	}
	if name == "" {
		taken := func(name string) bool { return b.names[name] }
		if b.Name != nil {
			name = b.Name(s, b.unnamed, taken)
		} else {
			name = b.numbered(s, taken)
		}
		b.unnamed++
	}
	if !utf8.ValidString(name) {
		return "", &errs.Error{Kind: errs.Invalid, Op: s.FullName(), Subject: "node name", Want: "UTF-8",
			Got: strconv.Quote(name)}
	}
	if b.names[name] {
		return "", &errs.Error{Kind: errs.Exists, Op: s.FullName(), Subject: "node " + name,
			Got: "the name of another node"}
	}
	b.names[name] = true
	return name, nil
}

// Check returns an error unless e is an output of a node of this builder.
func (b *Builder) Check(e Edge) error {
	if e.Node == nil {
		return &errs.Error{Kind: errs.Invalid, Want: "an output of a node", Got: "no node"}
	}
	if i := e.Node.Index; i >= len(b.nodes) || b.nodes[i] != e.Node || e.Output < 0 || e.Output >= len(e.Node.Specs) {
		return &errs.Error{Kind: errs.Invalid, Want: "an output of a node of this graph",
			Got: "an output of another graph, of node " + e.Node.Name}
	}
	return nil
}

// arguments resolves the arguments of n and its own seed.
func (b *Builder) arguments(n *Node, set map[string]op.Argument) error {
	config, inputs, err := op.Resolve(n.Schema, n.Name, len(n.Inputs), set)
	if err != nil {
		return err
	}
	n.Config, n.params = config, inputs
	for _, name := range inputs {
		e, ok := set[name].From.(Edge)
		if !ok {
			return config.Invalid(name, "an output of a node", fmt.Sprintf("%T", set[name].From), "")
		}
		if err := b.Check(e); err != nil {
			return errs.Wrap(n.Schema.FullName(), "node "+n.Name+", argument "+name, err)
		}
		n.Args = append(n.Args, e)
	}
	if seed := op.Get[int](config, "seed"); config.Has("seed") && seed >= 0 {
		n.Seed, n.Seeded = uint64(seed), true
	}
	return nil
}

// Graph returns the graph of outputs. It has the nodes that outputs and sinks need, the nodes that
// are kept for their effects, and no others.
func (b *Builder) Graph(outputs []Edge, sinks ...Edge) (*Graph, error) {
	if len(outputs) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "graph", Want: "at least one output", Got: "no output"}
	}
	needed := make([]bool, len(b.nodes))
	for i, e := range outputs {
		if err := b.Check(e); err != nil {
			return nil, errs.Wrap("graph", fmt.Sprintf("output %d", i), err)
		}
		needed[e.Node.Index] = true
	}
	b.follow(needed, func(*Node) bool { return false })
	for i, n := range b.nodes {
		if n.Unused = !needed[i]; needed[i] && n.Refused != nil {
			return nil, n.Refused
		}
	}
	for i, e := range sinks {
		if err := b.Check(e); err != nil {
			return nil, errs.Wrap("graph", fmt.Sprintf("sink %d", i), err)
		}
		needed[e.Node.Index] = true
	}
	b.follow(needed, (*Node).kept)
	g := &Graph{Outputs: outputs, Tolerant: b.Tolerant}
	for i, n := range b.nodes {
		if needed[i] {
			g.Nodes = append(g.Nodes, n)
		}
	}
	return g.rewrite(nil, func(*Node) error { return nil })
}

// follow adds the nodes that are kept, and those that needed nodes need.
func (b *Builder) follow(needed []bool, kept func(*Node) bool) {
	for i := len(b.nodes) - 1; i >= 0; i-- {
		if needed[i] = needed[i] || kept(b.nodes[i]); needed[i] {
			for _, e := range b.nodes[i].from() {
				needed[e.Node.Index] = true
			}
		}
	}
}
