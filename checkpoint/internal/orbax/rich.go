package orbax

import (
	"encoding/json"
	"fmt"

	"github.com/bivouac-ml/bivouac/tree"
)

// Rich is one node of value_metadata_tree: the structure with tuples and
// named tuples told apart from lists and dicts.
type Rich struct {
	Kind  tree.Kind // Leaf, Dict, List, Tuple, Named
	Type  string    // Named: module.Class
	Keys  []string
	Items []*Rich
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
