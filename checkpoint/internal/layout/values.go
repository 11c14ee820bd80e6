package layout

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/dcp"
	"github.com/bivouac-ml/bivouac/format/pt"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// TypeBytes is the ValueType of an array of uint8 that was bytes.
const TypeBytes = "bytes"

// valueTree collects the leaves of a tree of which some parts are values of Python.
type valueTree struct {
	entries []tree.Entry // a value is one entry, also if it is a container
	leaves  map[*tree.Node]*Leaf
}

// addEntry adds the leaf of a tensor, or the leaves of a value.
func (b *valueTree) addEntry(t *OpenTree, e *dcp.Entry, value *pt.Archive) error {
	if e.Err != nil {
		l := &Leaf{Kind: Array, Form: &Form{}}
		if err := t.refuse(l, e.Err); err != nil {
			return err
		}
		b.put(e.Path, l)
		return nil
	}
	if e.Value {
		return b.addValue(t.files, e.Path, e.Chunks[0], value)
	}
	b.put(e.Path, tensorLeaf(t.files, e))
	return nil
}

// addValue adds the leaves of a value, whose archive is the chunk.
func (b *valueTree) addValue(files *files, at tree.Path, ch dcp.Chunk, value *pt.Archive) error {
	b.entries = append(b.entries, tree.Entry{Path: at, Node: value.Root})
	from := newSaved(files, ch, value)
	for _, below := range tree.Flatten(value.Root) {
		l, err := from.leaf(below.Node)
		if err != nil {
			return errs.Wrap("", below.Path.String(), err)
		}
		b.set(below.Node, l)
	}
	return nil
}

// saved is a value in an archive, from which leaves are made.
type saved struct {
	*pt.Archive
	files    *files
	chunk    dcp.Chunk
	storages map[*pt.Storage]*storageOf
}

func newSaved(files *files, ch dcp.Chunk, value *pt.Archive) *saved {
	return &saved{value, files, ch, map[*pt.Storage]*storageOf{}}
}

// source returns where the elements of a tensor lie.
func (s *saved) source(t *pt.Tensor) *archived {
	if s.storages[t.Storage] == nil {
		s.storages[t.Storage] = &storageOf{}
	}
	return &archived{files: s.files, dtype: t.DType, chunk: s.chunk, tensor: t, storage: s.storages[t.Storage]}
}

// leaf makes the leaf of a node of the value.
func (s *saved) leaf(n *tree.Node) (*Leaf, error) {
	l := &Leaf{Form: new(Form)}
	switch v := n.Value.(type) {
	case []byte:
		l.Kind, l.ValueType = Array, TypeBytes
		l.setMemory(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(v)}, Data: v})
	case *pt.Tensor:
		if v.Whole != nil {
			return nil, &errs.Error{Kind: errs.Unsupported, Want: "a whole tensor",
				Got:    "the part of one rank of a tensor " + v.Whole.String(),
				Remedy: "load the directory with the files of all ranks"}
		}
		a := newTiled(v.Shape, v.DType.Size(), []*part{{zarr.WholeBox(v.Shape), s.source(v)}}, true, !v.Plain())
		l.Kind, l.array, l.Form = Array, a, a.form(v.DType)
	default:
		if err := l.fromMemory(n); err != nil {
			return nil, err
		}
	}
	if m, ok := l.array.(memory); ok && s.Checked {
		l.array = checkedMemory{m}
	}
	return l, nil
}

// checkedMemory is an array that was read with its document, which has a checksum.
type checkedMemory struct{ memory }

func (b *valueTree) put(at tree.Path, l *Leaf) {
	n := &tree.Node{}
	b.entries = append(b.entries, tree.Entry{Path: at, Node: n})
	b.set(n, l)
}

// set gives a node its leaf.
func (b *valueTree) set(n *tree.Node, l *Leaf) {
	if b.leaves == nil {
		b.leaves = map[*tree.Node]*Leaf{}
	}
	b.leaves[n] = l
}

// finish gives the tree its leaves and the types of its containers.
func (b *valueTree) finish(t *OpenTree) error {
	if len(b.entries) == 0 {
		t.Leaves = []Leaf{{Kind: EmptyDict, Form: &Form{ValueType: orbax.TypeDict}}}
		return nil
	}
	if err := b.fillGaps(); err != nil {
		return err
	}
	root, err := tree.Unflatten(b.entries)
	if err != nil {
		return &errs.Error{Kind: errs.Corrupt, Subject: dcp.MetadataName, Want: "paths of one tree", Err: err}
	}
	t.Rich = orbax.RichOf(root)
	for _, e := range tree.Flatten(root) {
		l := b.leaves[e.Node]
		l.Path, l.Param = e.Path, e.Path.Param()
		t.Leaves = append(t.Leaves, *l)
	}
	return nil
}

// fillGaps adds None for each element of a list that has no entry, because it was an empty
// container: the library does the same.
func (b *valueTree) fillGaps() error {
	type list struct {
		at   tree.Path
		seen map[int]bool
		last int
	}
	lists := map[string]*list{}
	for _, e := range b.entries {
		for i, k := range e.Path {
			if k.Kind != tree.KeyIndex {
				continue
			}
			n, err := strconv.Atoi(k.Name)
			if err != nil || n < 0 {
				return &errs.Error{Kind: errs.Corrupt, Subject: dcp.MetadataName, Want: "an index", Got: k.Name}
			}
			name := e.Path[:i].String()
			l := lists[name]
			if l == nil {
				l = &list{at: e.Path[:i:i], seen: map[int]bool{}}
				lists[name] = l
			}
			l.seen[n], l.last = true, max(l.last, n)
		}
	}
	spare := len(b.entries) + 1024
	for _, l := range lists {
		missing := l.last + 1 - len(l.seen)
		if spare -= missing; missing < 0 || spare < 0 {
			return &errs.Error{Kind: errs.Corrupt, Subject: dcp.MetadataName, Want: "lists without large gaps",
				Got: "the index " + strconv.Itoa(l.last) + " of " + l.at.String()}
		}
		for i := 0; missing > 0; i++ {
			if !l.seen[i] {
				b.put(append(l.at, tree.Key{Name: strconv.Itoa(i), Kind: tree.KeyIndex}),
					&Leaf{Kind: None, Form: &Form{ValueType: orbax.TypeNone}})
				missing--
			}
		}
	}
	return nil
}
