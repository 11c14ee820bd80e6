package checkpoint

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
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

// Want says which part of a leaf to load; the zero value is the whole leaf.
//
// Boxes of one leaf that are wanted together cost the bytes that they cover together: bytes that
// two boxes need are read once. A box reads the sub-chunks (LeafInfo.ReadShape) that it touches as
// a whole, so that they can be verified.
type Want struct {
	// Skip leaves the leaf out: nothing of it is read. Its value is Placeholder{}; LoadInto leaves the
	// tensor or slice of the caller unchanged.
	Skip bool
	// Boxes are the parts of the array to load; nil is the whole. For one box the value of the leaf is
	// a tensor of its shape. For several boxes, or none, it is Parts. Boxes may overlap. Boxes of a
	// scalar or of PRNG keys are errs.Invalid.
	Boxes []Box
	// DType is the type to which tensor.Cast casts the elements; Invalid is as saved. A value that the
	// type does not have is errs.Mismatch, unless LoadOptions.LossyCast is set.
	DType tensor.DType
	// Shape is the shape of the whole array, of which Boxes are parts; nil is as saved. Another shape
	// is errs.Mismatch, unless options say that arrays may be padded with zeros, or truncated, at the
	// end of their axes.
	Shape tensor.Shape

	as form // of the value

	// For a leaf that a leaf handler reads.
	by       *handler.AnyLeaf // nil: the handler of its type
	abstract *any             // the abstract value; nil: as saved
}

// Parts is the value of a leaf of which several boxes were read: a tensor for
// each, in their order.
type Parts []tensor.Tensor

// Placeholder is the value of a leaf that was not read.
type Placeholder struct{}

// reading is the part of one leaf that a load reads.
type reading struct {
	at      int // index of the leaf
	leaf    *layout.Leaf
	boxes   bool // the leaf was asked for in boxes
	as      form
	targets []layout.Target
}

// readings holds all that a load reads. The readings of all leaves are in one list; each leaf has a
// part of it.
type readings struct {
	*loading
	list    []reading
	targets []layout.Target
	numbers []byte // memory for scalars, before they become numbers
	far     bool   // the bytes come over a network
}

// leafInfo returns the LeafInfo of a leaf.
func leafInfo(l *layout.Leaf) LeafInfo {
	return LeafInfo{
		Path: l.Path, Param: l.Param, Kind: LeafKind(l.Kind), ValueType: l.ValueType, WriteShape: l.WriteShape, KeyImpl: l.KeyImpl, Text: l.Text,
		DType: l.DType, Shape: l.Shape, ChunkShape: l.ChunkShape, ReadShape: l.ReadShape, File: l.File, Err: l.Err,
	}
}

// plan decides what is read of a leaf, and into which memory.
func (rs *readings) plan(at int, l *layout.Leaf, w Want) error {
	if err := w.as.admits(l); err != nil {
		return err
	}
	shape, err := rs.fit(l, w)
	if err != nil {
		return err
	}
	given := tensor.Spec{DType: l.DType, Shape: shape}
	if w.DType != tensor.Invalid && w.DType != l.DType {
		if !w.DType.Valid() || l.Kind == layout.PRNGKey {
			return &errs.Error{Kind: errs.Invalid, Want: "an element type to which the array can be cast", Got: w.DType.String()}
		}
		given.DType = w.DType
	}
	r := reading{at: at, leaf: l, boxes: w.Boxes != nil, as: w.as}
	first := len(rs.targets)
	boxes := w.Boxes
	if !r.boxes {
		boxes = []Box{{Origin: make([]int, len(shape)), Shape: shape}}
	} else if l.Kind != layout.Array {
		return &errs.Error{Kind: errs.Invalid, Want: "an array, because Boxes are set", Got: LeafKind(l.Kind).String()}
	}
	for _, b := range boxes {
		box := zarr.Box{Origin: b.Origin, Shape: b.Shape}
		if !box.Inside(shape) {
			return &errs.Error{Kind: errs.Invalid, Want: "a box inside of " + shape.String(), Got: box.String()}
		}
		dst, fresh, err := rs.memory(l, tensor.Spec{DType: given.DType, Shape: b.Shape}, len(boxes) == 1)
		if err != nil {
			return err
		}
		if !box.Inside(l.Shape) {
			clear(dst)
		}
		g := layout.Target{Leaf: l, Box: box, Dst: dst, DType: given.DType, Lossy: rs.LossyCast}
		if fresh && len(shape) > 0 && w.as != asScalar && rs.into == nil && !rs.salvage {
			g.Final = rs.Final
		}
		rs.targets = append(rs.targets, g)
	}
	r.targets = rs.targets[first:len(rs.targets):len(rs.targets)]
	rs.list = append(rs.list, r)
	rs.told(l, w, given)
	return nil
}

// memory returns where a box is read to: the memory of the caller, where it has one place, or fresh
// memory.
func (rs *readings) memory(l *layout.Leaf, box tensor.Spec, one bool) (dst []byte, fresh bool, err error) {
	const wide = 16 // of the widest number
	if !one || l.Kind != layout.Scalar || len(box.Shape) > 0 || box.DType.Size() > wide {
		if mem, ok := rs.into.memory(l, box); ok && one {
			return mem, false, nil
		}
		dst, err = rs.allocate(l, box, rs.far)
		return dst, true, err
	}
	if t, ok := rs.into.view(l); ok && t.DType == box.DType && len(t.Shape) == 0 {
		return t.Data, false, nil
	}
	if len(rs.numbers) < wide {
		rs.numbers = make([]byte, 4096)
	}
	dst = rs.numbers[:box.DType.Size():wide]
	rs.numbers = rs.numbers[wide:]
	return dst, false, nil
}

