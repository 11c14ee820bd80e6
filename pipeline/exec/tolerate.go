package exec

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
)

// In a tolerant graph a node may fail that no output needs. The frame notes the samples for which
// it failed. The nodes behind it do not compute for these samples, and the frame is delivered. A
// batch-level node fails for all samples.

// tolerance is what a frame knows about the failures of unused nodes.
type tolerance struct {
	some   atomic.Bool // there are some
	spoilt [][]bool    // [node][sample]: it has not computed; nil for nodes that may not fail
	mu     sync.Mutex
	first  []failure // [node]
}

// failure is the error of the first sample for which a node failed.
type failure struct {
	sample int
	err    error
}

// begin prepares for frames of up to samples of a graph.
func (t *tolerance) begin(g *graph.Graph, samples int) {
	if !g.Tolerant {
		return
	}
	t.spoilt, t.first = make([][]bool, len(g.Nodes)), make([]failure, len(g.Nodes))
	for i, n := range g.Nodes {
		if n.Unused && n.Kernel != nil {
			t.spoilt[i] = make([]bool, samples)
		}
	}
}

// may reports whether the node may fail.
func (t *tolerance) may(n *graph.Node) bool { return t.spoilt != nil && t.spoilt[n.Index] != nil }

// lacks reports whether the node has not computed a sample, because it or a node before it failed.
func (t *tolerance) lacks(n *graph.Node, s int) bool { return t.may(n) && t.spoilt[n.Index][s] }

// tolerates reports whether the frame is delivered although the node failed. Limits and the end of
// the pipeline fail all frames.
func (t *tolerance) tolerates(n *graph.Node, err error) bool {
	switch errs.KindOf(err) {
	case errs.Canceled, errs.Closed, errs.Exhausted:
		return false
	}
	var late *op.Redescribed
	return t.may(n) && !errors.As(err, &late)
}

// note notes that the node failed for sample s.
func (t *tolerance) note(n *graph.Node, s int, err error) {
	if perBatch(n.Stage) {
		t.spoil(n)
	} else {
		t.spoilt[n.Index][s] = true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := &t.first[n.Index]; f.err == nil || s < f.sample {
		*f = failure{s, err}
	}
	t.some.Store(true)
}

// spoil notes that the node has computed nothing.
func (t *tolerance) spoil(n *graph.Node) {
	for s := range t.spoilt[n.Index] {
		t.spoilt[n.Index][s] = true
	}
}

// passes reports whether the node does not compute sample s, because a node before it failed.
func (t *tolerance) passes(n *graph.Node, s int) bool {
	if !t.may(n) {
		return false
	}
	behind := func(e graph.Edge) bool { return t.lacks(e.Node, s) }
	if !slices.ContainsFunc(n.Inputs, behind) && !slices.ContainsFunc(n.Args, behind) {
		return false
	}
	t.spoilt[n.Index][s] = true
	return true
}

// passesAll reports whether a batch-level node does not compute n samples, because a node before it
// failed for one of them.
func (t *tolerance) passesAll(node *graph.Node, n int) bool {
	for s := range n {
		if t.passes(node, s) {
			t.spoil(node)
			return true
		}
	}
	return false
}

// reset forgets the failures.
func (t *tolerance) reset() {
	if !t.some.Load() {
		return
	}
	for _, samples := range t.spoilt {
		clear(samples)
	}
	clear(t.first)
	t.some.Store(false)
}

// Tolerated calls tell for each node that failed although the frame is delivered. It is valid after
// Wait, until Abandon.
func (f *Frame) Tolerated(tell func(n *graph.Node, err error)) {
	if !f.tolerance.some.Load() {
		return
	}
	for i, first := range f.tolerance.first {
		if first.err != nil {
			tell(f.e.plan.graph.Nodes[i], first.err)
		}
	}
}
