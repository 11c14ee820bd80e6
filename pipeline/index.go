package pipeline

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Range is an index that takes the elements from Start up to, not including,
// Stop, each Step-th. Each is an int, a Node of one integer a sample, or nil: the
// beginning, the end, 1. Numbers below 0 count from the end; a Step below 0 goes
// backwards, from the end to the beginning by default. The zero Range takes all.
type Range struct{ Start, Stop, Step any }

// NewAxis is an index that makes a new axis of length 1, whose letter in the
// layout is Name: of all new axes or of none.
type NewAxis struct{ Name string }

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
	args := op.Args{}
	var axes []int
	names, numbered, out := "", 0, 0 // out counts axes of the result
	for i, index := range indices {
		switch x := index.(type) {
		case NewAxis:
			axes = append(axes, out)
			names += x.Name
			out++
			continue
		case Range:
			for k, v := range []any{x.Start, x.Stop, x.Step} {
				if v != nil {
					n.b.checkIndex(i, v)
					args[fmt.Sprintf("%s_%d", []string{"lo", "hi", "step"}[k], numbered)] = v
				}
			}
			out++
		default:
			n.b.checkIndex(i, index)
			args[fmt.Sprintf("at_%d", numbered)] = index
		}
		numbered++
	}
	if names != "" && len(names) != len(axes) {
		n.b.fail(&errs.Error{Kind: errs.Invalid, Op: "index", Subject: "names of new axes", Want: "a letter for each new axis, or none",
			Got: fmt.Sprintf("%q for %d axes", names, len(axes))})
	}
	part := n
	switch {
	case len(args) > 0:
		args["num_subscripts"] = numbered
		part = n.b.Op("_tensor_subscript", args, n)[0]
	case len(axes) == 0 || !isNewAxis(indices[len(indices)-1]): // all whole: are there so many?
		part = n.b.Op("_subscript_dim_check", op.Args{"num_subscripts": numbered}, n)[0]
	}
	if len(axes) == 0 {
		return part
	}
	expand := op.Args{"axes": axes}
	if names != "" {
		expand["new_axis_names"] = names
	}
	return n.b.Op("expand_dims", expand, part)[0]
}

func isNewAxis(index any) bool {
	_, ok := index.(NewAxis)
	return ok
}

// checkIndex refuses what is no index.
func (b *Builder) checkIndex(i int, v any) {
	switch v.(type) {
	case int, Node:
		return
	}
	b.fail(&errs.Error{Kind: errs.Invalid, Op: "index", Subject: fmt.Sprintf("index %d", i), Want: "an int, a Node, a Range or a NewAxis",
		Got: fmt.Sprintf("%v of type %T", v, v)})
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
