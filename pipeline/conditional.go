package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// branch is one side of a conditional.
type branch struct {
	fork   *fork
	output int // of the split: 0 for samples whose condition holds
}

// fork is a conditional. It holds what both branches share.
type fork struct {
	parent    *branch // the branch that contains the conditional
	condition graph.Edge
	parts     map[graph.Edge]*graph.Node // the splits of the values that a branch uses
}

const (
	splitOp    = "_conditional.split"
	mergeOp    = "_conditional.merge"
	notOp      = "_conditional.not_"
	validateOp = "_conditional.validate_logical"
)

// If computes the nodes of then for the samples whose condition is not zero, and the nodes of
// otherwise for the other samples. It returns both merged. The condition is a scalar. Both
// functions return the same number of nodes, with the same dtype, number of dimensions and layout.
//
//	bright := p.If(image.Index(0, 0, 0).Less(128),
//		func() []pipeline.Node { return []pipeline.Node{image.Mul(2)} },
//		func() []pipeline.Node { return []pipeline.Node{image} })
//
// An operator with inputs in a branch sees only the samples that take the branch. For a batch-level
// operator these samples are the batch. An operator without inputs, such as random.uniform, runs
// for all samples, so that the random numbers of a sample do not depend on other samples. A node
// that is made in a branch can be used outside only if the branch returns it.
func (b *Builder) If(condition Node, then, otherwise func() []Node) []Node {
	f := &fork{parent: b.branch, condition: b.bring(condition.edge), parts: map[graph.Edge]*graph.Node{}}
	b.checkCondition(f.condition)
	where, others := b.take(f, 0, then), b.take(f, 1, otherwise)
	if len(where) != len(others) {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.If", Subject: "branches",
			Want: "the same number of nodes from both", Got: fmt.Sprintf("%d and %d", len(where), len(others))})
	}
	merged := make([]Node, len(where))
	for i := range min(len(where), len(others)) {
		b.doing = fmt.Sprintf("If, value %d", i)
		merged[i] = b.merge(f, where[i], others[i])
		b.doing = ""
	}
	return merged
}

func (b *Builder) checkCondition(e graph.Edge) {
	if err := b.graph.Check(e); err != nil {
		b.fail(errs.Wrap("pipeline.If", "condition", err))
		return
	}
	spec := e.Spec()
	if len(spec.Shape) > 0 {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.If", Subject: "condition, node " + e.String(),
			Want: "a scalar, without dimensions", Got: fmt.Sprint(spec.DType, spec.Shape)})
	}
}

// take appends the operators of one side of f, and returns the results of that side.
func (b *Builder) take(f *fork, output int, operators func() []Node) []graph.Edge {
	if operators == nil {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.If", Subject: "branch", Want: "a function", Got: "nil"})
		return nil
	}
	b.branch = &branch{fork: f, output: output}
	defer func() { b.branch = f.parent }()
	nodes := operators()
	edges := make([]graph.Edge, len(nodes))
	for i, n := range nodes {
		edges[i] = b.bring(n.edge)
	}
	return edges
}

// bring returns e as the current branch sees it. A value from outside the branch is split, once for
// both sides.
func (b *Builder) bring(e graph.Edge) graph.Edge {
	if b.err != nil || b.graph.Check(e) != nil { // the caller reports which input it is
		return e
	}
	return b.bringTo(b.branch, e)
}

func (b *Builder) bringTo(to *branch, e graph.Edge) graph.Edge {
	if b.err != nil || to == b.home[e.Node] {
		return e
	}
	if to == nil {
		b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline.If", Subject: "node " + e.String(),
			Want:   "a node of this branch or of one around it",
			Got:    "a node of another branch",
			Remedy: "return it from the branch: If merges it"})
		return e
	}
	f := to.fork
	part, ok := f.parts[e]
	if !ok {
		whole := b.bringTo(f.parent, e)
		if part = b.internal(f.parent, splitOp, f.condition, whole); part == nil {
			return e
		}
		f.parts[e] = part
	}
	return graph.Edge{Node: part, Output: to.output}
}

// merge merges the two parts of a value, in the branch that contains f.
func (b *Builder) merge(f *fork, where, others graph.Edge) Node {
	n := b.internal(f.parent, mergeOp, f.condition, where, others)
	if n == nil {
		return Node{}
	}
	return b.nodes(n)[0]
}

// internal appends an operator of a conditional to a branch.
func (b *Builder) internal(home *branch, operator string, condition graph.Edge, inputs ...graph.Edge) *graph.Node {
	if b.err != nil {
		return nil
	}
	n, err := b.graph.Add(operator, "", inputs, map[string]op.Argument{"predicate": {From: condition}})
	if err != nil {
		b.fail(err)
		return nil
	}
	b.settle(n, home)
	return n
}

// settle records that a node belongs to a branch.
func (b *Builder) settle(n *graph.Node, home *branch) {
	if home == nil {
		return
	}
	if b.home == nil {
		b.home = map[*graph.Node]*branch{}
	}
	b.home[n] = home
}

// AndThen returns the logical and of two scalars of dtype bool. right is computed only for the
// samples whose left is true.
func (b *Builder) AndThen(left Node, right func() Node) Node {
	if right == nil {
		return b.noOperand("and")
	}
	left = b.validate("and", "left", left)
	return b.If(left,
		func() []Node { return []Node{b.validate("and", "right", right())} },
		func() []Node { return []Node{left} })[0]
}

// OrElse returns the logical or of two scalars of dtype bool. right is computed only for the
// samples whose left is false.
func (b *Builder) OrElse(left Node, right func() Node) Node {
	if right == nil {
		return b.noOperand("or")
	}
	left = b.validate("or", "left", left)
	return b.If(left,
		func() []Node { return []Node{left} },
		func() []Node { return []Node{b.validate("or", "right", right())} })[0]
}

// Not negates a scalar. The result is a bool, which is true if the value is false or 0.
func (b *Builder) Not(n Node) Node { return b.Op(notOp, nil, n)[0] }

func (b *Builder) noOperand(expression string) Node {
	b.fail(&errs.Error{Kind: errs.Invalid, Op: "pipeline", Subject: "right operand of " + expression, Want: "a function",
		Got: "nil"})
	return Node{}
}

func (b *Builder) validate(expression, side string, n Node) Node {
	return b.Op(validateOp, op.Args{"expression_name": expression, "expression_side": side}, n)[0]
}

// Split divides the samples of a node by a scalar condition. The first output has the samples whose
// condition is not zero. The second output has the other samples. [Builder.If] is the usual way to
// do so.
func (b *Builder) Split(condition, n Node) (where, others Node) {
	parts := b.Op(splitOp, op.Args{"predicate": condition}, n)
	return parts[0], parts[1]
}

// Merge joins the two outputs of a Split by the same condition.
func (b *Builder) Merge(condition, where, others Node) Node {
	return b.Op(mergeOp, op.Args{"predicate": condition}, where, others)[0]
}
