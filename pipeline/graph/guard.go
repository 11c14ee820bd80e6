package graph

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// guard says which samples a value has: the samples whose predicate is true (side 0) or false (side
// 1).
type guard struct {
	predicate Edge
	side      int
}

// guards returns what is known about the samples of e.
func (e Edge) guards() []guard {
	list := e.Node.guards
	if p, ok := e.Node.predicate(); ok && e.Node.Schema.Branch == op.Splits {
		list = append(list[:len(list):len(list)], guard{p, e.Output})
	}
	return list
}

// predicate returns what a node splits or merges by, unless it is constant.
func (n *Node) predicate() (Edge, bool) {
	if n.Schema.Branch == op.Follows || len(n.Args) != 1 {
		return Edge{}, false
	}
	return n.Args[0], true
}

// guard learns which samples come to the node. It returns an error for inputs from both sides of a
// predicate, because they have no sample in common.
func (n *Node) guard() error {
	p, by := n.predicate()
	if n.Schema.Branch == op.Merges && by {
		for i, e := range n.Inputs {
			for _, g := range e.guards() {
				if g.predicate == p && g.side != i {
					return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(),
						Subject: fmt.Sprintf("node %s, input %d", n.Name, i),
						Want:    "an input from the other side of the predicate", Got: e.String()}
				}
			}
		}
		n.guards = p.guards()
		return nil
	}
	side := map[Edge]int{}
	for _, e := range n.from() {
		for _, g := range e.guards() {
			other, ok := side[g.predicate]
			if ok && other != g.side {
				return &errs.Error{Kind: errs.Invalid, Op: n.Schema.FullName(), Subject: "node " + n.Name,
					Want: "inputs of one side of a condition", Got: "both sides of " + g.predicate.String(),
					Remedy: "merge them first"}
			}
			if !ok {
				side[g.predicate] = g.side
				n.guards = append(n.guards, g)
			}
		}
	}
	return nil
}
