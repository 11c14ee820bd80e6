package pipeline

import (
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Range is an index that takes the elements from Start up to, not including,
// Stop, each Step-th. Each is an int, a Node of one integer a sample, or nil: the
// beginning, the end, 1. Numbers below 0 count from the end; a Step below 0 goes
// backwards, from the end to the beginning by default. The zero Range takes all.
type Range = arith.Range

// NewAxis is an index that makes a new axis of length 1, whose letter in the
// layout is Name: of all new axes or of none.
type NewAxis = arith.NewAxis

// Index returns part of each sample, as numpy's indexing does: an int or Node takes
// one element of an axis, which disappears with its letter in the layout, a [Range]
// several, and a [NewAxis] takes none. Axes for which there is no index are taken whole.
//
//	image.Index(pipeline.Range{}, pipeline.Range{Step: -1})	// mirrored
//	image.Index(row, 0, pipeline.Range{Start: -1})
func (n Node) Index(indices ...any) Node {
	if n.b == nil {
		return Node{}
	}
	steps, err := arith.Index(indices...)
	if err != nil {
		n.b.fail(err)
	}
	for _, s := range steps {
		n = n.b.Op(s.Op, s.Args, n)[0]
	}
	return n
}

// Shape returns the shape of each sample, as numbers of type int64.
func (n Node) Shape() Node { return n.ShapeAs(tensor.Int64) }

// ShapeAs returns the shape of each sample, as numbers of a type.
func (n Node) ShapeAs(d tensor.DType) Node {
	if n.b == nil {
		return Node{}
	}
	return n.b.Op("shapes", op.Args{"dtype": d}, n)[0]
}

// Property returns what is known about each sample besides its elements, as bytes: its
// "layout", or "source_info", where it was read from.
func (n Node) Property(key string) Node {
	if n.b == nil {
		return Node{}
	}
	return n.b.Op("get_property", op.Args{"key": key}, n)[0]
}
