package tree

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// MergeOptions modify Merge. nil means the zero value.
type MergeOptions struct {
	// Overwrite lets a later tree replace the node of an earlier tree at the same path.
	Overwrite bool
	// IsLeaf, if not nil, reports which nodes are taken as a whole, containers included.
	IsLeaf func(*Node) bool
}

// Merge joins trees as orbax.checkpoint.v1's tree.merge does. Dictionaries and structs are joined
// key by key, and lists and tuples of the same length element by element. Of two leaves at one path
// the later one wins, unless it is nil. The result shares nodes with the trees, which are not
// changed. Without trees the result is an empty dictionary.
//
// Without Overwrite no two trees may have a leaf at the same path, nil included, and nodes at the
// same path must be of the same kind. With Overwrite a leaf replaces a container and the reverse.
// If the kinds of two containers differ, the later kind wins:
//
//   - A list replaces a dictionary with the same number of keys.
//   - A dictionary over a list reads the list as pairs of a key and a value, as Python's dict
//     does. A dictionary of two keys counts as a pair.
//   - A struct whose fields differ from the fields of the result becomes a dictionary.
//
// Errors are of kind errs.Mismatch and name the path. The causes are a leaf in two trees, different
// kinds, lists of different lengths, and a list that is not a list of pairs.
func Merge(trees []*Node, o *MergeOptions) (*Node, error) {
	var m merger
	if o != nil {
		m.MergeOptions = *o
	}
	if len(trees) == 0 {
		return NewDict(), nil
	}
	for i, t := range trees {
		if err := (Options{KeepUnknown: true}).check(t, nil); err != nil {
			return nil, errs.Wrap("tree.Merge", "tree "+strconv.Itoa(i), err)
		}
	}
	if !m.Overwrite {
		if err := m.distinct(trees); err != nil {
			return nil, err
		}
	}
	merged := trees[0]
	for _, t := range trees[1:] {
		var err error
		if merged, err = m.merge(t, merged, nil); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

type merger struct{ MergeOptions }

func mergeMismatch(at Path, want, got string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: "tree.Merge", Subject: at.String(), Want: want, Got: got}
}

func (m merger) leaf(n *Node) bool { return n.Kind == Leaf || m.IsLeaf != nil && m.IsLeaf(n) }

// distinct returns an error if two trees have a leaf at the same path.
func (m merger) distinct(trees []*Node) error {
	seen := map[string]int{}
	for i, t := range trees {
		err := m.leaves(t, nil, func(at Path) error {
			key := at.mergeKey()
			if j, both := seen[key]; both {
				e := mergeMismatch(at, "a leaf in only one tree", fmt.Sprintf("a leaf in trees %d and %d", j, i)).(*errs.Error)
				e.Remedy = "set Overwrite to take the later leaf"
				return e
			}
			seen[key] = i
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m merger) leaves(n *Node, at Path, visit func(Path) error) error {
	if m.leaf(n) {
		return visit(at)
	}
	for i, child := range n.Items {
		if err := m.leaves(child, append(at, n.Key(i)), visit); err != nil {
			return err
		}
	}
	return nil
}

// mergeKey returns the names of the keys in one string. Orbax does not tell an index from a key
// with the same digits.
func (p Path) mergeKey() string {
	var b []byte
	for _, k := range p {
		b = strconv.AppendQuote(b, k.Name)
	}
	return string(b)
}

// merge joins a later tree with the result so far.
func (m merger) merge(later, earlier *Node, at Path) (*Node, error) {
	if !m.Overwrite && !sameType(later, earlier) {
		return nil, mergeMismatch(at, earlier.String()+", as in the trees before", later.String())
	}
	switch {
	case m.leaf(later) || m.leaf(earlier):
		if later.Kind == Leaf && later.Value == nil {
			return earlier, nil
		}
		return later, nil
	case later.Kind.keyed():
		return m.keyed(later, earlier, at)
	}
	return m.listed(later, earlier, at)
}

// sameType reports whether the nodes would have the same type() in Python.
func sameType(a, b *Node) bool {
	return a.Kind == b.Kind && a.Type == b.Type && reflect.TypeOf(a.Value) == reflect.TypeOf(b.Value)
}

func (m merger) keyed(later, earlier *Node, at Path) (*Node, error) {
	before, err := asDict(earlier, at)
	if err != nil {
		return nil, err
	}
	merged := &Node{Kind: Dict, Keys: slices.Clone(before.Keys), Items: slices.Clone(before.Items)}
	where := make(map[string]int, len(merged.Keys))
	for i, k := range merged.Keys {
		where[k] = i
	}
	for i, k := range later.Keys {
		j, both := where[k]
		if !both {
			merged.Keys, merged.Items = append(merged.Keys, k), append(merged.Items, later.Items[i])
			continue
		}
		if merged.Items[j], err = m.merge(later.Items[i], merged.Items[j], append(at, later.Key(i))); err != nil {
			return nil, err
		}
	}
	if later.Kind == Named && len(merged.Keys) == len(later.Keys) {
		return inOrder(merged, later), nil
	}
	return merged, nil
}

// inOrder returns a dictionary with its keys in the order of a struct with the same keys.
func inOrder(d, like *Node) *Node {
	n := &Node{Kind: Named, Type: like.Type, Keys: like.Keys, Items: make([]*Node, len(like.Keys))}
	for i, k := range like.Keys {
		n.Items[i] = d.Get(k)
	}
	return n
}

// asDict returns a container as Python's dict(container) does.
func asDict(n *Node, at Path) (*Node, error) {
	if n.Kind.keyed() {
		return n, nil
	}
	d := NewDict()
	for i, pair := range n.Items {
		key, value, ok := asPair(pair)
		if !ok {
			return nil, mergeMismatch(append(at, n.Key(i)), "a pair of a key and a value (the list becomes a dictionary)",
				pair.String())
		}
		d.Set(key, value)
	}
	return d, nil
}

func asPair(n *Node) (key string, value *Node, ok bool) {
	switch {
	case n.Len() != 2:
		return "", nil, false
	case n.Kind.keyed():
		return n.Keys[0], NewLeaf(n.Keys[1]), true
	case n.Items[0].Kind != Leaf:
		return "", nil, false
	}
	switch k := n.Items[0].Value.(type) {
	case string:
		return k, n.Items[1], true
	case int64, uint64:
		return fmt.Sprint(k), n.Items[1], true
	}
	return "", nil, false
}

func (m merger) listed(later, earlier *Node, at Path) (*Node, error) {
	if later.Len() != earlier.Len() {
		return nil, mergeMismatch(at, earlier.String()+" or a list of the same length, as in the trees before",
			later.String())
	}
	if earlier.Kind.keyed() { // Orbax would pair the elements with its keys, not with its values
		return later, nil
	}
	merged := &Node{Kind: later.Kind, Items: make([]*Node, later.Len())}
	for i, child := range later.Items {
		var err error
		if merged.Items[i], err = m.merge(child, earlier.Items[i], append(at, later.Key(i))); err != nil {
			return nil, err
		}
	}
	return merged, nil
}
