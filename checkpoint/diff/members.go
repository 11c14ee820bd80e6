package diff

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MostMembers bounds Leaf.Members.
const MostMembers = 1000

// Member is a value that differs in an item of JSON.
type Member struct {
	// Path has the keys and indices that lead to the value, joined with points.
	Path string
	// Was and Is are the value in JSON, cut to some hundred bytes, or "" if it is missing.
	Was, Is string
}

// members returns what differs in two JSON texts, in the order of the paths. Numbers are compared
// as they are written.
func members(was, is []byte) (list []Member, more int) {
	var v [2]any
	for i, b := range [][]byte{was, is} {
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		if dec.Decode(&v[i]) != nil {
			return nil, 0
		}
	}
	walkMembers(nil, v[0], v[1], func(m Member) {
		if len(list) < MostMembers {
			list = append(list, m)
		} else {
			more++
		}
	})
	return list, more
}

// absent stands for a value that one side does not have.
type absent struct{}

func walkMembers(path []string, was, is any, differs func(Member)) {
	if a, ok := was.(map[string]any); ok {
		if b, ok := is.(map[string]any); ok {
			keys := slices.Collect(maps.Keys(a))
			for k := range b {
				if _, both := a[k]; !both {
					keys = append(keys, k)
				}
			}
			slices.Sort(keys)
			for _, k := range keys {
				walkMembers(append(path, k), of(a, k), of(b, k), differs)
			}
			return
		}
	}
	if a, ok := was.([]any); ok {
		if b, ok := is.([]any); ok {
			for i := range max(len(a), len(b)) {
				walkMembers(append(path, strconv.Itoa(i)), at(a, i), at(b, i), differs)
			}
			return
		}
	}
	m := Member{Path: strings.Join(path, "."), Was: written(was), Is: written(is)}
	if m.Was != m.Is {
		m.Was, m.Is = cut(m.Was), cut(m.Is)
		differs(m)
	}
}

func of(m map[string]any, k string) any {
	if v, ok := m[k]; ok {
		return v
	}
	return absent{}
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return absent{}
}

// written returns a value in JSON, or "" for one that is absent.
func written(v any) string {
	if _, no := v.(absent); no {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

// cut shortens a text.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
