package pipeline

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
)

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
