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
// an error: which of two counts would depend on the reader.
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
		out = append(out, member{strings.Clone(key), json.RawMessage(raw)})
		return nil
	})
	if err == nil {
		err = s.end()
	}
	return out, err
}

// names is a set of strings, mostly few.
type names struct {
	few  []string
	many map[string]struct{}
}

// add reports whether name was not there yet.
func (n *names) add(name string) bool {
	const few = 8
	switch {
	case n.many != nil:
	case slices.Contains(n.few, name):
		return false
	case len(n.few) < few:
		n.few = append(n.few, name)
		return true
	default:
		n.many = make(map[string]struct{}, 2*few)
		for _, s := range n.few {
			n.many[s] = struct{}{}
		}
	}
	size := len(n.many)
	n.many[name] = struct{}{}
	return len(n.many) > size
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
