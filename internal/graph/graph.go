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
//
// # Inputs
//
// An input is fed from outside. Often nothing is known of it before the first
// data: then the nodes behind it are checked as far as they can be, and
// [Graph.Specialize] makes the graph in which all are described.
package graph

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

// rewrite returns a copy of g without the nodes that replaced maps to others of g, in which
// change was called for every node, in order.
func (g *Graph) rewrite(replaced map[*Node]*Node, change func(n *Node) error) (*Graph, error) {
	out := &Graph{}
	copies := map[*Node]*Node{}
	for _, n := range g.Nodes {
		if other, ok := replaced[n]; ok {
			copies[n] = copies[other]
			continue
		}
		c := *n
		c.Index = len(out.Nodes)
		c.Inputs, c.Args = moved(n.Inputs, copies), moved(n.Args, copies)
		if err := change(&c); err != nil {
			return nil, err
		}
		copies[n] = &c
		out.Nodes = append(out.Nodes, &c)
		out.Stages = max(out.Stages, c.Stage+1)
	}
	out.Outputs = moved(g.Outputs, copies)
	return out, nil
}

func moved(edges []Edge, to map[*Node]*Node) []Edge {
	out := make([]Edge, len(edges))
	for i, e := range edges {
		out[i] = Edge{Node: to[e.Node], Output: e.Output}
	}
	return out
}
