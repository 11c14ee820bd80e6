package pt

import (
	"math"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/tensor"
)

// A DTensor is the part of a tensor that one rank holds. It is stored as its local tensor with a
// spec: the mesh of ranks, the place of this rank in the mesh, how each axis of the mesh divides
// the tensor, and the shape of the whole.

// part makes the Tensor of a DTensor:
//
//	_rebuild_from_type_v2(_rebuild_wrapper_subclass, DTensor, …, (None, {_local_tensor, _spec}))
func (b *builder) part(o *pickle.Object, depth int) (*Tensor, error) {
	malformed := corrupt("a part of a tensor without its elements or its place")
	class, ok := argument[pickle.Global](o, 1)
	state, also := argument[*pickle.Tuple](o, 3)
	if !ok || !also || class.Name != "DTensor" || len(state.Items) != 2 {
		return nil, unsupported(o)
	}
	fields, ok := state.Items[1].(*pickle.Dict)
	if !ok {
		return nil, malformed
	}
	local, _ := fields.Get("_local_tensor")
	spec, _ := fields.Get("_spec")
	elements, ok := local.(*pickle.Object)
	place, also := attributes(spec)
	if !ok || !also {
		return nil, malformed
	}
	t, err := b.tensor(elements, depth+1)
	if err != nil {
		return nil, err
	}
	if t.Whole != nil {
		return nil, malformed
	}
	if t.Whole, err = wholeShape(place); err != nil {
		return nil, err
	}
	for _, n := range t.Whole {
		if n > math.MaxInt/4 {
			return nil, malformed
		}
	}
	if _, err := t.Whole.Bytes(t.DType); err != nil {
		return nil, malformed
	}
	shape, origin, err := localBox(place, t.Whole)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(shape, t.Shape) {
		return nil, corrupt("a part " + t.Shape.String() + " where its mesh says " + tensor.Shape(shape).String())
	}
	t.Origin = origin
	return t, nil
}

// attributes returns the attributes of an instance.
func attributes(v any) (*pickle.Dict, bool) {
	o, ok := v.(*pickle.Object)
	if !ok {
		return nil, false
	}
	if o.State == nil {
		return &pickle.Dict{}, true
	}
	d, ok := o.State.(*pickle.Dict)
	return d, ok
}

// wholeShape returns the shape of the whole tensor of a spec.
func wholeShape(spec *pickle.Dict) (tensor.Shape, error) {
	v, _ := spec.Get("tensor_meta")
	if meta, ok := v.(*pickle.Object); ok && len(meta.Args) > 0 {
		if shape, ok := ints(meta.Args[0]); ok {
			return shape, nil
		}
	}
	return nil, corrupt("a part of a tensor without the shape of the whole")
}

// localBox returns the shape and the origin of the part that a rank holds, as DTensor computes
// them: each axis of the mesh that shards divides what the axes before it have left.
func localBox(spec *pickle.Dict, whole tensor.Shape) (shape, origin []int, err error) {
	v, _ := spec.Get("mesh")
	mesh, ok := attributes(v)
	if !ok {
		return nil, nil, corrupt("a part of a tensor without a mesh")
	}
	sizes, ok := meshShape(mesh)
	at, _ := mesh.Get("_coordinate_on_dim")
	if l, is := at.(*pickle.List); is {
		at = &pickle.Tuple{Items: l.Items}
	}
	place, also := ints(at)
	v, _ = spec.Get("placements")
	placements, has := v.(*pickle.Tuple)
	if !ok || !also || !has || len(place) != len(sizes) || len(placements.Items) != len(sizes) {
		return nil, nil, &errs.Error{Kind: errs.Unsupported, Want: "a mesh with the place of the rank", Got: "another mesh",
			Remedy: "save it with torch.distributed.checkpoint"}
	}
	shape, origin = slices.Clone([]int(whole)), make([]int, len(whole))
	shards, err := shardsOf(placements.Items, sizes, len(whole))
	if err != nil {
		return nil, nil, err
	}
	for _, s := range shards {
		if place[s.mesh] >= sizes[s.mesh] {
			return nil, nil, corrupt("a part of a tensor outside of its mesh")
		}
		n := shape[s.axis]
		each := (n + sizes[s.mesh] - 1) / sizes[s.mesh]
		start := min(each*place[s.mesh], n)
		shape[s.axis] = min(each, n-start)
		origin[s.axis] += start
	}
	return shape, origin, nil
}

// shard is an axis of a mesh that divides an axis of a tensor.
type shard struct{ mesh, axis int }

// shardsOf returns the shards in the order in which they divide the tensor. A strided shard comes
// after the shards of the same axis behind it, whose number is its split factor.
func shardsOf(placements []any, sizes []int, rank int) ([]shard, error) {
	var first, strided []shard
	behind := make([]int64, rank) // in how many parts the shards behind divide each axis
	for i := range behind {
		behind[i] = 1
	}
	for i, p := range slices.Backward(placements) {
		o, ok := p.(*pickle.Object)
		if !ok {
			return nil, corrupt("a placement that is " + pickle.Kind(p))
		}
		if o.Of.Name == "Replicate" {
			continue
		}
		fields, _ := attributes(o)
		if fields == nil {
			fields = &pickle.Dict{}
		}
		v, _ := fields.Get("dim")
		axis, ok := v.(int64)
		if !ok || axis < 0 || axis >= int64(rank) {
			return nil, corrupt("a shard along an axis that the tensor does not have")
		}
		factor, _ := fields.Get("split_factor")
		switch {
		case o.Of.Name == "Shard":
			first = append(first, shard{i, int(axis)})
		case o.Of.Name == "_StridedShard" && factor == behind[axis]:
			strided = append(strided, shard{i, int(axis)})
		default:
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "placements that shard or replicate",
				Got: pickle.Kind(o), Remedy: "save it with torch.distributed.checkpoint"}
		}
		behind[axis] *= int64(sizes[i])
	}
	slices.Reverse(first)
	return append(first, strided...), nil
}

// meshShape returns the extents of a mesh: of its layout, or of its tensor of ranks in older
// versions.
func meshShape(mesh *pickle.Dict) ([]int, bool) {
	if v, ok := mesh.Get("mesh"); ok {
		o, ok := v.(*pickle.Object)
		if !ok || len(o.Args) < 3 {
			return nil, false
		}
		out, ok := ints(o.Args[2])
		for _, n := range out {
			ok = ok && n <= maxRanks
		}
		return out, ok
	}
	v, _ := mesh.Get("_layout")
	layout, ok := attributes(v)
	if !ok {
		return nil, false
	}
	v, _ = layout.Get("axes")
	axes, ok := v.(*pickle.Tuple)
	if !ok {
		return nil, false
	}
	out := make([]int, len(axes.Items))
	for i, a := range axes.Items {
		axis, ok := attributes(a)
		if !ok {
			return nil, false
		}
		v, _ := axis.Get("shape")
		extents, ok := ints(v)
		if !ok || len(extents) == 0 {
			return nil, false
		}
		if out[i], ok = product(extents); !ok {
			return nil, false
		}
	}
	return out, true
}

// maxRanks bounds the extents of a mesh.
const maxRanks = 1 << 30

// product multiplies the extents of an axis of a mesh.
func product(extents []int) (int, bool) {
	n := 1
	for _, e := range extents {
		if e < 1 || e > maxRanks || n > maxRanks/e {
			return 0, false
		}
		n *= e
	}
	return n, true
}
