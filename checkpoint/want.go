package checkpoint

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Box is a region of an array: Shape elements from Origin on, along each axis.
type Box struct {
	Origin, Shape []int
}

// Want says what of a leaf to load; the zero value is all of it.
//
// Boxes of one leaf that are wanted together cost the bytes that they cover, not
// those of each: what two of them need is read once. A box reads the sub-chunks
// (LeafInfo.ReadShape) that it touches as a whole, so that they can be verified.
type Want struct {
	// Skip leaves the leaf out: nothing of it is read, and its value is
	// Placeholder{}, or for LoadInto the tensor or slice that is there, unchanged.
	Skip bool
	// Boxes are the parts of the array to load, nil is the whole. The value of
	// the leaf is then a tensor of the shape of the one box, or Parts where there
	// are several, which may overlap, or none. Boxes of a scalar or of PRNG keys
	// are errs.Invalid.
	Boxes []Box
}

// Parts is the value of a leaf of which several boxes were read: a tensor for
// each, in their order.
type Parts []tensor.Tensor

// Placeholder is the value of a leaf that was not read.
type Placeholder struct{}

// reading is what a load reads of one leaf.
type reading struct {
	at      int // of the leaf
	leaf    *layout.Leaf
	boxes   bool // the leaf was asked for in boxes
	targets []layout.Target
}

// leafInfo is the leaf as callers know it.
func leafInfo(l *layout.Leaf) LeafInfo {
	return LeafInfo{
		Path: l.Path, Param: l.Param, Kind: LeafKind(l.Kind), ValueType: l.ValueType, WriteShape: l.WriteShape, KeyImpl: l.KeyImpl, Text: l.Text,
		DType: l.DType, Shape: l.Shape, ChunkShape: l.ChunkShape, ReadShape: l.ReadShape, File: l.File,
	}
}

// plan decides what is read of a leaf, and where to.
func plan(at int, l *layout.Leaf, w Want, into *destination) (reading, error) {
	r := reading{at: at, leaf: l, boxes: w.Boxes != nil}
	if !r.boxes {
		w.Boxes = []Box{{make([]int, len(l.Shape)), l.Shape}}
	} else if l.Kind != layout.Array {
		return r, &errs.Error{Kind: errs.Invalid, Subject: "leaf " + strconv.Quote(l.Param), Want: "an array to take boxes of", Got: LeafKind(l.Kind).String()}
	}
	for _, b := range w.Boxes {
		box := zarr.Box{Origin: b.Origin, Shape: b.Shape}
		if !box.Inside(l.Shape) {
			return r, &errs.Error{Kind: errs.Invalid, Subject: "array " + strconv.Quote(l.Param), Want: "a box inside of " + l.Shape.String(), Got: box.String()}
		}
		memory := into.memory
		if len(w.Boxes) > 1 {
			memory = (*destination)(nil).memory
		}
		dst, err := memory(l, b.Shape)
		if err != nil {
			return r, err
		}
		r.targets = append(r.targets, layout.Target{Leaf: l, Box: box, Dst: dst})
	}
	return r, nil
}

// readLeaves reads the arrays of the leaves at the given indices and sets the
// values of their entries.
func readLeaves(ctx context.Context, t *layout.OpenTree, entries []tree.Entry, arrays []int, into *destination, o *LoadOptions) error {
	var readings []reading
	var targets []layout.Target
	for _, i := range arrays {
		l := &t.Leaves[i]
		var w Want
		if o.Want != nil {
			w = o.Want(leafInfo(l))
		}
		if w.Skip {
			entries[i].Node.Value = into.kept(l)
			continue
		}
		r, err := plan(i, l, w, into)
		if err != nil {
			return err
		}
		readings = append(readings, r)
		targets = append(targets, r.targets...)
	}
	if err := t.Read(ctx, targets); err != nil {
		return err
	}
	for _, r := range readings {
		v, err := r.value()
		if err != nil {
			return err
		}
		entries[r.at].Node.Value = v
	}
	return nil
}

// value returns the value that was read for the leaf.
func (r *reading) value() (any, error) {
	l := r.leaf
	if len(r.targets) == 1 {
		t := boxTensor(&r.targets[0])
		if r.boxes {
			return t, nil
		}
		return leafValue(l, t)
	}
	parts := make(Parts, len(r.targets))
	for i := range r.targets {
		parts[i] = boxTensor(&r.targets[i])
	}
	return parts, nil
}

func boxTensor(g *layout.Target) tensor.Tensor {
	return tensor.Tensor{DType: g.Leaf.DType, Shape: tensor.Shape(g.Box.Shape).Clone(), Data: g.Dst}
}

// leafValue returns the value that the whole array of a leaf stands for.
func leafValue(l *layout.Leaf, t tensor.Tensor) (any, error) {
	switch {
	case l.Kind == layout.PRNGKey:
		return Key{Impl: l.KeyImpl, Data: t}, nil
	case l.Kind == layout.Scalar:
		if len(l.Shape) != 0 {
			return nil, &errs.Error{Kind: errs.Corrupt, Subject: "scalar " + strconv.Quote(l.Param), Want: "rank 0", Got: l.Shape.String()}
		}
		if v := tree.Scalar(t); v != nil {
			return v, nil
		}
	}
	return t, nil
}
