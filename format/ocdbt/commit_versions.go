package ocdbt

import (
	"context"
	"slices"
)

// sameBlock reports whether the manifest keeps its versions when generation
// joins them.
func (w *commitWriter) sameBlock(generation uint64) bool {
	latest, ok := w.db.manifest.Latest()
	arity := w.db.manifest.Config.VersionTreeArityLog2
	return ok && (latest.Generation-1)>>arity == (generation-1)>>arity
}

// older returns the references to version-tree nodes of the manifest whose
// newest version has that generation. When a block of versions is full, it
// becomes a leaf; the leaf joins the node of height 1 that covers its block; a
// node that no longer shares a block with the newest generation joins one of the
// next height, and so on.
func (w *commitWriter) older(ctx context.Context, generation uint64) ([]VersionNode, error) {
	m := w.db.manifest
	if w.sameBlock(generation) || len(m.Versions) == 0 {
		return m.Older, nil
	}
	arity := uint(m.Config.VersionTreeArityLog2)
	carry := []VersionNode{w.putVersionNode(&versionNode{versions: m.Versions}, 0)}
	x := (generation - 1) >> arity << arity // newest generation that the references may hold
	left := slices.Clone(m.Older)
	var out []VersionNode // by decreasing generation
	for h := 1; len(carry) > 0 || len(left) > 0; h++ {
		if x == 0 {
			return nil, location{file: w.db.name}.corrupt("version nodes of generations that no block holds")
		}
		block := func(g uint64) uint64 {
			if shift := uint(h+1) * arity; shift < 64 {
				return (g - 1) >> shift
			}
			return 0
		}
		var level []VersionNode
		if i := len(left) - 1; i >= 0 && left[i].Height == h {
			level, left = append(level, left[i]), left[:i]
		}
		for len(carry) > 0 {
			joins := 1
			for joins < len(carry) && block(carry[joins].Generation) == block(carry[0].Generation) {
				joins++
			}
			n := &versionNode{}
			if i := len(level) - 1; i >= 0 && block(level[i].Generation) == block(carry[0].Generation) {
				old, err := w.db.loadVersionNode(ctx, level[i])
				if err != nil {
					return nil, err
				}
				n.nodes = slices.Clone(old.nodes)
				level = level[:i]
			}
			n.nodes = append(n.nodes, carry[:joins]...)
			level = append(level, w.putVersionNode(n, h))
			carry = carry[joins:]
		}
		if i := len(level) - 1; i >= 0 && block(level[i].Generation) == block(x) {
			out = append(out, level[i])
			level = level[:i]
		}
		carry = level
		x = lastOf(block(x), uint(h+1)*arity)
	}
	slices.Reverse(out)
	return out, nil
}

// lastOf is the newest generation before a block of the given size.
func lastOf(block uint64, shift uint) uint64 {
	if shift >= 64 {
		return 0
	}
	return block << shift
}

// putVersionNode stores the node and returns the reference to it.
func (w *commitWriter) putVersionNode(n *versionNode, height int) VersionNode {
	ref := VersionNode{Height: height}
	for _, v := range n.versions {
		ref.Generation = v.Generation
		ref.NumGenerations++
	}
	for _, c := range n.nodes {
		ref.Generation = c.Generation
		ref.NumGenerations = saturate(ref.NumGenerations, c.NumGenerations)
	}
	if height == 0 {
		ref.CommitTime = n.versions[0].CommitTime
	} else {
		ref.CommitTime = n.nodes[0].CommitTime
	}
	b := w.enc.seal.seal(magicVersionNode, n.body(w.db.manifest.Config.VersionTreeArityLog2, height))
	ref.File, ref.Offset = w.put(b)
	ref.Length = int64(len(b))
	return ref
}
