package ocdbt

import (
	"encoding/binary"
	"math"
)

// readVersions reads the columns of versions. Generations must increase.
func readVersions(c *cursor, files fileTable) []Version {
	n := c.count(1<<16, "number of versions")
	if c.err == nil && n == 0 {
		c.fail("no versions")
	}
	generation := c.varints(n, math.MaxUint64, "generation")
	height := c.bytes(n, "root height")
	file := c.varints(n, math.MaxUint64, "root file")
	offset := c.varints(n, math.MaxUint64, "root offset")
	length := c.varints(n, math.MaxUint64, "root length")
	keys := c.varints(n, math.MaxUint64, "number of keys")
	tree := c.varints(n, math.MaxUint64, "number of tree bytes")
	indirect := c.varints(n, math.MaxUint64, "number of indirect value bytes")
	times := c.u64s(n, "commit time")
	if c.err != nil {
		return nil
	}
	out := make([]Version, n)
	for i := range out {
		v := Version{Generation: generation[i], CommitTime: times[i]}
		if v.Generation == 0 || i > 0 && v.Generation <= generation[i-1] {
			c.fail("generation %d of version %d does not increase", v.Generation, i)
		}
		f := files.file(c, file[i])
		stats := Stats{Keys: keys[i], TreeBytes: tree[i], IndirectBytes: indirect[i]}
		if offset[i] == missing && length[i] == missing {
			if height[i] != 0 || stats != (Stats{}) {
				c.fail("generation %d has no root, but a height or statistics", v.Generation)
			}
		} else {
			v.Root = Node{File: f, Height: int(height[i]), Stats: stats}
			v.Root.Offset, v.Root.Length = extent(c, f, offset[i], length[i])
		}
		out[i] = v
	}
	if c.err != nil {
		return nil
	}
	return out
}

// extent checks a reference to an object in a data file.
func extent(c *cursor, f File, offset, length uint64) (int64, int64) {
	if c.err != nil {
		return 0, 0
	}
	if offset > maxInt64 || length > maxInt64-offset {
		c.fail("offset %d and length %d exceed 63 bits", offset, length)
		return 0, 0
	}
	if length < minEnvelope {
		c.fail("a node of %d bytes", length)
		return 0, 0
	}
	if why := checkPath(f.Path()); why != "" {
		c.fail("file %q: %s", f.Path(), why)
		return 0, 0
	}
	return int64(offset), int64(length)
}

func appendVersions(b []byte, versions []Version, files fileSet) []byte {
	column := func(field func(v Version) uint64) {
		for _, v := range versions {
			b = binary.AppendUvarint(b, field(v))
		}
	}
	orMissing := func(v Version, n int64) uint64 {
		if v.Empty() {
			return missing
		}
		return uint64(n)
	}
	b = binary.AppendUvarint(b, uint64(len(versions)))
	column(func(v Version) uint64 { return v.Generation })
	for _, v := range versions {
		b = append(b, byte(v.Root.Height))
	}
	column(func(v Version) uint64 { return files.index[v.Root.File] })
	column(func(v Version) uint64 { return orMissing(v, v.Root.Offset) })
	column(func(v Version) uint64 { return orMissing(v, v.Root.Length) })
	column(func(v Version) uint64 { return v.Root.Stats.Keys })
	column(func(v Version) uint64 { return v.Root.Stats.TreeBytes })
	column(func(v Version) uint64 { return v.Root.Stats.IndirectBytes })
	for _, v := range versions {
		b = binary.LittleEndian.AppendUint64(b, v.CommitTime)
	}
	return b
}

// readVersionNodes reads the columns of references to version-tree nodes;
// heights are stored in the manifest only.
func readVersionNodes(c *cursor, files fileTable, heights bool) []VersionNode {
	n := c.count(1<<16, "number of version nodes")
	generation := c.varints(n, math.MaxUint64, "generation")
	file := c.varints(n, math.MaxUint64, "version node file")
	offset := c.varints(n, math.MaxUint64, "version node offset")
	length := c.varints(n, math.MaxUint64, "version node length")
	count := c.varints(n, math.MaxUint64, "number of generations")
	times := c.u64s(n, "commit time")
	var height []byte
	if heights {
		height = c.bytes(n, "version node height")
	}
	if c.err != nil {
		return nil
	}
	var out []VersionNode
	for i := range n {
		v := VersionNode{Generation: generation[i], NumGenerations: count[i], CommitTime: times[i], File: files.file(c, file[i])}
		v.Offset, v.Length = extent(c, v.File, offset[i], length[i])
		if heights {
			v.Height = int(height[i])
		}
		switch {
		case v.Generation == 0 || i > 0 && v.Generation <= generation[i-1]:
			c.fail("generation %d of version node %d does not increase", v.Generation, i)
		case v.NumGenerations == 0 || v.NumGenerations > v.Generation:
			c.fail("version node of generation %d counts %d generations", v.Generation, v.NumGenerations)
		}
		out = append(out, v)
	}
	if c.err != nil {
		return nil
	}
	return out
}

