package pipeline

import (
	"slices"

	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/stream"
)

var _ stream.Profiled = (*Pipeline)(nil)

// Profile implements stream.Profiled. Times are counted with Options.EnableTiming, and memory with
// Options.EnableMemoryStats. Before the first data of a graph whose inputs are not described there
// are no operators.
func (p *Pipeline) Profile() stream.Profile {
	s := p.Statistics()
	out := stream.Profile{Operators: []stream.Operator{}, Batches: s.Batches, Samples: s.Samples, Faults: s.Faults,
		Queue: s.Queue, Depth: s.Depth, ReadAhead: s.ReadAhead, ReadAheadPeak: s.ReadAheadPeak,
		Timed: p.options.EnableTiming, Waited: int64(s.Waited), Starved: s.Starved, Measured: p.options.EnableMemoryStats}
	e := p.meter.exec.Load()
	if e == nil {
		return out
	}
	g := e.Graph()
	for i, n := range e.Stats() {
		o := operatorOf(g, g.Nodes[i])
		o.Samples, o.Time = n.Samples, int64(n.Time)
		for _, m := range n.Outputs {
			o.Largest += m.Batch
			o.Held += m.Reserved
		}
		out.Operators = append(out.Operators, o)
	}
	return out
}

// operatorOf describes a node of a graph.
func operatorOf(g *graph.Graph, n *graph.Node) stream.Operator {
	o := stream.Operator{Name: n.Name, Kind: n.Schema.FullName(), Reader: n.Reader != nil,
		Output: slices.ContainsFunc(g.Outputs, func(e graph.Edge) bool { return e.Node == n })}
	for _, e := range slices.Concat(n.Inputs, n.Args) {
		if !slices.Contains(o.Inputs, e.Node.Name) {
			o.Inputs = append(o.Inputs, e.Node.Name)
		}
	}
	return o
}
