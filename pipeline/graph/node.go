package graph

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Node is one use of an operator in a graph.
type Node struct {
	Index int    // in Graph.Nodes
	Name  string // unique in the graph
	// Draws names the node whose random numbers it draws. Empty means its own.
	Draws  string
	Schema *op.Schema
	Config *op.Config
	Inputs []Edge
	Args   []Edge        // the argument inputs, in the order of the kernel
	Specs  []tensor.Spec // of the outputs; zero where they are not known yet, see Known
	Kernel op.Kernel     // nil for a reader and an input of the graph
	Reader *reader.Opener
	// Fed marks an input of the graph, whose values come from outside; its Specs are the declared
	// ones.
	Fed   bool
	Stage int
	// Unused marks a node that no output needs. It is kept for its effects, or a node needs it that
	// is.
	Unused bool
	// Refused is why the operator does not take its inputs. Only a tolerant graph has such a node. The
	// node fails when samples come to it.
	Refused error
	// Partial marks outputs of a branch, which may lack samples.
	Partial bool
	// Seed is the operator's own seed. seeded is false if it uses the pipeline's seed.
	Seed   uint64
	Seeded bool

	declared []tensor.Spec // of an input of the graph
	guards   []guard       // of a builder's node: the samples that reach it
	params   []string      // names of the parameters that Args belong to
	named    bool          // the name was given
	lost     bool          // no sample comes out of it: it is refused, or a node before it is
	behind   bool          // takes the arguments per sample of the reader that is its input
}

// Edge is an output of a node, which other nodes take as input.
type Edge struct {
	Node   *Node
	Output int
}

// Spec returns what flows along the edge.
func (e Edge) Spec() tensor.Spec { return e.Node.Specs[e.Output] }

// OpValue makes an edge an argument.
func (e Edge) OpValue() {}

// String returns the name of the node, with the number of the output if the node has several.
func (e Edge) String() string { return e.named(e.Node.Name) }

// named is the name of the edge if its node has that name.
func (e Edge) named(node string) string {
	if len(e.Node.Specs) == 1 {
		return node
	}
	return fmt.Sprintf("%s[%d]", node, e.Output)
}

// Params returns the names of the parameters that take a value per sample: the i-th parameter takes
// the value of Args[i].
func (n *Node) Params() []string { return n.params }

// Named reports whether the node was given its name.
func (n *Node) Named() bool { return n.named }

// Shuffled reports whether a reader was asked for an order of its own in each epoch.
func (n *Node) Shuffled() bool {
	return op.Get[bool](n.Config, "random_shuffle") || op.Get[bool](n.Config, "shuffle_after_epoch")
}

// SeedOr returns the seed of the operator, or pipeline if the operator has no seed.
func (n *Node) SeedOr(pipeline uint64) uint64 {
	if n.Seeded {
		return n.Seed
	}
	return pipeline
}

// Known reports whether the node's outputs are described. The outputs of an input of the graph need
// dtype, rank and layout. The outputs of an operator are known if all its inputs are. A node that
// is refused counts as known, and so do the nodes behind it.
func (n *Node) Known() bool {
	return n.lost || !slices.ContainsFunc(n.Specs, func(s tensor.Spec) bool { return !s.DType.Valid() })
}

// Late reports whether the node's outputs are known only when they are made.
func (n *Node) Late() bool {
	_, ok := n.Kernel.(op.Late)
	return ok
}

// Ready reports whether all inputs of the node are described.
func (n *Node) Ready() bool {
	return !slices.ContainsFunc(n.from(), func(e Edge) bool { return !e.Spec().DType.Valid() })
}

// Identity says what a node computes, as text: operator, inputs and arguments
// that are not tuning. Graphs whose nodes have equal names and identities
// compute the same.
func (n *Node) Identity() string {
	text := n.render(Edge.String, n.Config.Canonical)
	if id, ok := n.Kernel.(op.Identifier); ok {
		text += " by " + id.Identity()
	}
	if n.Draws != "" {
		text += " draws as " + n.Draws
	}
	return text
}

// Drawer returns the name of the node whose random numbers n draws.
func (n *Node) Drawer() string {
	if n.Draws != "" {
		return n.Draws
	}
	return n.Name
}

// render writes operator, inputs and arguments, with edges as name has them.
func (n *Node) render(name func(Edge) string, arguments func(source func(int) string) string) string {
	var b strings.Builder
	b.WriteString(cmp.Or(n.Schema.Same, n.Schema.FullName()))
	b.WriteByte('(')
	for i, in := range n.Inputs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name(in))
	}
	b.WriteByte(')')
	if args := arguments(func(i int) string { return name(n.Args[i]) }); args != "" {
		b.WriteString(" " + args)
	}
	return b.String()
}

// kept reports whether the node stays even if nothing uses its outputs.
func (n *Node) kept() bool { return n.Schema.Keep || op.Get[bool](n.Config, "preserve") }

