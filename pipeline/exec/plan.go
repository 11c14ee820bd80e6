package exec

import (
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// plan is a graph prepared for running: every output of every node is a value
// with a number.
type plan struct {
	graph   *graph.Graph
	readers []*graph.Node
	fed     []*graph.Node
	first   []int // number of the first value of each node
	values  []value
	outputs []int         // values that are delivered
	stages  [][]int       // nodes of each stage that have a kernel
	wide    []bool        // of stages: no value stays in a worker's memory, and all samples come to all nodes
	origin  []int         // per node: the reader that its data comes from, an index of readers, or -1
	asks    []*graph.Node // per node: the reader of its image, which says what region it wants, or nil
	counted []*graph.Node // the counted ones
	minds   []mind
	late    bool // some outputs are known only when they are made
	begins  bool // the graph is not described to its end: no frame of it is delivered
}

// value describes what an output of a node holds.
type value struct {
	spec     tensor.Spec
	static   bool // its size is known before the data, and every sample has it
	size     int  // bytes of a static sample
	frame    bool // exists for the whole batch, in the frame
	partial  bool // samples may lack it
	named    int  // the reader whose samples it has the name of, or -1
	read     bool // comes from a reader
	fed      bool // comes from outside
	hint     int  // bytes that a sample is expected to take
	keep     bool // of a reader's: needed after the first stage
	gathered bool // delivered in a batch that is put together when all samples are there

	output    int // the delivered output whose batch is laid out for it, or -1: see place.go
	delivered int // how many outputs deliver it
	uniform   int // the output whose batch may be laid out for samples of one size, or -1: see uniform.go
}

func newPlan(g *graph.Graph, c *Config) *plan {
	counted, bytesPerSample := c.Counted, c.BytesPerSample
	p := &plan{graph: g, readers: g.Readers(), fed: g.Fed(), stages: make([][]int, g.Stages), begins: !g.Known()}
	for _, n := range g.Nodes {
		p.late = p.late || n.Late()
		p.first = append(p.first, len(p.values))
		if counted != nil && counted[n.Index] {
			p.counted = append(p.counted, n)
		}
		origin := -1
		switch {
		case n.Reader != nil:
			origin = slices.Index(p.readers, n)
		case !n.Fed && n.Ready():
			p.stages[n.Stage] = append(p.stages[n.Stage], n.Index)
		}
		for i, spec := range n.Specs {
			v := value{named: p.named(n, i), spec: spec, hint: hint(n, i, bytesPerSample),
				static: op.Static(spec) && !n.Partial && !n.Fed, partial: n.Partial, read: n.Reader != nil, fed: n.Fed}
			v.frame = v.read || v.fed || n.Stage%2 == 1
			if v.static {
				size, err := spec.Shape.Bytes(spec.DType)
				if v.size = size; err != nil || int64(size) > c.Limits.MaxBytes { // which is refused when a sample asks for it
					v.static, v.size = false, 0
				}
			}
			p.values = append(p.values, v)
		}
		for _, e := range slices.Concat(n.Inputs, n.Args) {
			if v := p.value(e); e.Node.Stage != n.Stage {
				v.frame, v.keep = true, true
			}
			if from := p.origin[e.Node.Index]; origin < 0 {
				origin = from
			}
		}
		p.origin = append(p.origin, origin)
	}
	for _, n := range Minds(g) {
		p.minds = append(p.minds, mind{n, n.Kernel.(op.Remembering)})
	}
	for _, e := range g.Outputs {
		v := p.value(e)
		v.frame, v.keep, v.gathered = true, true, !v.static && !c.Take
		p.outputs = append(p.outputs, p.number(e))
	}
	p.pair()
	for _, nodes := range p.stages {
		wide := true
		for _, i := range nodes {
			n := g.Nodes[i]
			wide = wide && !n.Schema.Stateful && !n.Schema.Keep && len(p.needs(n)) == 0
			for o := range n.Specs {
				wide = wide && p.values[p.first[i]+o].frame && !n.Partial
			}
		}
		p.wide = append(p.wide, wide)
	}
	return p
}

func (p *plan) number(e graph.Edge) int { return p.first[e.Node.Index] + e.Output }

func (p *plan) value(e graph.Edge) *value { return &p.values[p.number(e)] }

// named returns the index of the reader whose sample names output i of n has, or -1. Values that
// are computed from a file's contents keep the name of that file.
func (p *plan) named(n *graph.Node, i int) int {
	switch {
	case n.Reader != nil && i == 0:
		return slices.Index(p.readers, n)
	case len(n.Inputs) > 0:
		return p.value(n.Inputs[0]).named
	}
	return -1
}

// needs returns the values that may lack samples and without which a node does not see a sample.
func (p *plan) needs(n *graph.Node) []int {
	from := n.Args
	if n.Schema.Branch != op.Merges {
		from = slices.Concat(n.Inputs, n.Args)
	}
	var needs []int
	for _, e := range from {
		if e.Node.Partial {
			needs = append(needs, p.number(e))
		}
	}
	return needs
}

// perBatch reports whether a stage holds batch-level operators.
func perBatch(stage int) bool { return stage%2 == 1 }
