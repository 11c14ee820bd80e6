package pipeline

import (
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
