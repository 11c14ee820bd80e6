package orbax

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Rich is one node of value_metadata_tree: a structure that distinguishes tuples and named tuples
// from lists and dicts.
type Rich struct {
	Kind  tree.Kind // Leaf, Dict, List, Tuple, Named
	Type  string    // Named: module.Class, or Class if the module is unknown
	Keys  []string
	Items []*Rich
}

// RichOf returns the types of the containers of a tree.
func RichOf(n *tree.Node) *Rich {
	r := &Rich{Kind: n.Kind, Type: n.Type, Keys: n.Keys}
	for _, c := range n.Items {
		r.Items = append(r.Items, RichOf(c))
	}
	return r
}

// maxRichDepth bounds the recursion over value_metadata_tree.
const maxRichDepth = 1000

func parseRich(raw json.RawMessage, depth int) (*Rich, error) {
	if depth > maxRichDepth {
		return nil, fmt.Errorf("deeper than %d", maxRichDepth)
	}
	if len(raw) > 0 && raw[0] == '[' {
		return richList(tree.List, raw, depth)
	}
	ms, err := members(raw)
	if err != nil {
		return nil, err
	}
	category := ""
	by := make(map[string]json.RawMessage, len(ms))
	for _, m := range ms {
		by[m.key] = m.value
		if m.key == "category" && len(m.value) > 0 && m.value[0] == '"' {
			if err := json.Unmarshal(m.value, &category); err != nil {
				return nil, err
			}
		}
	}
	var class, module string
	if v, ok := by["clazz"]; ok && category != "" {
		if err := json.Unmarshal(v, &class); err != nil {
			return nil, err
		}
	}
	switch {
	case category == "namedtuple":
		if v, ok := by["module"]; ok {
			if err := json.Unmarshal(v, &module); err != nil {
				return nil, err
			}
		}
		if module != "" {
			class = module + "." + class
		}
		return richNamed(class, by["entries"], depth)
	case category == "custom" && class == "tuple":
		return richList(tree.Tuple, by["entries"], depth)
	case category == "custom":
		return &Rich{Kind: tree.Leaf}, nil
	}
	r := &Rich{Kind: tree.Dict}
	for _, m := range ms {
		c, err := parseRich(m.value, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.key, err)
		}
		r.Keys = append(r.Keys, m.key)
		r.Items = append(r.Items, c)
	}
	return r, nil
}

func richList(kind tree.Kind, raw json.RawMessage, depth int) (*Rich, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	r := &Rich{Kind: kind}
	for i, it := range items {
		c, err := parseRich(it, depth+1)
		if err != nil {
			return nil, fmt.Errorf("[%d]: %w", i, err)
		}
		r.Items = append(r.Items, c)
	}
	return r, nil
}

func richNamed(typ string, raw json.RawMessage, depth int) (*Rich, error) {
	var entries []struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, err
	}
	r := &Rich{Kind: tree.Named, Type: typ}
	for _, e := range entries {
		c, err := parseRich(e.Value, depth+1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Key, err)
		}
		r.Keys = append(r.Keys, e.Key)
		r.Items = append(r.Items, c)
	}
	return r, nil
}

// appendRich appends value_metadata_tree for the entries, which are the leaves of r, as Orbax
// spells it.
func appendRich(dst []byte, r *Rich, entries []Entry) []byte {
	by := make(map[string]Entry, len(entries))
	for _, e := range entries {
		by[pathKey(e.Path)] = e
	}
	return richWriter{by}.append(dst, r, nil)
}

func pathKey(p tree.Path) string {
	var key []byte
	for _, k := range p {
		key = append(appendString(key, k.Name), ',')
	}
	return string(key)
}

type richWriter struct{ entries map[string]Entry }

func (w richWriter) append(dst []byte, r *Rich, at tree.Path) []byte {
	below := func(dst []byte, i int, name string) []byte {
		return w.append(dst, r.Items[i], append(at[:len(at):len(at)], tree.Key{Name: name}))
	}
	list := func(dst []byte) []byte {
		dst = append(dst, '[')
		for i := range r.Items {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = below(dst, i, strconv.Itoa(i))
		}
		return append(dst, ']')
	}
	if len(r.Items) == 0 { // an empty container is an entry, like a leaf
		return w.entry(dst, w.entries[pathKey(at)])
	}
	switch r.Kind {
	case tree.List:
		return list(dst)
	case tree.Tuple:
		return append(list(append(dst, `{"category": "custom", "clazz": "tuple", "entries": `...)), '}')
	case tree.Named:
		module, class := "", r.Type
		if i := strings.LastIndexByte(r.Type, '.'); i >= 0 {
			module, class = r.Type[:i], r.Type[i+1:]
		}
		dst = appendString(append(dst, `{"category": "namedtuple", "module": `...), module)
		dst = append(appendString(append(dst, `, "clazz": `...), class), `, "entries": [`...)
		for i, k := range r.Keys {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendString(append(dst, `{"key": `...), k), `, "value": `...)
			dst = append(below(dst, i, k), '}')
		}
		return append(dst, "]}"...)
	}
	dst = append(dst, '{')
	for i, k := range r.Keys {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = below(append(appendString(dst, k), ": "...), i, k)
	}
	return append(dst, '}')
}

func (w richWriter) entry(dst []byte, e Entry) []byte {
	dst = appendString(append(dst, `{"category": "custom", "clazz": "ValueMetadataEntry", "data": {"value_type": `...),
		e.ValueType)
	dst = strconv.AppendBool(append(dst, `, "skip_deserialize": `...), e.Skip)
	if e.WriteShape != nil {
		dst = append(dst, `, "write_shape": [`...)
		for i, n := range e.WriteShape {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = strconv.AppendInt(dst, int64(n), 10)
		}
		dst = append(dst, ']')
	}
	return append(dst, "}}"...)
}

// joinedTypes adds to merged, the joined _METADATA of a and b, the types of containers that a and b
// record. If only one records types, the containers of the other are lists and dictionaries. If
// neither does, merged is unchanged.
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

// typesOf returns the types of containers that a document records, or else the types that the keys
// of its entries show.
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
		return &Rich{Kind: tree.Dict} // the leaves of a part need not form a tree
	}
	return RichOf(n)
}

// joinTypes joins the types that two parts of a tree record. A list or dictionary of one part may
// have a more specific type in the other.
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
