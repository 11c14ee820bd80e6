package pipeline

import (
	"errors"
	"slices"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/tensor"
)

// late describes the outputs of the late nodes that have made some. At first the graph runs up to
// the late nodes. When a batch comes to one, the node's outputs are made and kept, and the batch
// fails. It is made again with a graph in which they are described, and nobody sees the failure.
// The same happens when a later batch has outputs of another kind.
//
//	reader ─ decode ─ function ┄ resize ┄ …        the function has made uint8, 3 dimensions
//	reader ─ decode ─ function ─ resize ─ …        the same batch again, with what it has made
type late struct {
	nodes bool                     // the graph has some
	specs map[string][]tensor.Spec // by the names of nodes
}

// redescribe reports whether the batch that failed with err is to be made again, because a late
// node has other outputs than the graph describes. The executor runs another graph then. Otherwise
// failed is the error of the batch: err, or that an operator does not take the outputs.
func (p *Pipeline) redescribe(err error) (again bool, failed error) {
	var r *op.Redescribed
	if !errors.As(err, &r) {
		return false, err
	}
	var g *graph.Graph
	if r.Node == "" {
		g, err = p.supposed()
	} else {
		before, known := p.late.specs[r.Node]
		p.late.set(r.Node, r.Specs)
		if g, err = p.described(); err != nil {
			p.late.set(r.Node, before)
			if !known {
				delete(p.late.specs, r.Node)
			}
		}
	}
	if err != nil {
		return false, err
	}
	p.exec.Close() // no frame of it is in the making
	p.last = nil
	p.begin(g)
	return true, nil
}

// set describes a node. The map that was handed out is left as it is.
func (l *late) set(node string, specs []tensor.Spec) {
	if l.specs == nil {
		l.specs = map[string][]tensor.Spec{}
	}
	l.specs[node] = specs
}

// supposed returns a graph for a batch of which no sample came to the late nodes that are not
// described, so that any description does that the nodes after them take. The batch does not
// depend on it.
func (p *Pipeline) supposed() (*graph.Graph, error) {
	g, err := p.described()
	for err == nil && !g.Known() {
		i := slices.IndexFunc(g.Nodes, func(n *graph.Node) bool { return n.Late() && n.Ready() && !n.Known() })
		if i < 0 {
			return nil, &op.Redescribed{}
		}
		g, err = p.suppose(g.Nodes[i])
	}
	return g, err
}

// suppose describes a late node in a way that the nodes after it take.
func (p *Pipeline) suppose(n *graph.Node) (g *graph.Graph, err error) {
	var first error
	for _, like := range likely(n) {
		specs := make([]tensor.Spec, len(n.Specs))
		for i := range specs {
			specs[i] = tensor.Spec{DType: like.DType, Shape: like.Shape, Layout: n.Specs[i].Layout}
			if layout := specs[i].Layout; layout != "" {
				specs[i].Shape = unknown(len(layout))
			}
		}
		p.late.set(n.Name, specs)
		if g, err = p.described(); err == nil {
			return g, nil
		}
		if first == nil {
			first = err
		}
	}
	delete(p.late.specs, n.Name)
	return nil, first
}

// mostDimensions are tried when nothing tells the number of dimensions.
const mostDimensions = 5

// likely returns descriptions of an output of a late node. The first ones are as its inputs.
func likely(n *graph.Node) (specs []tensor.Spec) {
	for _, e := range n.Inputs {
		specs = append(specs, tensor.Spec{DType: e.Spec().DType, Shape: unknown(len(e.Spec().Shape))})
	}
	for _, d := range []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Float32, tensor.Bool, tensor.Int64, tensor.Float64,
		tensor.Int8, tensor.Int16, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Float16} {
		for ndim := range mostDimensions {
			specs = append(specs, tensor.Spec{DType: d, Shape: unknown(ndim)})
		}
	}
	return specs
}

// unknown is a shape of which only the number of dimensions is known.
func unknown(ndim int) tensor.Shape { return slices.Repeat(tensor.Shape{-1}, ndim) }
