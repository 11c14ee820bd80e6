package orbax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// member is one entry of a JSON object in file order.
type member struct {
	key   string
	value json.RawMessage
}

// members splits a JSON object into its members, in order. Duplicate names are
// an error: which of two counts would depend on the reader. The values are parts of b.
func members(b []byte) ([]member, error) {
	s, err := newScanner(b)
	if err != nil {
		return nil, err
	}
	var out []member
	var seen names
	err = s.object(func(key string) error {
		if !seen.add(key) {
			return fmt.Errorf("member %q twice", key)
		}
		raw, err := s.value()
		if err != nil {
			return fmt.Errorf("member %q: %w", key, err)
		}
		out = append(out, member{strings.Clone(key), json.RawMessage(b[s.at-len(raw) : s.at : s.at])})
		return nil
	})
	if err == nil {
		err = s.end()
	}
	return out, err
}

// names is a set of strings, mostly few or added in ascending order.
type names struct {
	list     []string
	unsorted bool
	set      map[string]struct{} // of all, where they are many and unsorted
}

// add reports whether name was not there yet.
func (n *names) add(name string) bool {
	const few = 8
	last := len(n.list) - 1
	switch {
	case n.set != nil:
	case last < 0 || !n.unsorted && n.list[last] < name:
		n.list = append(n.list, name)
		return true
	case slices.Contains(n.list, name):
		return false
	case len(n.list) < few:
		n.list, n.unsorted = append(n.list, name), true
		return true
	default:
		n.set = make(map[string]struct{}, 2*len(n.list))
		for _, s := range n.list {
			n.set[s] = struct{}{}
		}
		n.list = nil
	}
	size := len(n.set)
	n.set[name] = struct{}{}
	return len(n.set) > size
}

// appendString appends s as JSON, without escaping <, > and &.
func appendString(dst []byte, s string) []byte {
	if plainText(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return append(dst, `""`...) // no string fails to encode
	}
	return append(dst, bytes.TrimRight(buf.Bytes(), "\n")...)
}

// plainText reports whether s is ASCII of which nothing is escaped.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func corrupt(file, format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "orbax", Subject: file, Got: fmt.Sprintf(format, args...)}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