// from returns the edges that flow into the node.
func (n *Node) from() []Edge { return slices.Concat(n.Inputs, n.Args) }

// outputs returns how many outputs the node has.
func (n *Node) outputs() (int, error) {
	if n.Schema.OutputCount != nil {
		return n.Schema.OutputCount(n.Config)
	}
	return len(n.Schema.Outputs), nil
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

// compute makes n's kernel, which checks the values of constants, and puts n
// into its stage.
func (n *Node) compute() error {
	var err error
	if n.Kernel, err = n.Schema.Kernel(n.Config); err != nil {
		return n.at(err)
	}
	outputs, err := n.outputs()
	if err != nil {
		return n.at(err)
	}
	n.Specs = make([]tensor.Spec, outputs)
	n.Stage = stage(n.Kernel, n.from())
	n.Partial = n.partial()
	return nil
}

// partial reports whether the node's outputs may lack samples.
func (n *Node) partial() bool {
	from := n.from()
	switch n.Schema.Branch {
	case op.Splits:
		return true
	case op.Merges:
		from = n.Args
	}
	return slices.ContainsFunc(from, func(e Edge) bool { return e.Node.Partial })
}

// infer derives the specs of n's outputs, unless an input is not known yet.
func (n *Node) infer() error {
	if n.Kernel == nil || !n.Ready() {
		return nil
	}
	in := make([]tensor.Spec, len(n.Inputs))
	for i, e := range n.Inputs {
		in[i] = e.Spec()
		if err := n.checkPort(i, in[i]); err != nil {
			return err
		}
	}
	args := make([]tensor.Spec, len(n.Args))
	for i, e := range n.Args {
		args[i] = e.Spec()
		p, _ := n.Schema.Param(n.params[i])
		if err := n.Config.CheckArgument(p, args[i]); err != nil {
			return err
		}
	}
	specs, err := op.Infer(n.Kernel, in, args)
	if err != nil {
		return n.at(err)
	}
	if len(specs) != len(n.Specs) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: "node " + n.Name,
			Want: fmt.Sprintf("%d outputs, as its schema says", len(n.Specs)), Got: fmt.Sprint(len(specs))}
	}
	for i, spec := range specs {
		if !spec.DType.Valid() && !n.Late() {
			return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(),
				Subject: fmt.Sprintf("node %s, output %d", n.Name, i), Got: "no dtype"}
		}
	}
	n.Specs = specs
	return nil
}

// settle works like infer. In a tolerant graph an error makes n a refused node.
func (n *Node) settle(tolerant bool) error {
	n.Refused = nil
	n.lost = slices.ContainsFunc(n.from(), func(e Edge) bool { return e.Node.lost })
	err := n.infer()
	if err != nil && tolerant {
		n.Refused, n.lost, err = err, true, nil
	}
	return err
}

// at adds operator and node to an error that does not name them.
func (n *Node) at(err error) error {
	var e *errs.Error
	if errors.As(err, &e) && e.Op != "" {
		return err
	}
	return errs.Wrap(n.Schema.FullName(), "node "+n.Name, err)
}

func (n *Node) checkPort(i int, got tensor.Spec) error {
	port := n.Schema.Input(i)
	subject := fmt.Sprintf("node %s, input %d (%s)", n.Name, i, port.Name)
	if len(port.DTypes) > 0 && !slices.Contains(port.DTypes, got.DType) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: subject,
			Want: fmt.Sprintf("elements of %v", port.DTypes), Got: got.DType.String()}
	}
	return n.checkLayout(i, got)
}

// checkLayouts returns an error for an input with another layout, or number of dimensions, than the
// operator takes.
func (n *Node) checkLayouts() error {
	for i, e := range n.Inputs {
		if err := n.checkLayout(i, e.Spec()); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) checkLayout(i int, got tensor.Spec) error {
	port := n.Schema.Input(i)
	subject := fmt.Sprintf("node %s, input %d (%s)", n.Name, i, port.Name)
	if len(port.Layouts) > 0 && got.Layout != "" && !slices.Contains(port.Layouts, got.Layout) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: subject,
			Want: fmt.Sprintf("layout %v", port.Layouts), Got: got.Layout}
	}
	fits := func(layout string) bool { return len(layout) == len(got.Shape) }
	if len(port.Layouts) > 0 && got.Layout == "" && got.Shape != nil && !slices.ContainsFunc(port.Layouts, fits) {
		return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: subject,
			Want: fmt.Sprintf("the number of dimensions of one of the layouts %v", port.Layouts),
			Got:  fmt.Sprint(len(got.Shape))}
	}
	return nil
}

// stage returns the stage of a node with kernel k into which the given edges flow.
func stage(k op.Kernel, from []Edge) int {
	stage := 0
	if op.IsBatched(k) {
		stage = 1
	}
	for _, e := range from {
		after := e.Node.Stage
		if after%2 != stage%2 {
			after++
		}
		stage = max(stage, after)
	}
	return stage
}
