package orbax

import (
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// joinedTypes puts into merged, which is the _METADATA of a and b, the types of
// containers that these record. Where one of them records none, its containers
// are lists and dictionaries; where neither does, merged is as it is.
func joinedTypes(merged, a, b []byte) ([]byte, error) {
	var docs [3]Tree
	for i, doc := range [][]byte{merged, a, b} {
		var err error
		if docs[i], err = ParseTree(doc); err != nil {
			return nil, err
		}
	}
	if docs[1].Rich == nil && docs[2].Rich == nil {
		return merged, nil
	}
	rich, err := joinTypes(typesOf(docs[1]), typesOf(docs[2]), nil)
	if err != nil {
		return nil, err
	}
	ms, err := members(merged)
	if err != nil {
		return nil, corrupt(TreeFile, "%v", err)
	}
	ms = slices.DeleteFunc(ms, func(m member) bool { return m.key == richMember })
	text := appendString(nil, string(appendRich(nil, rich, docs[0].Entries)))
	return appendMembers(nil, append(ms, member{richMember, text})), nil
}

// richMember is the member of _METADATA that has the types of containers.
const richMember = "value_metadata_tree"

// typesOf are the types of containers that a document records, or those that the
// keys of its entries tell.
func typesOf(t Tree) *Rich {
	if t.Rich != nil {
		return t.Rich
	}
	entries := make([]tree.Entry, len(t.Entries))
	for i, e := range t.Entries {
		entries[i] = tree.Entry{Path: e.Path, Node: &tree.Node{}}
	}
	n, err := tree.Unflatten(entries)
	if err != nil {
		return &Rich{Kind: tree.Dict} // a part may be no tree by itself
	}
	return RichOf(n)
}

// joinTypes joins what two parts of a tree record of it. A list and a dictionary
// may be what the other has recorded as more than that.
func joinTypes(a, b *Rich, at tree.Path) (*Rich, error) {
	switch {
	case len(b.Items) == 0:
		return a, nil
	case len(a.Items) == 0:
		return b, nil
	case a.Kind == tree.List || a.Kind == tree.Dict:
		a, b = b, a
	}
	out := &Rich{Kind: a.Kind, Type: a.Type, Keys: slices.Clone(a.Keys), Items: slices.Clone(a.Items)}
	named := a.Kind == tree.Named || a.Kind == tree.Dict
	plain := b.Kind == tree.List && !named || b.Kind == tree.Dict && named
	if !plain && (a.Kind != b.Kind || a.Type != b.Type) {
		return nil, &errs.Error{Kind: errs.Mismatch, Op: "orbax", Subject: TreeFile + ": " + at.String(),
			Want: a.Kind.String() + " " + a.Type + ", as in another part", Got: b.Kind.String() + " " + b.Type}
	}
	places := make(map[string]int, len(out.Keys))
	for k, name := range out.Keys {
		places[name] = k
	}
	for i, item := range b.Items {
		k, key := i, tree.Key{}
		if named {
			key.Name = b.Keys[i]
			var there bool
			if k, there = places[key.Name]; !there {
				k = len(out.Items)
			}
		}
		if k >= len(out.Items) {
			out.Items = append(out.Items, item)
			if named {
				places[key.Name] = len(out.Keys)
				out.Keys = append(out.Keys, key.Name)
			}
			continue
		}
		joined, err := joinTypes(out.Items[k], item, append(at[:len(at):len(at)], key))
		if err != nil {
			return nil, err
		}
		out.Items[k] = joined
	}
	return out, nil
}
