// Package graph is the intermediate form of operators and what flows between
// them. A pipeline, a cached call of dynamic mode and a compiled loop all become
// a [Graph], which internal/exec runs.
//
// A graph is made with a [Builder], which refuses at once what cannot work:
// unknown operators and arguments, wrong numbers and types of inputs, shapes
// that do not fit. Every error names the node and the input or argument, what
// was expected and what was found.
//
// # Stages
//
// Nodes are cut into stages at the operators that need a whole batch. Within an
// even stage, a segment, every sample goes through all nodes by itself; an odd
// stage holds operators of grain PerBatch:
//
//	stage 0        stage 1       stage 2
//	┌───────────┐  ┌──────────┐  ┌───────────┐
//	│ reader    │  │          │  │           │
//	│ decode    ├─▶│ permute  ├─▶│ normalise │
//	│ crop      │  │ batch    │  │           │
//	└───────────┘  └──────────┘  └───────────┘
//	 per sample     one block     per sample
//
// Only values that leave their stage, or the graph, exist for the whole batch.
package graph

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Node is an operator in its place.
type Node struct {
	Index  int    // in Graph.Nodes
	Name   string // unique in the graph
	Schema *op.Schema
	Config *op.Config
	Inputs []Edge
	Args   []Edge        // the argument inputs, in the order of the kernel
	Specs  []tensor.Spec // of the outputs
	Kernel op.Kernel     // nil for a reader
	Reader *reader.Opener
	Stage  int
	// Seed is that of the operator; seeded is false when it takes the pipeline's.
	Seed   uint64
	Seeded bool
}

// Edge is an output of a node, and as such an input of others.
type Edge struct {
	Node   *Node
	Output int
}

// Spec returns what flows along the edge.
func (e Edge) Spec() tensor.Spec { return e.Node.Specs[e.Output] }

// OpValue makes an edge an argument.
func (e Edge) OpValue() {}

func (e Edge) String() string {
	if len(e.Node.Specs) == 1 {
		return e.Node.Name
	}
	return fmt.Sprintf("%s[%d]", e.Node.Name, e.Output)
}

// Graph is a checked graph whose every node contributes to an output. It is
// immutable.
type Graph struct {
	Nodes   []*Node // in topological order
	Outputs []Edge
	Stages  int
}

// Readers returns the sources of the graph.
func (g *Graph) Readers() []*Node {
	var list []*Node
	for _, n := range g.Nodes {
		if n.Reader != nil {
			list = append(list, n)
		}
	}
	return list
}

// Shuffled reports whether a reader was asked for an order of its own in each epoch.
func (n *Node) Shuffled() bool { return op.Get[bool](n.Config, "random_shuffle") }

// Identity says what a node computes, as text: operator, inputs and arguments
// that are not tuning. Graphs whose nodes have equal names and identities
// compute the same.
func (n *Node) Identity() string {
	var b strings.Builder
	b.WriteString(n.Schema.FullName())
	b.WriteByte('(')
	for i, in := range n.Inputs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(in.String())
	}
	b.WriteByte(')')
	if args := n.Config.Canonical(func(i int) string { return n.Args[i].String() }); args != "" {
		b.WriteString(" " + args)
	}
	if id, ok := n.Kernel.(op.Identifier); ok {
		b.WriteString(" by " + id.Identity())
	}
	return b.String()
}

// stage returns the stage of a node whose inputs come from the given nodes.
func stage(grain op.Grain, from []*Node) int {
	stage := 0
	if grain == op.PerBatch {
		stage = 1
	}
	for _, n := range from {
		after := n.Stage
		if n.Stage%2 != stage%2 {
			after++
		}
		stage = max(stage, after)
	}
	return stage
}
