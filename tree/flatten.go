package tree

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Entry is a leaf or an empty container with its place in the tree.
type Entry struct {
	Path Path
	Node *Node
}

// Flatten returns the leaves and the empty containers in the order of the tree. If the tree itself
// is a leaf or is empty, the result is one entry with the empty path. The nodes are shared
// with the tree, not copied. n must pass Check.
func Flatten(n *Node) []Entry {
	var entries []Entry
	flatten(n, nil, &entries)
	return entries
}

func flatten(n *Node, at Path, out *[]Entry) {
	if n.Kind == Leaf || n.IsEmpty() {
		*out = append(*out, Entry{Path: slices.Clone(at), Node: n})
		return
	}
	for i, child := range n.Items {
		flatten(child, append(at, n.Key(i)), out)
	}
}

// Unflatten rebuilds a tree. Indices make lists, dictionary keys make Dicts, and attributes make
// Nameds without a type name. Children come in the order in which they first appear, except that
// the children of lists are sorted by index. Unflatten is the inverse of Flatten, except for tuples
// and type names, which paths do not record.
//
// The error is of kind errs.Invalid and names the path of the fault: two entries for one path, an
// entry below a leaf, children of different kinds, a missing index, a name that is not an index. No
// entries at all are an error too.
func Unflatten(entries []Entry) (*Node, error) {
	if len(entries) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Want: "at least one entry", Got: "no entry"}
	}
	var root child
	for _, e := range entries {
		if err := root.insert(e); err != nil {
			return nil, err
		}
	}
	return root.build(nil)
}

// branch is a container under construction. The root counts as a container until it is known to be
// a leaf.
type branch struct {
	kind     KeyKind
	names    []string
	children []child
	places   map[string]int // the place of each name; nil while the names ascend
}

// child is a leaf (or empty container), or a container under construction.
type child struct {
	leaf  *Node
	inner *branch
}

// find returns the place of a name, or -1. Ascending names, as in sorted trees, need no map. So a
// tree of a million leaves takes little extra memory.
func (b *branch) find(name string) int {
	last := len(b.names) - 1
	switch {
	case last >= 0 && b.names[last] == name:
		return last
	case b.places == nil && (last < 0 || b.names[last] < name):
		return -1
	case b.places == nil:
		b.places = make(map[string]int, len(b.names)+1)
		for i, n := range b.names {
			b.places[n] = i
		}
	}
	if i, ok := b.places[name]; ok {
		return i
	}
	return -1
}

// add makes a child with a name that has no child yet.
func (b *branch) add(name string) *child {
	if b.places != nil {
		b.places[name] = len(b.names)
	}
	b.names, b.children = append(b.names, name), append(b.children, child{})
	return &b.children[len(b.children)-1]
}

func (c *child) insert(e Entry) error {
	fail := func(at Path, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Subject: at.String(), Want: want, Got: got}
	}
	if e.Node == nil || len(e.Path) > maxDepth {
		return fail(e.Path[:min(len(e.Path), 4)], "a node at a depth below the limit", e.Node.String())
	}
	for i, k := range e.Path {
		if c.leaf != nil {
			return fail(e.Path[:i], c.leaf.String(), "the child "+e.Path[i:].String())
		}
		if c.inner == nil {
			c.inner = &branch{kind: k.Kind}
		}
		b := c.inner
		if k.Kind != b.kind {
			return fail(e.Path[:i+1], "a "+b.kind.String()+" like its siblings", k.Kind.String())
		}
		if at := b.find(k.Name); at >= 0 {
			c = &b.children[at]
		} else {
			c = b.add(k.Name)
		}
	}
	if c.leaf != nil || c.inner != nil {
		return fail(e.Path, "one entry per path", "a second entry")
	}
	c.leaf = e.Node
	return nil
}

func (c *child) build(at Path) (*Node, error) {
	if c.leaf != nil {
		return c.leaf, nil
	}
	b := c.inner
	n := &Node{Items: make([]*Node, len(b.names))}
	switch b.kind {
	case KeyIndex:
		n.Kind = List
		if err := b.sortIndices(at); err != nil {
			return nil, err
		}
	case KeyAttr:
		n.Kind, n.Keys = Named, b.names
	case KeyDict:
		n.Kind, n.Keys = Dict, b.names
	default:
		return nil, &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Subject: at.String(), Got: b.kind.String()}
	}
	at = append(at, Key{Kind: b.kind})
	for i, name := range b.names {
		at[len(at)-1].Name = name
		item, err := b.children[i].build(at)
		if err != nil {
			return nil, err
		}
		n.Items[i] = item
	}
	return n, nil
}

// sortIndices sorts the children by their indices 0, 1, … or returns an error that names a missing
// index.
func (b *branch) sortIndices(at Path) error {
	sorted := make([]child, len(b.names))
	for i := range b.names {
		place := i
		if name := strconv.Itoa(i); b.names[i] != name {
			place = b.find(name)
		}
		if place < 0 {
			return &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Subject: at.String(),
				Want: fmt.Sprintf("the indices 0 to %d", len(b.names)-1), Got: "no index " + strconv.Itoa(i)}
		}
		sorted[i] = b.children[place]
	}
	for i := range b.names {
		b.names[i] = strconv.Itoa(i)
	}
	b.children, b.places = sorted, nil
	return nil
}

// Collisions returns an error of kind errs.Invalid if two entries have different paths and the same
// parameter name, such as a.b + c and a + b.c. In a checkpoint one of them would overwrite the
// other.
func Collisions(entries []Entry) error {
	names := make([]string, len(entries))
	ascending := true // as in a tree with sorted keys; ascending names are different
	for i, e := range entries {
		names[i] = e.Path.Param()
		ascending = ascending && (i == 0 || names[i-1] < names[i])
	}
	if ascending {
		return nil
	}
	seen := make(map[string]int, len(entries))
	for i, e := range entries {
		name := names[i]
		if j, ok := seen[name]; ok {
			return &errs.Error{Kind: errs.Invalid, Op: "tree.Collisions", Subject: strconv.Quote(name),
				Want:   "one leaf per parameter name",
				Got:    entries[j].Path.String() + " and " + e.Path.String(),
				Remedy: "rename one of the keys"}
		}
		seen[name] = i
	}
	return nil
}
