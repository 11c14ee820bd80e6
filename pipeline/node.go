package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Node is an output of an operator: one tensor per sample. It can be an input of later operators of
// the same Builder or, with op.Of, an argument. After a mistake, operators return the zero Node.
type Node struct {
	b    *Builder
	edge graph.Edge
}

// OpValue implements op.Value.
func (Node) OpValue() {}

// Spec describes the samples of the node. A dimension of -1 depends on the data. Spec returns the
// zero Spec after a mistake in the graph, and if the description depends on data that is not yet
// fed.
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

// Range is an index that takes every Step-th element from Start up to, but not including, Stop.
// Each field is an int, a Node with one integer per sample, or nil. nil means the beginning, the
// end, and a step of 1. A Start or Stop below 0 counts from the end. A Step below 0 goes backwards,
// by default from the end to the beginning. The zero Range takes all elements.
type Range = arith.Range

// NewAxis is an index that makes a new axis of length 1. Name is the letter of the axis in the
// layout. Either all new axes have a Name, or no new axis has one.
type NewAxis = arith.NewAxis

// Index returns a part of each sample, like indexing in numpy. An int or a Node takes one element
// of an axis, and removes the axis and its letter in the layout. A [Range] takes several elements.
// A [NewAxis] inserts an axis. An axis without an index is taken whole.
//
//	image.Index(pipeline.Range{}, pipeline.Range{Step: -1})	// mirrored
//	image.Index(row, 0, pipeline.Range{Start: -1})
func (n Node) Index(indices ...any) Node {
	if n.b == nil {
		return Node{}
	}
	steps, err := arith.Index(indices...)
	if err != nil {
		n.b.fail(err)
	}
	for _, s := range steps {
		n = n.b.Op(s.Op, s.Args, n)[0]
	}
	return n
}

// Shape returns the shape of each sample, as numbers of type int64.
func (n Node) Shape() Node { return n.ShapeAs(tensor.Int64) }

// ShapeAs returns the shape of each sample, as numbers of dtype d.
func (n Node) ShapeAs(d tensor.DType) Node {
	if n.b == nil {
		return Node{}
	}
	return n.b.Op("shapes", op.Args{"dtype": d}, n)[0]
}

// Property returns a property of each sample as bytes. The keys are "layout" and "source_info",
// which says where the sample was read from.
func (n Node) Property(key string) Node {
	if n.b == nil {
		return Node{}
	}
	return n.b.Op("get_property", op.Args{"key": key}, n)[0]
}

// Apply appends the operator that computes a function of op/arith, such as "sub", and
// returns its result. The methods of Node and the functions of pipeline/fn, such as
// fn.Sub, call it.
//
// Arithmetic works element by element; shapes are broadcast as in numpy. An operand is a Node, a Go
// number or bool, or a [Constant]. At least one operand is a Node. Go's int and float64 count as
// int32 and float32; numbers of other Go types keep their type. The dtype of the result follows
// from the operands: a float with an integer gives the float, of two types the wider one is taken,
// signed with unsigned gives a signed type, and bool with any other type gives the other type.
//
//	scaled := image.Sub(128).Div(fn.Max(spread, 1))
func Apply(function string, operands ...any) Node {
	b := builderOf(operands)
	if b == nil {
		return Node{} // the operator that takes it reports the mistake
	}
	list := make([]any, len(operands))
	for i, operand := range operands {
		list[i] = b.operand(operand)
	}
	b.doing = written(function, operands)
	defer func() { b.doing = "" }()
	args, inputs, err := arith.Apply(function, list...)
	if err != nil {
		b.fail(err)
		return Node{b: b}
	}
	nodes := make([]Node, len(inputs))
	for i := range inputs {
		nodes[i] = inputs[i].(Node)
	}
	return b.Op(arith.Name, args, nodes...)[0]
}

// Pos returns n.
func (n Node) Pos() Node { return n }

// written returns the source text of a function call, for messages.
func written(function string, operands []any) string {
	list := make([]string, len(operands))
	for i, operand := range operands {
		list[i] = fmt.Sprint(operand)
		switch v := operand.(type) {
		case Node:
			list[i] = v.Name()
		case Constant:
			list[i] = fmt.Sprint(v.Value)
		}
	}
	return function + "(" + strings.Join(list, ", ") + ")"
}

// builderOf returns the builder of the first node among values.
func builderOf(values []any) *Builder {
	for _, v := range values {
		if n, ok := v.(Node); ok && n.b != nil {
			return n.b
		}
	}
	return nil
}

// operand converts an operand to an operand of op/arith.
func (b *Builder) operand(v any) any {
	if c, ok := v.(Constant); ok {
		if s, ok := c.scalar(); ok {
			return s
		}
		return b.Constant(c)
	}
	return v
}

var _ op.Value = Node{}
