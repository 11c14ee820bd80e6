package graph

import (
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// Merged returns the graph in which equal nodes, with the same operator, inputs and arguments, are
// merged into the one that a depth-first walk visits first. Readers, inputs, and nodes that draw
// random numbers, have a state or effects, or were given a name are not merged. Preserved nodes
// stay beside the merged node. alike makes exceptions for nodes that draw random numbers: if it
// returns true, equal nodes draw the same numbers and are merged. alike may be nil. All this
// follows DALI, as its checkpoints show.
func (g *Graph) Merged(alike func(n *Node) bool) (*Graph, error) {
	first := map[string]*Node{}
	replaced := map[*Node]*Node{}
	nodes, _ := g.DepthFirst()
	for _, n := range nodes {
		if !n.mergeable(alike) {
			continue
		}
		key := n.render(func(e Edge) string { return Edge{standIn(replaced, e.Node), e.Output}.String() },
			n.Config.Written) + " as " + n.Draws
		switch other, ok := first[key]; {
		case !ok:
			first[key] = n
		case !op.Get[bool](n.Config, "preserve"):
			replaced[n] = other
		}
	}
	if len(replaced) == 0 {
		return g, nil
	}
	return g.rewrite(replaced, func(*Node) error { return nil })
}

// automatic is the prefix of the names that DALI makes.
const automatic = "__"

func (n *Node) mergeable(alike func(n *Node) bool) bool {
	s := n.Schema
	if n.Kernel == nil || s.Random && (alike == nil || !alike(n)) || s.Stateful || s.Keep {
		return false
	}
	return !n.named || strings.HasPrefix(n.Name, automatic)
}
