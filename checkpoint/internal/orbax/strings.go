package orbax

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// Strings holds the string leaves of an item by parameter name.
//
// In the file a name is a JSON pointer below the root: "/" nests objects, and
// "~0" and "~1" stand for "~" and "/" as RFC 6901 has it. So a name "a/b" is the
// member "b" of the object "a".
type Strings map[string]string

// Append appends the document, with sorted members. It refuses names that the format cannot hold: a
// name that is a prefix of another at a "/", and a "~" that is not followed by 0 or 1.
func (s Strings) Append(dst []byte) ([]byte, error) {
	root := &stringNode{}
	names := make([]string, 0, len(s))
	for n := range s {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := root.put(name, s[name]); err != nil {
			return nil, err
		}
	}
	return root.append(dst), nil
}

type stringNode struct {
	leaf     bool
	value    string
	children map[string]*stringNode
}

func (n *stringNode) put(name, value string) error {
	at := n
	for _, part := range strings.Split(name, "/") {
		key, ok := unescape(part)
		if !ok {
			return &errs.Error{Kind: errs.Invalid, Op: "orbax", Subject: name,
				Got: `a string below a key with "~" that is not "~0" or "~1"`, Remedy: "rename the key"}
		}
		if at.leaf {
			return stringClash(name)
		}
		if at.children == nil {
			at.children = map[string]*stringNode{}
		}
		next := at.children[key]
		if next == nil {
			next = &stringNode{}
			at.children[key] = next
		}
		at = next
	}
	if at.leaf || at.children != nil {
		return stringClash(name)
	}
	at.leaf, at.value = true, value
	return nil
}

func stringClash(name string) error {
	return &errs.Error{Kind: errs.Invalid, Op: "orbax", Subject: name,
		Got: `a string whose name, cut at "/", is the name of another string`, Remedy: "rename one of the keys"}
}

func (n *stringNode) append(dst []byte) []byte {
	if n.leaf {
		return appendString(dst, n.value)
	}
	keys := make([]string, 0, len(n.children))
	for k := range n.children {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	dst = append(dst, '{')
	for i, k := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, k)
		dst = append(dst, ':')
		dst = n.children[k].append(dst)
	}
	return append(dst, '}')
}

func unescape(part string) (string, bool) {
	if strings.IndexByte(part, '~') < 0 {
		return part, true
	}
	rest := strings.ReplaceAll(strings.ReplaceAll(part, "~1", ""), "~0", "")
	if strings.IndexByte(rest, '~') >= 0 {
		return "", false
	}
	return strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~"), true
}

// StringsFileContent is a parsed _strings.json, in which names are looked up.
type StringsFileContent struct{ root map[string]any }

// ParseStrings reads _strings.json.
func ParseStrings(b []byte) (StringsFileContent, error) {
	var c StringsFileContent
	if _, err := members(b); err != nil {
		return c, corrupt(StringsFile, "%v", err)
	}
	if err := json.Unmarshal(b, &c.root); err != nil {
		return c, corrupt(StringsFile, "%v", err)
	}
	return c, nil
}

// Get returns the string of a parameter.
func (c StringsFileContent) Get(param string) (string, bool) {
	in, key, ok := c.find(param)
	if !ok {
		return "", false
	}
	s, ok := in[key].(string)
	return s, ok
}

// find returns the object that has a parameter as a member, and the key of the member.
func (c StringsFileContent) find(param string) (in map[string]any, key string, ok bool) {
	parts := strings.Split(param, "/")
	in = c.root
	for i, part := range parts {
		if key, ok = unescape(part); !ok || in == nil {
			return nil, "", false
		}
		if i < len(parts)-1 {
			in, _ = in[key].(map[string]any)
		}
	}
	return in, key, in != nil
}

// remove removes the string of a parameter, and the objects that become empty.
func (c StringsFileContent) remove(param string) {
	in, key, ok := c.find(param)
	if _, isText := in[key].(string); !ok || !isText {
		return
	}
	delete(in, key)
	for at := strings.LastIndexByte(param, '/'); at >= 0 && len(in) == 0; at = strings.LastIndexByte(param[:at], '/') {
		if in, key, ok = c.find(param[:at]); !ok {
			return
		}
		delete(in, key)
	}
}
