package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Node is what an operator gives: one tensor a sample. It is the input and, by
// op.Of, an argument of further operators of the same builder. The zero Node is
// what comes of a mistake.
type Node struct {
	b    *Builder
	edge graph.Edge
}

// OpValue implements op.Value.
func (Node) OpValue() {}

// Spec describes the samples of the node; dimensions of -1 are known only from
// the data. It is the zero Spec after a mistake in the graph, and when only the
// data that an input is fed will tell.
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

// Range is an index that takes the elements from Start up to, not including,
// Stop, each Step-th. Each is an int, a Node of one integer a sample, or nil: the
// beginning, the end, 1. Numbers below 0 count from the end; a Step below 0 goes
// backwards, from the end to the beginning by default. The zero Range takes all.
type Range = arith.Range

// NewAxis is an index that makes a new axis of length 1, whose letter in the
// layout is Name: of all new axes or of none.
type NewAxis = arith.NewAxis

// Index returns part of each sample, as numpy's indexing does: an int or Node takes
// one element of an axis, which disappears with its letter in the layout, a [Range]
// several, and a [NewAxis] takes none. Axes for which there is no index are taken whole.
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

// ShapeAs returns the shape of each sample, as numbers of a type.
func (n Node) ShapeAs(d tensor.DType) Node {
	if n.b == nil {
		return Node{}
	}
	return n.b.Op("shapes", op.Args{"dtype": d}, n)[0]
}

// Property returns what is known about each sample besides its elements, as bytes: its
// "layout", or "source_info", where it was read from.
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
// Arithmetic works element by element, on shapes broadcast as in numpy. An operand
// is a Node, a Go number or bool, or a [Constant]; at least one is a Node. Go's int and
// float64 count as int32 and float32, numbers of other types as what they are. The type
// of a result is the type in which the operands meet: a float beats integers, the wider
// type the narrower, signed and unsigned meet in a signed type, bool gives way to all.
//
//	scaled := image.Sub(128).Div(fn.Max(spread, 1))
func Apply(function string, operands ...any) Node {
	b := builderOf(operands)
	if b == nil {
		return Node{} // the operator that takes it names the mistake
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

// written returns a function of operands as it would be written, for messages.
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

// operand returns an operand of Go or of this package as one of op/arith.
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
