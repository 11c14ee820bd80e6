// Package graph is the intermediate form of operators and the data that flows between them. A
// pipeline, a cached call of dynamic mode and a compiled loop all become a [Graph], which
// pipeline/exec runs.
//
// A graph is made with a [Builder], which returns an error at once for unknown operators and
// arguments, wrong numbers and types of inputs, and shapes that do not fit. Every error names the
// node and the input or argument, what was expected and what was found.
//
// # Stages
//
// Nodes are cut into stages at the operators that need a whole batch. Within an
// even stage, a segment, every sample goes through all nodes by itself; an odd
// stage holds kernels that are op.Batched:
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
//
// # Inputs
//
// An input is fed from outside. Often nothing is known about it before the first data. Then the
// nodes after it are checked as early as possible, and [Graph.Specialize] makes the graph in which
// all nodes are described.
package graph

import "slices"

// Graph is a checked graph whose every node contributes to an output. It is
// immutable.
type Graph struct {
	Nodes   []*Node // in topological order
	Outputs []Edge
	Stages  int
	// Tolerant lets a node fail that no output needs: the nodes that need it do not compute then, and
	// the outputs are delivered. An operator that does not take its inputs fails when samples come to
	// it, unless their layout or their number of dimensions is wrong.
	Tolerant bool

	declared []string // of outputs: the names of their nodes before Merged; nil: the present names
}

// Delivered returns the name that the node of output i was declared with, even if Merged put
// another node in its place: DALI names the node that it adds after an output before it merges.
func (g *Graph) Delivered(i int) string {
	if g.declared != nil {
		return g.declared[i]
	}
	return g.Outputs[i].Node.Name
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

// DepthFirst returns the nodes with their inputs before them: the nodes of one output after the
// other, then the nodes that are kept without being used, then the rest. DALI gets its nodes in
// this order. Its executor runs the first run nodes and leaves out sinks.
func (g *Graph) DepthFirst() (nodes []*Node, run int) {
	seen := make([]bool, len(g.Nodes))
	var visit func(n *Node)
	visit = func(n *Node) {
		if seen[n.Index] {
			return
		}
		seen[n.Index] = true
		from := n.from()
		if n.behind {
			from = slices.Concat(n.Args, n.Inputs)
		}
		for _, e := range from {
			visit(e.Node)
		}
		nodes = append(nodes, n)
	}
	for _, e := range g.Outputs {
		visit(e.Node)
	}
	for _, n := range g.Nodes {
		if n.kept() {
			visit(n)
		}
	}
	run = len(nodes)
	for _, n := range g.Nodes {
		visit(n)
	}
	return nodes, run
}

// Behind returns the graph in which each picked node begins its own segment: earlier stages compute
// all its inputs, for all samples.
func (g *Graph) Behind(picked func(n *Node) bool) *Graph {
	out, _ := g.rewrite(nil, func(n *Node) error { // which fails where the function does
		if n.Kernel == nil {
			return nil
		}
		n.Stage = stage(n.Kernel, n.from())
		for _, e := range n.from() {
			if picked(n) && e.Node.Stage == n.Stage {
				n.Stage += 2
				break
			}
		}
		return nil
	})
	return out
}

// rewrite returns a copy of g. A node that is a key of replaced gives way to its value, which has
// the same inputs. rewrite calls change for every node, in order.
func (g *Graph) rewrite(replaced map[*Node]*Node, change func(n *Node) error) (*Graph, error) {
	out := &Graph{Tolerant: g.Tolerant}
	copies := map[*Node]*Node{} // of those that are not replaced
	moved := func(edges []Edge) []Edge {
		to := make([]Edge, len(edges))
		for i, e := range edges {
			to[i] = Edge{copies[standIn(replaced, e.Node)], e.Output}
		}
		return to
	}
	for _, n := range g.Nodes {
		n = standIn(replaced, n)
		if copies[n] != nil {
			continue
		}
		c := *n
		c.Index = len(out.Nodes)
		c.Inputs, c.Args = moved(n.Inputs), moved(n.Args)
		if err := change(&c); err != nil {
			return nil, err
		}
		copies[n] = &c
		out.Nodes = append(out.Nodes, &c)
		out.Stages = max(out.Stages, c.Stage+1)
	}
	out.Outputs = moved(g.Outputs)
	for i := range g.Outputs {
		out.declared = append(out.declared, g.Delivered(i))
	}
	return out, nil
}

// standIn returns the node that replaces n, or n.
func standIn(replaced map[*Node]*Node, n *Node) *Node {
	if other, ok := replaced[n]; ok {
		return other
	}
	return n
}
