package orbax

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Each partial save writes one checkpoint, a part. The documents of the parts are joined into the
// documents of one checkpoint. Members that several parts have must be equal, unless a function
// says otherwise: a part adds, and replaces nothing.

// clash decides between two values of one member.
type clash func(at string, a, b json.RawMessage) (json.RawMessage, error)

func later(_ string, _, b json.RawMessage) (json.RawMessage, error) { return b, nil }

func refuse(at string, a, b json.RawMessage) (json.RawMessage, error) {
	return nil, &errs.Error{Kind: errs.Mismatch, Op: "orbax", Subject: at, Want: brief(a) + ", as in an earlier part",
		Got: brief(b)}
}

func brief(raw json.RawMessage) string {
	const most = 80
	if len(raw) > most {
		return string(raw[:most]) + "…"
	}
	return string(raw)
}

// MergeCheckpoints joins two _CHECKPOINT_METADATA. Objects are joined member by member. For other
// values the later document takes precedence.
func MergeCheckpoints(a, b []byte) ([]byte, error) {
	out, err := merge(a, b, CheckpointFile, 0, later)
	if err == nil {
		_, err = ParseCheckpoint(out)
	}
	return out, err
}

// MergeStrings joins two _strings.json.
func MergeStrings(a, b []byte) ([]byte, error) { return merge(a, b, StringsFile, 0, refuse) }

// MergeSharding joins two _sharding.
func MergeSharding(a, b []byte) ([]byte, error) { return merge(a, b, ShardingFile, 0, refuse) }

// MergeTrees joins two _METADATA. An empty container that has members in the other document stops
// being a leaf. A leaf below another leaf is errs.Mismatch.
func MergeTrees(a, b []byte) ([]byte, error) {
	out, err := merge(a, b, TreeFile, 0, func(at string, a, b json.RawMessage) (json.RawMessage, error) {
		switch {
		case isNull(a):
			return b, nil
		case isNull(b):
			return a, nil
		case at == TreeFile+": "+richMember:
			return b, nil // joined below
		}
		return refuse(at, a, b)
	})
	if err != nil {
		return nil, err
	}
	if out, err = withoutFilled(out); err != nil {
		return nil, err
	}
	return joinedTypes(out, a, b)
}

// withoutFilled removes the entries of empty containers that are not empty.
func withoutFilled(doc []byte) ([]byte, error) {
	t, err := ParseTree(doc)
	if err != nil {
		return nil, err
	}
	inner := map[string]bool{}
	for _, e := range t.Entries {
		for n := range e.Path {
			inner[TupleRepr(e.Path[:n])] = true
		}
	}
	filled := map[string]bool{}
	for _, e := range t.Entries {
		if name := TupleRepr(e.Path); inner[name] {
			if !emptyContainer(e.ValueType) {
				return nil, &errs.Error{Kind: errs.Mismatch, Op: "orbax", Subject: TreeFile + ": " + name,
					Got: "a leaf, and leaves below it in another part"}
			}
			filled[name] = true
		}
	}
	if len(filled) == 0 {
		return doc, nil
	}
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(TreeFile, "%v", err)
	}
	for i, m := range ms {
		if m.key != "tree_metadata" {
			continue
		}
		entries, err := members(m.value)
		if err != nil {
			return nil, corrupt(TreeFile, "%v", err)
		}
		kept := entries[:0]
		for n, e := range entries { // in the order of t.Entries
			if !filled[TupleRepr(t.Entries[n].Path)] {
				kept = append(kept, e)
			}
		}
		ms[i].value = appendMembers(nil, kept)
	}
	return appendMembers(nil, ms), nil
}

func emptyContainer(valueType string) bool {
	return valueType == TypeDict || valueType == TypeList || valueType == TypeTuple || valueType == TypeNamedTuple
}

// MergeArrays joins two array_metadatas/process_N: the records of both.
func MergeArrays(a, b []byte) ([]byte, error) {
	const key = "array_metadatas"
	return merge(a, b, ArraysDir, 0, func(at string, a, b json.RawMessage) (json.RawMessage, error) {
		var first, second []json.RawMessage
		if at != ArraysDir+": "+key || json.Unmarshal(a, &first) != nil || json.Unmarshal(b, &second) != nil {
			return refuse(at, a, b)
		}
		for _, r := range second {
			if !slices.ContainsFunc(first, func(f json.RawMessage) bool { return equal(f, r) }) {
				first = append(first, r)
			}
		}
		return json.Marshal(first)
	})
}

// merge joins two JSON values. Objects are joined member by member: first the members of the first
// object in its order, then the members that only the second has. Other values must be equal, or
// decide chooses.
func merge(a, b json.RawMessage, at string, depth int, decide clash) (json.RawMessage, error) {
	if !isObject(a) || !isObject(b) {
		if equal(a, b) {
			return a, nil
		}
		return decide(at, a, b)
	}
	if depth > maxRichDepth {
		return nil, corrupt(at, "objects nested deeper than %d", maxRichDepth)
	}
	first, err := members(a)
	if err != nil {
		return nil, corrupt(at, "%v", err)
	}
	second, err := members(b)
	if err != nil {
		return nil, corrupt(at, "%v", err)
	}
	place := make(map[string]int, len(first))
	for i, m := range first {
		place[m.key] = i
	}
	for _, m := range second {
		i, both := place[m.key]
		if !both {
			first = append(first, m)
			continue
		}
		if first[i].value, err = merge(first[i].value, m.value, at+": "+m.key, depth+1, decide); err != nil {
			return nil, err
		}
	}
	return appendMembers(nil, first), nil
}

func isObject(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) > 0 && t[0] == '{'
}

// equal compares JSON values, ignoring white space.
func equal(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// appendMembers appends an object as Orbax spells it.
func appendMembers(dst []byte, ms []member) []byte {
	dst = append(dst, '{')
	for i, m := range ms {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = append(append(appendString(dst, m.key), ": "...), m.value...)
	}
	return append(dst, '}')
}

// A later part of a checkpoint may remove what an earlier part saved. The rest of a document keeps
// its order and its unknown members.

// RemoveEntries removes the matching entries from _METADATA and returns their parameter names. It
// also removes recorded types of containers, which no longer fit.
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

// RemoveStrings removes the strings of parameters from _strings.json.
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

// RemoveArrays removes the records of parameters from array_metadatas/process_N.
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

// RemoveSharding removes parameters from _sharding, whose keys are their names in base64.
func RemoveSharding(doc []byte, params []string) ([]byte, error) {
	ms, err := members(doc)
	if err != nil {
		return nil, corrupt(ShardingFile, "%v", err)
	}
	gone := setOf(params)
	ms = slices.DeleteFunc(ms, func(m member) bool {
		name, err := base64.URLEncoding.DecodeString(m.key)
		return err == nil && gone[string(name)]
	})
	return appendMembers(nil, ms), nil
}

// RemoveItem removes an item from _CHECKPOINT_METADATA.
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

// Marked returns _METADATA with ManifestMark, for a checkpoint with a manifest, or without it.
// Custom metadata of other programs stays.
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