func appendVersionNodes(b []byte, nodes []VersionNode, files fileSet, heights bool) []byte {
	column := func(field func(n VersionNode) uint64) {
		for _, n := range nodes {
			b = binary.AppendUvarint(b, field(n))
		}
	}
	b = binary.AppendUvarint(b, uint64(len(nodes)))
	column(func(n VersionNode) uint64 { return n.Generation })
	column(func(n VersionNode) uint64 { return files.index[n.File] })
	column(func(n VersionNode) uint64 { return uint64(n.Offset) })
	column(func(n VersionNode) uint64 { return uint64(n.Length) })
	column(func(n VersionNode) uint64 { return n.NumGenerations })
	for _, n := range nodes {
		b = binary.LittleEndian.AppendUint64(b, n.CommitTime)
	}
	if heights {
		for _, n := range nodes {
			b = append(b, byte(n.Height))
		}
	}
	return b
}

// check enforces the shape of the version tree, which the generation numbers
// determine: the versions share the block of the newest one; each reference
// covers its own block of a larger size, in decreasing height.
func (m *Manifest) check(c *cursor) {
	latest, ok := m.Latest()
	if c.err != nil {
		return
	}
	if !ok {
		c.fail("no versions")
		return
	}
	arity := m.Config.VersionTreeArityLog2
	block := (latest.Generation - 1) >> arity
	for _, v := range m.Versions {
		if (v.Generation-1)>>arity != block {
			c.fail("generation %d is not in the block of generation %d", v.Generation, latest.Generation)
			return
		}
	}
	x := block << arity // newest generation that the references may hold
	older := m.Older
	for h := 1; x > 0 && len(older) > 0; h++ {
		var y uint64 // the blocks up to y belong to greater heights
		if shift := (h + 1) * int(arity); shift < 64 {
			y = (x - 1) >> shift << shift
		}
		if n := older[len(older)-1]; n.Height == h {
			if n.Generation <= y || n.Generation > x {
				c.fail("version node of height %d has generation %d, want one in %d … %d", h, n.Generation, y+1, x)
				return
			}
			older = older[:len(older)-1]
		}
		x = y
	}
	if len(older) > 0 {
		n := older[len(older)-1]
		c.fail("version node of height %d and generation %d is out of place", n.Height, n.Generation)
	}
}

// versionNode is a decoded version-tree node: versions or references to nodes,
// as its height says.
type versionNode struct {
	versions []Version
	nodes    []VersionNode
}

// decodeVersionNode decodes the node that ref leads to and checks that it is
// the one meant.
func decodeVersionNode(b []byte, ref VersionNode, arity uint8, limit int64) (*versionNode, error) {
	at := location{file: ref.File.Path(), offset: ref.Offset}
	body, err := openEnvelope(b, magicVersionNode, limit, at)
	if err != nil {
		return nil, err
	}
	c := &cursor{at: at, b: body}
	if a := c.u8("version_tree_arity_log2"); c.err == nil && a != arity {
		c.fail("version_tree_arity_log2 is %d, the manifest says %d", a, arity)
	}
	height := int(c.u8("height"))
	if c.err == nil && height != ref.Height {
		c.fail("height is %d, want %d", height, ref.Height)
	}
	files := readFileTable(c, ref.File.Base, limit)
	n := &versionNode{}
	var newest, count uint64
	if height == 0 {
		n.versions = readVersions(c, files)
		count = uint64(len(n.versions))
		if count > 0 {
			newest = n.versions[count-1].Generation
		}
	} else {
		n.nodes = readVersionNodes(c, files, false)
		for i := range n.nodes {
			n.nodes[i].Height = height - 1
			newest = n.nodes[i].Generation
			count = saturate(count, n.nodes[i].NumGenerations)
		}
	}
	if c.err == nil && (newest != ref.Generation || count != ref.NumGenerations) {
		c.fail("%d generations up to %d, the reference says %d up to %d", count, newest, ref.NumGenerations, ref.Generation)
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	return n, nil
}

// body encodes the node, which has the given height.
func (n *versionNode) body(arity uint8, height int) []byte {
	files := newFileSet(func(yield func(File) bool) {
		for _, v := range n.versions {
			if !yield(v.Root.File) {
				return
			}
		}
		for _, v := range n.nodes {
			if !yield(v.File) {
				return
			}
		}
	})
	b := files.append([]byte{arity, byte(height)})
	if height == 0 {
		return appendVersions(b, n.versions, files)
	}
	return appendVersionNodes(b, n.nodes, files, false)
}
