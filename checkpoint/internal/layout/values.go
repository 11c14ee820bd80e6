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
	if b.leaves == nil {
		b.leaves = map[*tree.Node]*Leaf{}
	}
	b.entries = append(b.entries, tree.Entry{Path: at, Node: value.Root})
	storages := map[*pt.Storage]*storageOf{}
	for _, below := range tree.Flatten(value.Root) {
		l := &Leaf{Form: new(Form)}
		b.leaves[below.Node] = l
		switch v := below.Node.Value.(type) {
		case []byte:
			l.Kind, l.ValueType = Array, TypeBytes
			l.setMemory(tensor.Tensor{DType: tensor.Uint8, Shape: tensor.Shape{len(v)}, Data: v})
		case *pt.Tensor:
			if storages[v.Storage] == nil {
				storages[v.Storage] = &storageOf{}
			}
			from := &archived{files: files, dtype: v.DType, chunk: ch, tensor: v, storage: storages[v.Storage]}
			a := newTiled(v.Shape, v.DType.Size(), []*part{{zarr.WholeBox(v.Shape), from}}, true, !v.Plain())
			l.Kind, l.array, l.Form = Array, a, a.form(v.DType)
		default:
			if err := l.fromMemory(below.Node); err != nil {
				return errs.Wrap("", below.Path.String(), err)
			}
		}
		if m, ok := l.array.(memory); ok && value.Checked {
			l.array = checkedMemory{m}
		}
	}
	return nil
}

// checkedMemory is an array that was read with its document, which has a checksum.
type checkedMemory struct{ memory }

func (b *valueTree) put(at tree.Path, l *Leaf) {
	if b.leaves == nil {
		b.leaves = map[*tree.Node]*Leaf{}
	}
	n := &tree.Node{}
	b.entries, b.leaves[n] = append(b.entries, tree.Entry{Path: at, Node: n}), l
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
