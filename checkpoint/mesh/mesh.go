// Package mesh cuts arrays into the parts of the processes of a job.
//
// A Mesh is a grid of processes whose axes have names. A Layout says for each leaf along which axes
// of the mesh it is cut:
//
//	data, model     the axes of a mesh of 2 x 4 processes
//	params/*/w      cut along "model" on axis 1, whole on axis 0
//	anything else   whole on every process
//
// Layout.Shards makes the leaf of a save, and Layout.Want the boxes of a load. Meshes of saves and
// loads may differ.
//
// FromSharding reads the mesh and the cut of an array that JAX processes saved by Orbax, and
// Layout.JAX writes them, so that Orbax loads arrays of JAX.
package mesh

import (
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// Mesh is a grid of processes. Process 0 has the coordinate 0 on each axis; the last axis runs
// fastest.
type Mesh struct {
	Axes  []string // names
	Sizes []int    // how many processes there are along each axis
	// Devices are the numbers of JAX of the devices of the processes, in their order. Only shardings
	// have them. nil: 0, 1, 2, …
	Devices []int
}

const mostProcesses = 1 << 24

// Validate returns an error unless the axes have different names and positive sizes.
func (m Mesh) Validate() error {
	if len(m.Axes) != len(m.Sizes) {
		return invalid("Mesh.Sizes", strconv.Itoa(len(m.Axes))+", one for each axis", strconv.Itoa(len(m.Sizes)))
	}
	all := 1
	for i, axis := range m.Axes {
		if slices.Index(m.Axes, axis) != i {
			return invalid("Mesh.Axes", "axes of different names", strconv.Quote(axis)+" twice")
		}
		if m.Sizes[i] < 1 {
			return invalid("Mesh.Sizes", "at least 1 process along "+strconv.Quote(axis), strconv.Itoa(m.Sizes[i]))
		}
		if all > mostProcesses/m.Sizes[i] {
			return invalid("Mesh.Sizes", "at most "+strconv.Itoa(mostProcesses)+" processes", "more")
		}
		all *= m.Sizes[i]
	}
	if m.Devices != nil && len(m.Devices) != m.Len() {
		return invalid("Mesh.Devices", strconv.Itoa(m.Len())+", one for each process", strconv.Itoa(len(m.Devices)))
	}
	return nil
}

// Len returns how many processes the mesh has.
func (m Mesh) Len() int {
	n := 1
	for _, size := range m.Sizes {
		n *= size
	}
	return n
}

// Spec says how an array is cut. Entry i names the axes of the mesh along which axis i of the array
// is cut, the slowest first. An axis without an entry, or with an empty one, is not cut.
type Spec [][]string

// Rule gives the leaves that Match names a Spec.
type Rule struct {
	Match string // a pattern of options.MatchPath
	Spec  Spec
}

// Layout is how the processes of a mesh share the leaves of a tree. The first rule that matches a
// leaf counts. A leaf without a rule is whole on every process.
type Layout struct {
	Mesh  Mesh
	Rules []Rule
	// JAX makes Shards give the leaves a sharding, so that Orbax loads them as arrays of JAX on the
	// devices of the mesh. See Mesh.Sharding.
	JAX bool
}

// spec returns the Spec of a leaf.
func (l Layout) spec(key tree.Path) (Spec, error) {
	for _, r := range l.Rules {
		if ok, err := options.MatchPath(r.Match, key); ok || err != nil {
			return r.Spec, err
		}
	}
	return nil, nil
}

// Box returns the part of a leaf that a process has. An axis of n elements that is cut into k parts
// has parts of n/k elements, rounded up. The last parts may be smaller, or empty.
func (l Layout) Box(key tree.Path, shape tensor.Shape, process int) (checkpoint.Box, error) {
	s, err := l.spec(key)
	if err == nil {
		err = l.Mesh.Validate()
	}
	var b checkpoint.Box
	if err == nil {
		b, err = l.Mesh.box(s, shape, process)
	}
	return b, errs.Wrap("mesh.Box", key.Param(), err)
}

func (m Mesh) box(s Spec, shape tensor.Shape, process int) (checkpoint.Box, error) {
	b := checkpoint.Box{Origin: make([]int, len(shape)), Shape: slices.Clone([]int(shape))}
	if process < 0 || process >= m.Len() {
		return b, invalid("process", "less than "+strconv.Itoa(m.Len()), strconv.Itoa(process))
	}
	if len(s) > len(shape) {
		return b, invalid("Spec", "at most "+strconv.Itoa(len(shape))+" axes", strconv.Itoa(len(s)))
	}
	used := map[string]bool{}
	for i, axes := range s {
		part, parts := 0, 1
		for _, axis := range axes {
			k := slices.Index(m.Axes, axis)
			if k < 0 || used[axis] {
				return b, invalid("Spec", "axes of the mesh, each once", strconv.Quote(axis))
			}
			used[axis] = true
			part, parts = part*m.Sizes[k]+m.coordinate(process, k), parts*m.Sizes[k]
		}
		size := (shape[i] + parts - 1) / parts
		b.Origin[i] = min(part*size, shape[i])
		b.Shape[i] = min(size, shape[i]-b.Origin[i])
	}
	return b, nil
}

// coordinate returns where a process stands on an axis.
func (m Mesh) coordinate(process, axis int) int {
	for k := len(m.Sizes) - 1; k > axis; k-- {
		process /= m.Sizes[k]
	}
	return process % m.Sizes[axis]
}

// Shards returns the leaf that a process saves: an array of the given shape, of which the process
// has the part. Its part must have the shape of the Box. Processes with the same box may all save
// it: one of them writes it.
func (l Layout) Shards(key tree.Path, shape tensor.Shape, part tensor.Tensor, process int) (checkpoint.Shards, error) {
	out := checkpoint.Shards{DType: part.DType, Shape: shape}
	b, err := l.Box(key, shape, process)
	if err != nil {
		return out, err
	}
	if !slices.Equal(part.Shape, b.Shape) {
		return out, &errs.Error{Kind: errs.Mismatch, Op: "mesh.Shards", Subject: key.Param(),
			Want: "a part of shape " + tensor.Shape(b.Shape).String(), Got: part.Shape.String()}
	}
	if l.JAX {
		s, _ := l.spec(key) //nolint:errcheck // Box has asked for it
		if out.Sharding, err = l.Mesh.Sharding(s, shape); err != nil {
			return out, errs.Wrap("mesh.Shards", key.Param(), err)
		}
	}
	if part.Len() > 0 {
		out.Parts = []checkpoint.Shard{{Origin: b.Origin, Data: part}}
	}
	return out, nil
}

// Validate returns an error for a malformed mesh, pattern or Spec.
func (l Layout) Validate() error {
	if err := l.Mesh.Validate(); err != nil {
		return err
	}
	for _, r := range l.Rules {
		_, err := options.MatchPath(r.Match, nil)
		if err == nil {
			_, err = l.Mesh.box(r.Spec, make(tensor.Shape, len(r.Spec)), 0)
		}
		if err != nil {
			return errs.Wrap("", "rule "+strconv.Quote(r.Match), err)
		}
	}
	return nil
}

// Want returns the function for LoadOptions.Want that asks for the boxes of a process. A leaf that
// is not cut is loaded whole. If a Spec has more axes than an array, the load is errs.Invalid.
func (l Layout) Want(process int) (func(checkpoint.LeafInfo) checkpoint.Want, error) {
	err := l.Validate()
	if err == nil {
		_, err = l.Mesh.box(nil, nil, process)
	}
	if err != nil {
		return nil, errs.Wrap("mesh.Want", "", err)
	}
	return func(leaf checkpoint.LeafInfo) checkpoint.Want {
		s, _ := l.spec(leaf.Path) //nolint:errcheck // the patterns were validated
		if len(s) == 0 || leaf.Shape == nil || leaf.KeyImpl != "" {
			return checkpoint.Want{}
		}
		shape := leaf.Shape.Clone()
		for len(shape) < len(s) { // the load refuses a box of this rank
			shape = append(shape, 1)
		}
		b, _ := l.Mesh.box(s, shape, process) //nolint:errcheck // as above
		if slices.Equal(b.Shape, leaf.Shape) {
			return checkpoint.Want{}
		}
		return checkpoint.Want{Boxes: []checkpoint.Box{b}}
	}, nil
}

func invalid(subject, want, got string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: subject, Want: want, Got: got}
}
