package orbax

import (
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/bivouac-ml/bivouac/tree"
)

// A later part of a checkpoint may take away what an earlier one saved. What is
// left of a document keeps its order and what is not known of it.

// RemoveEntries takes the entries that match out of _METADATA and returns their
// parameter names. Types of containers, if recorded, are forgotten: what is left
// has others.
func RemoveEntries(doc []byte, match func(tree.Path) bool) (left []byte, params []string, err error) {
	t, err := ParseTree(doc)
	if err != nil {
		return nil, nil, err
	}
	ms, err := members(doc)
	if err != nil {
		return nil, nil, corrupt(TreeFile, "%v", err)
	}
	for i, m := range ms {
		if m.key != "tree_metadata" {
			continue
		}
		entries, err := members(m.value)
		if err != nil {
			return nil, nil, corrupt(TreeFile, "%v", err)
		}
		kept := entries[:0]
		for n, e := range entries { // in the order of t.Entries
			if p := t.Entries[n].Path; match(p) {
				params = append(params, p.Param())
			} else {
				kept = append(kept, e)
			}
		}
		ms[i].value = appendMembers(nil, kept)
	}
	if len(params) == 0 {
		return doc, nil, nil
	}
	ms = slices.DeleteFunc(ms, func(m member) bool { return m.key == "value_metadata_tree" })
	return appendMembers(nil, ms), params, nil
}

// RemoveStrings takes the strings of parameters out of _strings.json.
func RemoveStrings(doc []byte, params []string) ([]byte, error) {
	c, err := ParseStrings(doc)
	if err != nil {
		return nil, err
	}
	for _, p := range params {
		c.remove(p)
	}
	return json.Marshal(c.root)
}

// RemoveArrays takes the records of parameters out of array_metadatas/process_N.
func RemoveArrays(doc []byte, params []string) ([]byte, error) {
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(ArraysDir, "%v", err)
	}
	gone := setOf(params)
	for i, m := range ms {
		var records []json.RawMessage
		if m.key != "array_metadatas" || json.Unmarshal(m.value, &records) != nil {
			continue
		}
		records = slices.DeleteFunc(records, func(raw json.RawMessage) bool {
			var r struct {
				Array struct {
					Param string `json:"param_name"`
				} `json:"array_metadata"`
			}
			return json.Unmarshal(raw, &r) == nil && gone[r.Array.Param]
		})
		if ms[i].value, err = json.Marshal(records); err != nil {
			return nil, corrupt(ArraysDir, "%v", err)
		}
	}
	return appendMembers(nil, ms), nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// RemoveSharding takes parameters out of _sharding, whose keys are their names in
// base64.
func RemoveSharding(doc []byte, params []string) ([]byte, error) {
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(ShardingFile, "%v", err)
	}
	gone := setOf(params)
	ms = slices.DeleteFunc(ms, func(m member) bool {
		name, err := base64.StdEncoding.DecodeString(m.key)
		return err == nil && gone[string(name)]
	})
	return appendMembers(nil, ms), nil
}

// RemoveItem takes an item out of _CHECKPOINT_METADATA.
func RemoveItem(doc []byte, item string) ([]byte, error) {
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(CheckpointFile, "%v", err)
	}
	for i, m := range ms {
		if m.key != "item_handlers" || !isObject(m.value) {
			continue
		}
		handlers, err := members(m.value)
		if err != nil {
			return nil, corrupt(CheckpointFile, "%v", err)
		}
		ms[i].value = appendMembers(nil, slices.DeleteFunc(handlers, func(h member) bool { return h.key == item }))
	}
	return appendMembers(nil, ms), nil
}

// Marked returns the _METADATA of a checkpoint that has a manifest, or has none:
// ManifestMark set or taken away. Custom metadata of others stays.
func Marked(doc []byte, manifest bool) ([]byte, error) {
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(TreeFile, "%v", err)
	}
	i := slices.IndexFunc(ms, func(m member) bool { return m.key == "custom_metadata" })
	switch {
	case manifest && i < 0:
		ms = append(ms, member{"custom_metadata", ManifestMark})
	case manifest && isNull(ms[i].value):
		ms[i].value = ManifestMark
	case !manifest && i >= 0 && equal(ms[i].value, ManifestMark):
		ms[i].value = json.RawMessage("null")
	default:
		return doc, nil
	}
	return appendMembers(nil, ms), nil
}
