package ocdbt

import (
	"context"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
)

// content is what a node consists of: entries of a leaf, or children.
type content struct {
	height   int
	entries  []Entry
	children []innerEntry
}

// tree applies the edit to the open version and returns the new root.
func (w *commitWriter) tree(ctx context.Context, e edit) (Node, error) {
	db := w.db
	if db.version.Empty() {
		return w.root(content{entries: e.puts()})
	}
	if e.empty() {
		return db.version.Root, nil
	}
	c, changed, err := w.apply(ctx, step{ref: db.version.Root}, "", span{}, e)
	if err != nil || !changed {
		return db.version.Root, err
	}
	return w.root(c)
}

// root encodes the content of the top node, and as many levels above as it
// takes.
func (w *commitWriter) root(c content) (Node, error) {
	for {
		level, err := w.encode(c, true)
		if err != nil {
			return Node{}, err
		}
		switch len(level) {
		case 0:
			return Node{}, nil
		case 1:
			return level[0].node, nil
		}
		c = content{height: c.height + 1, children: level}
	}
}

// encode writes the content as nodes of its height; top says that it is the only node.
func (w *commitWriter) encode(c content, top bool) ([]innerEntry, error) {
	if c.height > maxHeight {
		return nil, invalid("tree", "height of at most 255")
	}
	var level []innerEntry
	var err error
	switch {
	case len(c.entries) > 0:
		level, err = w.enc.leaves(entryList(c.entries), top)
	case len(c.children) > 0:
		level, err = w.enc.inner(c.children, c.height, top)
	}
	return level, err
}

// apply returns what the node at s consists of after the edit, and whether that
// is anything new. The keys of the node lack prefix and lie in within.
func (w *commitWriter) apply(ctx context.Context, s step, prefix string, within span, e edit) (content, bool, error) {
	if ctx.Err() != nil {
		return content{}, false, &errs.Error{Kind: errs.Canceled, Op: "ocdbt.Commit", Err: context.Cause(ctx)}
	}
	n, err := w.db.load(ctx, s.ref, s.bounds())
	if err != nil {
		return content{}, false, err
	}
	if n.height == 0 {
		c, changed := applyLeaf(n, prefix, e)
		return c, changed, nil
	}
	c := content{height: n.height}
	changed := false
	for i := range n.len() {
		key := prefix + n.keys.at(i)
		own := span{low: key, high: within.high, hasEnd: within.hasEnd}
		if i == 0 {
			own.low = within.low // smaller keys go to the first child
		}
		if i+1 < n.len() {
			own.high, own.hasEnd = prefix+n.keys.at(i+1), true
		}
		inner := e.within(own)
		childPrefix := key[:len(prefix)+int(n.inner[i].prefix)]
		keep := innerEntry{key: key, prefix: len(childPrefix), node: n.child(i)}
		switch {
		case inner.empty():
			c.children = append(c.children, keep)
			continue
		case inner.removes(own):
			changed = true
			level, err := w.subtrees(inner.puts(), n.height-1)
			if err != nil {
				return content{}, false, err
			}
			c.children = append(c.children, level...)
			continue
		}
		sub, subChanged, err := w.apply(ctx, s.down(n, i), childPrefix, own, inner)
		if err != nil {
			return content{}, false, err
		}
		if !subChanged {
			c.children = append(c.children, keep)
			continue
		}
		changed = true
		level, err := w.encode(sub, false)
		if err != nil {
			return content{}, false, err
		}
		c.children = append(c.children, level...)
	}
	return c, changed, nil
}

// subtrees writes the entries as trees of one height.
func (w *commitWriter) subtrees(entries []Entry, height int) ([]innerEntry, error) {
	c := content{entries: entries}
	for {
		level, err := w.encode(c, false)
		if err != nil || c.height == height || len(level) == 0 {
			return level, err
		}
		c = content{height: c.height + 1, children: level}
	}
}

// puts returns the entries that the edit sets.
func (e edit) puts() []Entry {
	if e.list != nil {
		return e.list
	}
	var out []Entry
	for _, k := range e.keys {
		if !k.removed {
			out = append(out, Entry{k.key, k.ref})
		}
	}
	return out
}

// applyLeaf merges the entries of a leaf with the edit.
func applyLeaf(n *node, prefix string, e edit) (content, bool) {
	c := content{entries: make([]Entry, 0, n.len()+len(e.keys))}
	changed := false
	next := 0 // of e.keys
	add := func(k keyEdit) {
		if !k.removed {
			c.entries = append(c.entries, Entry{k.key, k.ref})
			changed = true
		}
	}
	for i := range n.len() {
		key := prefix + n.keys.at(i)
		for next < len(e.keys) && e.keys[next].key < key {
			add(e.keys[next])
			next++
		}
		switch {
		case next < len(e.keys) && e.keys[next].key == key:
			add(e.keys[next])
			next++
			changed = true
		case e.removesKey(key):
			changed = true
		default:
			c.entries = append(c.entries, Entry{key, n.value(i)})
		}
	}
	for ; next < len(e.keys); next++ {
		add(e.keys[next])
	}
	return c, changed
}

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
