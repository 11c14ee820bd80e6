package orbax

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/tree"
)

// Tree is the content of an item's _METADATA.
type Tree struct {
	Entries  []Entry // in file order
	UseOCDBT *bool   // nil when absent: look for manifest.ocdbt
	UseZarr3 bool    // absent means zarr v2
	// StoreFill says that chunks equal to the fill value were stored, so that a
	// missing chunk is lost data and not a fill value.
	StoreFill bool
	Custom    json.RawMessage // nil when absent or null
	Rich      *Rich           // containers with their types, nil when not recorded
}

// Entry is one leaf or empty container.
type Entry struct {
	Path       tree.Path
	ValueType  string
	Skip       bool  // nothing is stored for it: None and empty containers
	WriteShape []int // of one written fragment; jax.Array only, else nil
}

// Rich is one node of value_metadata_tree: the structure with tuples and
// named tuples told apart from lists and dicts.
type Rich struct {
	Kind  tree.Kind // Leaf, Dict, List, Tuple, Named
	Type  string    // Named: module.Class
	Keys  []string
	Items []*Rich
}

// Append appends the document in Orbax's spelling.
func (t Tree) Append(dst []byte) []byte {
	dst = append(dst, `{"tree_metadata": {`...)
	for i, e := range t.Entries {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = appendJSON(dst, TupleRepr(e.Path))
		dst = append(dst, `: {"key_metadata": [`...)
		for j, k := range e.Path {
			if j > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(dst, `{"key": `...)
			dst = appendJSON(dst, k.Name)
			dst = append(dst, `, "key_type": `...)
			if k.Kind == tree.KeyIndex {
				dst = append(dst, "1}"...)
			} else {
				dst = append(dst, "2}"...)
			}
		}
		dst = append(dst, `], "value_metadata": {"value_type": `...)
		dst = appendJSON(dst, e.ValueType)
		dst = append(dst, `, "skip_deserialize": `...)
		dst = strconv.AppendBool(dst, e.Skip)
		if e.WriteShape != nil {
			dst = append(dst, `, "write_shape": `...)
			dst = appendJSON(dst, e.WriteShape)
		}
		dst = append(dst, "}}"...)
	}
	dst = append(dst, `}, "use_ocdbt": `...)
	dst = strconv.AppendBool(dst, t.UseOCDBT == nil || *t.UseOCDBT)
	dst = append(dst, `, "use_zarr3": `...)
	dst = strconv.AppendBool(dst, t.UseZarr3)
	dst = append(dst, `, "store_array_data_equal_to_fill_value": `...)
	dst = strconv.AppendBool(dst, t.StoreFill)
	dst = append(dst, `, "custom_metadata": `...)
	if t.Custom == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(dst, t.Custom...)
	}
	return append(dst, '}')
}

// ParseTree reads _METADATA.
func ParseTree(b []byte) (Tree, error) {
	var t Tree
	ms, err := members(b)
	if err != nil {
		return t, corrupt(TreeFile, "%v", err)
	}
	found := false
	for _, m := range ms {
		var err error
		switch m.key {
		case "tree_metadata":
			found = true
			t.Entries, err = parseEntries(m.value)
		case "use_ocdbt":
			if !isNull(m.value) {
				t.UseOCDBT = new(bool)
				err = json.Unmarshal(m.value, t.UseOCDBT)
			}
		case "use_zarr3":
			err = json.Unmarshal(m.value, &t.UseZarr3)
		case "store_array_data_equal_to_fill_value":
			err = json.Unmarshal(m.value, &t.StoreFill)
		case "custom_metadata":
			if !isNull(m.value) {
				t.Custom = m.value
			}
		case "value_metadata_tree":
			if !isNull(m.value) {
				t.Rich, err = parseRichString(m.value)
			}
		}
		if err != nil {
			return t, corrupt(TreeFile, "member %q: %v", m.key, err)
		}
	}
	if !found {
		return t, corrupt(TreeFile, "no tree_metadata")
	}
	return t, nil
}

func parseEntries(raw json.RawMessage) ([]Entry, error) {
	var entries []Entry
	err := eachMember(raw, func(_ string, dec *json.Decoder) error {
		e, err := parseEntry(dec)
		entries = append(entries, e)
		return err
	})
	return entries, err
}

func parseEntry(dec *json.Decoder) (Entry, error) {
	var d struct {
		Key []struct {
			Key  *string `json:"key"`
			Type int     `json:"key_type"`
		} `json:"key_metadata"`
		Value *struct {
			Type  *string `json:"value_type"`
			Skip  *bool   `json:"skip_deserialize"`
			Shape []int   `json:"write_shape"`
		} `json:"value_metadata"`
	}
	if err := dec.Decode(&d); err != nil {
		return Entry{}, err
	}
	switch {
	case d.Key == nil:
		return Entry{}, fmt.Errorf("no key_metadata")
	case d.Value == nil || d.Value.Type == nil || d.Value.Skip == nil:
		return Entry{}, fmt.Errorf("value_metadata without value_type or skip_deserialize")
	}
	e := Entry{ValueType: *d.Value.Type, Skip: *d.Value.Skip, WriteShape: d.Value.Shape, Path: make(tree.Path, len(d.Key))}
	for i, k := range d.Key {
		if k.Key == nil {
			return Entry{}, fmt.Errorf("key %d without a name", i)
		}
		kind := tree.KeyDict
		switch k.Type {
		case 1:
			kind = tree.KeyIndex
			if n, err := strconv.Atoi(*k.Key); err != nil || n < 0 || strconv.Itoa(n) != *k.Key {
				return Entry{}, fmt.Errorf("sequence key %q is no index", *k.Key)
			}
		case 2:
		default:
			return Entry{}, fmt.Errorf("key_type %d", k.Type)
		}
		e.Path[i] = tree.Key{Name: *k.Key, Kind: kind}
	}
	return e, nil
}

// maxRichDepth bounds the recursion over value_metadata_tree.
const maxRichDepth = 1000

func parseRichString(raw json.RawMessage) (*Rich, error) {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	return parseRich(json.RawMessage(s), 0)
}

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
		return richNamed(module+"."+class, by["entries"], depth)
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
