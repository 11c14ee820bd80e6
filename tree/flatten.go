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

// Flatten returns the leaves and the empty containers in the order of the tree.
// A tree that is itself a leaf or empty gives one entry with the empty path.
// The nodes are those of the tree, not copies. n must pass Check.
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

// Unflatten rebuilds a tree: indices make lists, dictionary keys make Dicts and
// attributes make Nameds without a type name. Children come in the order in
// which they first appear, those of lists in the order of their indices. It is
// the inverse of Flatten but for tuples and type names, which paths do not tell.
//
// Errors, of kind errs.Invalid and naming the path: two entries for one path, an
// entry below a leaf, children of different kinds, an index missing, a name
// that is no index, no entries at all.
func Unflatten(entries []Entry) (*Node, error) {
	if len(entries) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Want: "at least one entry", Got: "none"}
	}
	root := &branch{}
	for _, e := range entries {
		if err := root.insert(e); err != nil {
			return nil, err
		}
	}
	return root.build(nil)
}

// branch is a node under construction: a leaf (or empty container), or a
// container with its children by name.
type branch struct {
	leaf     *Node
	kind     KeyKind
	names    []string
	children map[string]*branch
}

func (b *branch) insert(e Entry) error {
	fail := func(at Path, want, got string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Subject: at.String(), Want: want, Got: got}
	}
	if e.Node == nil || len(e.Path) > maxDepth {
		return fail(e.Path[:min(len(e.Path), 4)], "a node at a sensible depth", e.Node.String())
	}
	for i, k := range e.Path {
		if b.leaf != nil {
			return fail(e.Path[:i], b.leaf.String(), "the child "+e.Path[i:].String())
		}
		if b.children == nil {
			b.kind, b.children = k.Kind, map[string]*branch{}
		}
		if k.Kind != b.kind {
			return fail(e.Path[:i+1], "a "+b.kind.String()+" like its siblings", k.Kind.String())
		}
		child := b.children[k.Name]
		if child == nil {
			child = &branch{}
			b.children[k.Name] = child
			b.names = append(b.names, k.Name)
		}
		b = child
	}
	if b.leaf != nil || b.children != nil {
		return fail(e.Path, "one entry a path", "a second one")
	}
	b.leaf = e.Node
	return nil
}

func (b *branch) build(at Path) (*Node, error) {
	if b.leaf != nil {
		return b.leaf, nil
	}
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
	for i, name := range b.names {
		child, err := b.children[name].build(append(at, Key{Name: name, Kind: b.kind}))
		if err != nil {
			return nil, err
		}
		n.Items[i] = child
	}
	return n, nil
}

// sortIndices puts names in the order 0, 1, … or says which is missing.
func (b *branch) sortIndices(at Path) error {
	for i := range b.names {
		if name := strconv.Itoa(i); b.children[name] == nil {
			return &errs.Error{Kind: errs.Invalid, Op: "tree.Unflatten", Subject: at.String(),
				Want: fmt.Sprintf("the indices 0 to %d", len(b.names)-1), Got: "no " + name}
		}
	}
	for i := range b.names {
		b.names[i] = strconv.Itoa(i)
	}
	return nil
}

// Collisions returns an error of kind errs.Invalid that names two entries whose
// paths differ but have the same parameter name, such as a.b + c and a + b.c:
// in a checkpoint one would overwrite the other.
func Collisions(entries []Entry) error {
	names := make([]string, len(entries))
	ascending := true // as those of a tree with sorted keys are: then no name comes twice
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
				Want:   "one leaf a parameter name",
				Got:    entries[j].Path.String() + " and " + e.Path.String(),
				Remedy: "rename one of the keys"}
		}
		seen[name] = i
	}
	return nil
}
