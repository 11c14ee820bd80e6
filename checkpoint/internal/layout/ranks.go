package layout

import (
	"context"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/pickle"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// A checkpoint of torch_checkpointing is a directory with a file of torch.save for each item and
// rank, such as model_0.pt. Each rank saves what it holds: a DTensor as its part, other leaves
// whole. The parts are joined here. Leaves that several ranks have whole must be equal, because one
// of them is loaded. metadata.pkl, where it exists, says how many ranks there are.

const (
	rankSuffix   = ".pt"
	rankMetadata = "metadata.pkl"
)

// rankFiles returns the files of each item, by rank; ok is false if the names are not of such a
// checkpoint.
func (e entries) rankFiles() (files map[string][]string, ok bool) {
	ranks := map[string]map[int]string{}
	for n, dir := range e {
		if dir || n == rankMetadata {
			continue
		}
		name, is := strings.CutSuffix(n, rankSuffix)
		at := strings.LastIndexByte(name, '_')
		if !is || at <= 0 {
			return nil, false
		}
		rank, err := strconv.Atoi(name[at+1:])
		if err != nil || strconv.Itoa(rank) != name[at+1:] {
			return nil, false
		}
		if ranks[name[:at]] == nil {
			ranks[name[:at]] = map[int]string{}
		}
		ranks[name[:at]][rank] = n
	}
	files = map[string][]string{}
	for item, of := range ranks {
		for rank := range len(of) {
			if of[rank] == "" {
				return nil, false
			}
			files[item] = append(files[item], of[rank])
		}
	}
	return files, len(files) > 0
}

func (e entries) ofRanks() bool { _, ok := e.rankFiles(); return ok }

// ranksTree opens all files.
func (c *Checkpoint) ranksTree(ctx context.Context, it Item) (*OpenTree, error) {
	t := &OpenTree{lenient: it.lenient, files: newFiles(c, ""), limit: c.opts.Reads}
	if err := c.fillRanks(ctx, t); err != nil {
		return nil, errs.Wrap("", c.name, joinClose(err, t))
	}
	return t, nil
}

func (c *Checkpoint) fillRanks(ctx context.Context, t *OpenTree) error {
	in := entries{}
	for _, name := range c.parts {
		in[name] = false
	}
	files, _ := in.rankFiles()
	world, err := c.worldSize(ctx)
	if err != nil {
		return errs.Wrap("", rankMetadata, err)
	}
	var b valueTree
	for _, item := range slices.Sorted(maps.Keys(files)) {
		names := files[item]
		if world > 0 && len(names) != world {
			return missingFile(c.path(item+"_"+strconv.Itoa(len(names))+rankSuffix), nil)
		}
		m := merger{tree: &b, lenient: t}
		nodes := make([]*tree.Node, len(names))
		for i, name := range names {
			r, size, err := numpyFile{t.files, name}.reader(ctx)
			if err != nil {
				return err
			}
			archive, err := pt.Open(io.NewSectionReader(r, 0, size), size)
			if err != nil {
				return errs.Wrap("", name, advise(err, "load it with torch if you trust it"))
			}
			nodes[i] = archive.Root
			m.from = append(m.from, newSaved(t.files, dcp.Chunk{File: name, Length: size}, archive))
		}
		at := tree.Path{{Name: item}}
		root, err := m.merge(nodes, at)
		if err != nil {
			return err
		}
		b.entries = append(b.entries, tree.Entry{Path: at, Node: root})
	}
	return b.finish(t)
}

// worldSize returns how many ranks saved, or 0 if nothing says it.
func (c *Checkpoint) worldSize(ctx context.Context) (int, error) {
	b, err := store.ReadAll(ctx, c.st, c.path(rankMetadata))
	if errs.KindOf(err) == errs.NotFound {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := pickle.Parse(b, pickle.Options{}) // plain data: no name is listed
	if err != nil {
		return 0, err
	}
	d, ok := v.(*pickle.Dict)
	if !ok {
		return 0, &errs.Error{Kind: errs.Corrupt, Want: "a dict", Got: pickle.Kind(v)}
	}
	size, _ := d.Get("world_size")
	n, ok := size.(int64)
	if !ok || n < 1 || n > 1<<30 {
		return 0, &errs.Error{Kind: errs.Corrupt, Want: "a world_size", Got: pickle.Kind(size)}
	}
	return int(n), nil
}

// merger joins the values that the ranks saved for an item.
type merger struct {
	tree    *valueTree
	lenient *OpenTree
	from    []*saved // by rank
}

// merge joins nodes, by rank; nil for ranks that do not have it.
func (m *merger) merge(nodes []*tree.Node, at tree.Path) (*tree.Node, error) {
	first := slices.IndexFunc(nodes, func(n *tree.Node) bool { return n != nil })
	one := nodes[first]
	for rank, n := range nodes {
		if n != nil && (n.Kind != one.Kind || n.Kind != tree.Dict && len(n.Items) != len(one.Items)) {
			return nil, m.differ(at, first, rank)
		}
	}
	full := slices.ContainsFunc(nodes, func(n *tree.Node) bool { return n != nil && n.Len() > 0 })
	if one.Kind == tree.Leaf || !full {
		return m.leaf(nodes, first, at)
	}
	out := &tree.Node{Kind: one.Kind}
	for _, n := range nodes {
		if n == nil {
			continue
		}
		for i := range n.Len() {
			k := n.Key(i)
			if out.Get(k.Name) != nil {
				continue
			}
			below := make([]*tree.Node, len(nodes))
			for rank, other := range nodes {
				below[rank] = other.Get(k.Name)
			}
			child, err := m.merge(below, append(at[:len(at):len(at)], k))
			if err != nil {
				return nil, err
			}
			if out.Kind == tree.Dict {
				out.Set(k.Name, child)
			} else {
				out.Items = append(out.Items, child)
			}
		}
	}
	return out, nil
}

// leaf joins leaves: the parts of a tensor, or equal values.
func (m *merger) leaf(nodes []*tree.Node, first int, at tree.Path) (*tree.Node, error) {
	out := &tree.Node{Kind: nodes[first].Kind, Value: nodes[first].Value}
	l, err := m.joined(nodes, first, at)
	if err != nil {
		l = &Leaf{Kind: Array, Path: at, Param: at.Param(), Form: &Form{}}
		if err := m.lenient.refuse(l, errs.Wrap("", "leaf "+strconv.Quote(at.Param()), err)); err != nil {
			return nil, err
		}
	}
	m.tree.set(out, l)
	return out, nil
}

func (m *merger) joined(nodes []*tree.Node, first int, at tree.Path) (*Leaf, error) {
	one, ok := nodes[first].Value.(*pt.Tensor)
	if ok && one.Whole != nil {
		return m.parts(nodes, first, at)
	}
	for rank, n := range nodes {
		if n != nil && !sameSaved(nodes[first].Value, n.Value) {
			return nil, m.differ(at, first, rank)
		}
	}
	return m.from[first].leaf(nodes[first])
}

// parts joins the parts of a tensor. Of equal parts the first rank's is read.
func (m *merger) parts(nodes []*tree.Node, first int, at tree.Path) (*Leaf, error) {
	one := nodes[first].Value.(*pt.Tensor)
	var parts []*part
	var chunks []dcp.Chunk
	seen, packed := map[string]bool{}, false
	for rank, n := range nodes {
		if n == nil {
			continue
		}
		t, ok := n.Value.(*pt.Tensor)
		if !ok || t.DType != one.DType || !t.Whole.Equal(one.Whole) {
			return nil, m.differ(at, first, rank)
		}
		box := zarr.Box{Origin: t.Origin, Shape: t.Shape}
		if seen[box.String()] {
			continue
		}
		seen[box.String()] = true
		packed = packed || !t.Plain()
		parts = append(parts, &part{box, m.from[rank].source(t)})
		chunks = append(chunks, dcp.Chunk{Origin: t.Origin, Shape: t.Shape, File: m.from[rank].chunk.File})
	}
	if one.Whole.Len() > 0 {
		if err := dcp.Tiles(one.Whole, chunks); err != nil {
			return nil, err
		}
	}
	a := newTiled(one.Whole, one.DType.Size(), parts, true, packed)
	return &Leaf{Kind: Array, array: a, Form: a.form(one.DType)}, nil
}

// sameSaved reports whether two values that are no containers are equal. Tensors are equal if the
// checksums of their storages are.
func sameSaved(a, b any) bool {
	s, ok := a.(*pt.Tensor)
	t, also := b.(*pt.Tensor)
	if ok != also {
		return false
	}
	if !ok {
		x, ok := a.(tensor.Tensor)
		y, also := b.(tensor.Tensor)
		return ok && also && x.Equal(y) || !ok && !also && reflect.DeepEqual(a, b)
	}
	return s == t || s.Whole == nil && t.Whole == nil && s.DType == t.DType && s.Shape.Equal(t.Shape) &&
		slices.Equal(s.Strides, t.Strides) && s.First == t.First && s.Storage.Size == t.Storage.Size &&
		s.Storage.Checked && t.Storage.Checked && s.Storage.CRC == t.Storage.CRC
}

// differ returns the error for a leaf that two ranks have, and that is not the same.
func (m *merger) differ(at tree.Path, a, b int) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: at.Param(),
		Want:   "parts of one tensor, or the same value on all ranks",
		Got:    "another value in " + m.from[b].chunk.File + " than in " + m.from[a].chunk.File,
		Remedy: "load the file of one rank: " + m.from[a].chunk.File}
}

func (c *Checkpoint) ranksMeta(ctx context.Context) error {
	for _, name := range c.parts {
		info, err := c.st.Stat(ctx, c.path(name))
		if err != nil {
			return err
		}
		if !info.ModTime.IsZero() {
			c.Meta.Commit = max(c.Meta.Commit, info.ModTime.UnixNano())
		}
	}
	return nil
}
