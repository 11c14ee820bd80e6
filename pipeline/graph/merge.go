package graph

import (
	"strings"

	"github.com/bivouac-ml/bivouac/op"
)

// Merged returns the graph in which nodes that are written the same, with the same
// operator, inputs and arguments, are one, the first of them depth first. Readers, inputs, what draws random numbers,
// has a state or effects or has a name that was given to it stays as it is, what is preserved stays beside
// others. alike makes exceptions of nodes that draw random numbers: two that are written the same draw the
// same. It may be nil. All this is as in DALI, whose checkpoints tell.
func (g *Graph) Merged(alike func(n *Node) bool) (*Graph, error) {
	first := map[string]*Node{}
	replaced := map[*Node]*Node{}
	nodes, _ := g.DepthFirst()
	for _, n := range nodes {
		if !n.mergeable(alike) {
			continue
		}
		key := n.render(func(e Edge) string { return Edge{standIn(replaced, e.Node), e.Output}.String() }, n.Config.Written) + " as " + n.Draws
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

// automatic is how the names that DALI makes begin.
const automatic = "__"

func (n *Node) mergeable(alike func(n *Node) bool) bool {
	s := n.Schema
	if n.Kernel == nil || s.Random && (alike == nil || !alike(n)) || s.Stateful || s.Keep {
		return false
	}
	return !n.named || strings.HasPrefix(n.Name, automatic)
}
