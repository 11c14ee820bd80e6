package graph

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// DotOptions say what a drawing shows.
type DotOptions struct {
	Tensors bool // what flows between operators as boxes
	Colors  bool // the device of an operator as a colour
}

// DOT returns the graph in the language of graphviz, drawn like DALI's: depth first from the
// outputs, with an operator after each output that makes it contiguous.
func (g *Graph) DOT(o DotOptions) []byte {
	d := drawing{options: o, seen: map[string]bool{}, consumers: map[Edge][]consumer{}}
	delivered := map[Edge]bool{}
	for i, e := range g.Outputs {
		if !delivered[e] {
			delivered[e] = true
			d.visit(e.Node)
			name := e.named(g.Delivered(i))
			d.add(contiguous+name, contiguousData+name, []Edge{e})
		}
	}
	for _, n := range g.Nodes { // nodes that are kept though nothing uses them
		d.visit(n)
	}
	d.b.WriteString("digraph graphname {\n")
	for _, b := range d.boxes {
		d.draw(b)
	}
	d.b.WriteString("}\n")
	return d.b.Bytes()
}

// Names of the operators that make outputs contiguous, and of their results.
const (
	contiguous     = "__MakeContiguous_CpuToCpu_"
	contiguousData = "contiguous_cpu_to_cpu_"
)

// drawing is a graph on its way to text.
type drawing struct {
	options   DotOptions
	b         bytes.Buffer
	seen      map[string]bool
	boxes     []box
	consumers map[Edge][]consumer
}

// box is an operator.
type box struct {
	name    string
	node    *Node    // nil for one that makes an output contiguous
	outputs []string // names of its outputs
}

// consumer is an operator that takes an edge as its input-th.
type consumer struct {
	name  string
	input int
}

// visit adds a node after the nodes that it needs.
func (d *drawing) visit(n *Node) {
	if d.seen[n.Name] {
		return
	}
	d.seen[n.Name] = true
	for _, e := range n.from() {
		d.visit(e.Node)
	}
	b := box{name: n.Name, node: n}
	for i := range n.Specs {
		b.outputs = append(b.outputs, Edge{n, i}.String())
	}
	d.append(b, n.from())
}

func (d *drawing) add(name, data string, from []Edge) {
	d.seen[name] = true
	d.append(box{name: name, outputs: []string{data}}, from)
}

func (d *drawing) append(b box, from []Edge) {
	d.boxes = append(d.boxes, b)
	for i, e := range from {
		d.consumers[e] = append(d.consumers[e], consumer{b.name, i})
	}
}

var dotNames = strings.NewReplacer("[", "_", "]", "_")

// line writes a line with the names made fit for graphviz.
func (d *drawing) line(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = dotNames.Replace(s)
		}
	}
	fmt.Fprintf(&d.b, format+"\n", args...)
}

func (d *drawing) draw(b box) {
	if d.options.Colors {
		d.line("%s[color=\"blue\"];", b.name)
	}
	style := ""
	if d.options.Tensors {
		style = "[style=dotted]"
	}
	for _, c := range d.childrenOf(b) {
		d.line("%s -> %s"+style+";", b.name, c)
	}
	if d.options.Tensors {
		for i, out := range b.outputs {
			d.line("%s_cpu[shape=box];", out)
			d.line("%s -> %s_cpu[label=%d];", b.name, out, i)
			if b.node == nil {
				continue
			}
			for _, c := range d.consumers[Edge{b.node, i}] {
				d.line("%s_cpu -> %s[label=%d];", out, c.name, c.input)
			}
		}
	}
	d.b.WriteByte('\n')
}

// childrenOf returns the operators that take an output of b: output by output, each in the order of
// the drawing.
func (d *drawing) childrenOf(b box) []string {
	if b.node == nil {
		return nil
	}
	var names []string
	for i := range b.outputs {
		for _, c := range d.consumers[Edge{b.node, i}] {
			if !slices.Contains(names, c.name) {
				names = append(names, c.name)
			}
		}
	}
	return names
}