// readLeaves reads the arrays of the leaves at the given indices and sets the
// values of their entries.
func (ld *loading) readLeaves(ctx context.Context, t *layout.OpenTree, entries []tree.Entry, arrays []int) error {
	if err := ld.leaveOut(t, entries); err != nil {
		return err
	}
	rs := &readings{loading: ld, far: t.Far()}
	if n := min(len(arrays), readAtOnce); ld.LoadOptions.Want == nil {
		rs.list, rs.targets = make([]reading, 0, n), make([]layout.Target, 0, n)
	}
	for _, i := range arrays {
		l := &t.Leaves[i]
		if l.Err != nil {
			continue // leaveOut has reported it
		}
		w := ld.want(l)
		if w.Skip {
			entries[i].Node.Value = ld.into.kept(l)
			ld.told(l, w, tensor.Spec{})
			continue
		}
		if err := rs.plan(i, l, w); err != nil {
			return errs.Wrap("", LeafKind(l.Kind).String()+" "+strconv.Quote(l.Param), err)
		}
		if len(rs.list) == readAtOnce {
			if err := rs.read(ctx, t, entries); err != nil {
				return err
			}
		}
	}
	return rs.read(ctx, t, entries)
}

// readAtOnce is how many leaves are read at a time. The bookkeeping for a small leaf takes more
// memory than its bytes, so it is bounded too.
const readAtOnce = 16 << 10

// read reads what was planned, sets the values of the entries, and begins a new list.
func (rs *readings) read(ctx context.Context, t *layout.OpenTree, entries []tree.Entry) error {
	ld := rs.loading
	defer func() { rs.list, rs.targets = rs.list[:0], rs.targets[:0] }()
	filled, err := rs.fetch(ctx, t)
	lost := map[int]error{}
	if ld.salvage && layout.IsDamage(err) {
		lost, err = rs.each(ctx, t)
	}
	if err != nil {
		return err
	}
	if ld.loaded != nil {
		for _, t := range rs.targets {
			ld.loaded.Add(int64(len(t.Dst)))
		}
	}
	for _, r := range rs.list {
		if why := lost[r.at]; why != nil {
			entries[r.at].Node.Value = Placeholder{}
			ld.report.add(LeafReport{Item: ld.item, Path: r.leaf.Path,
				Saved: tensor.Spec{DType: r.leaf.DType, Shape: r.leaf.Shape}, Lost: why})
			continue
		}
		if r.leaf.Filled() || filled[r.at] {
			ld.filled(&r)
		}
		v, err := r.value()
		if err != nil {
			return err
		}
		entries[r.at].Node.Value = v
		if r.leaf.DType == tensor.Uint64 {
			entries[r.at].Node.StoreUnsigned() // so that it is saved again as such
		}
		r.leaf.Forget()
	}
	return nil
}

// leaveOut replaces leaves that could not be opened by Placeholder; the tree was opened with
// Describe. It returns an error that is not about damage.
func (ld *loading) leaveOut(t *layout.OpenTree, entries []tree.Entry) error {
	for i := range t.Leaves {
		l := &t.Leaves[i]
		switch {
		case l.Err == nil:
			continue
		case !ld.salvage || !layout.IsDamage(l.Err):
			return l.Err
		}
		entries[i].Node.Value = Placeholder{}
		ld.report.add(LeafReport{Item: ld.item, Path: l.Path, Saved: tensor.Spec{DType: l.DType, Shape: l.Shape},
			Lost: l.Err})
	}
	return nil
}

// each reads leaf by leaf and returns the errors of damaged leaves by index.
func (rs *readings) each(ctx context.Context, t *layout.OpenTree) (map[int]error, error) {
	lost := map[int]error{}
	for _, r := range rs.list {
		switch err := t.Read(ctx, r.targets); {
		case layout.IsDamage(err):
			lost[r.at] = err
		case err != nil:
			return nil, err
		}
	}
	return lost, nil
}

// value returns the value that was read for the leaf.
func (r *reading) value() (any, error) {
	l := r.leaf
	if len(r.targets) == 1 {
		t := boxTensor(&r.targets[0])
		switch {
		case r.boxes || r.as == asArray:
			return t, nil
		case r.as == asScalar:
			if v := tree.Scalar(t); v != nil {
				return v, nil
			}
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
	return tensor.Tensor{DType: g.DType, Shape: tensor.Shape(g.Box.Shape).Clone(), Data: g.Dst}
}

// leafValue returns the value of a leaf, given its whole array.
func leafValue(l *layout.Leaf, t tensor.Tensor) (any, error) {
	switch {
	case l.Kind == layout.PRNGKey:
		return Key{Impl: l.KeyImpl, Data: t}, nil
	case l.ValueType == layout.TypeBytes:
		return Bytes(t.Data), nil
	case l.Kind == layout.Scalar:
		if len(l.Shape) != 0 {
			return nil, &errs.Error{Kind: errs.Corrupt, Subject: "scalar " + strconv.Quote(l.Param), Want: "rank 0",
				Got: l.Shape.String()}
		}
		if v := tree.Scalar(t); v != nil {
			return v, nil
		}
	}
	return t, nil
}
