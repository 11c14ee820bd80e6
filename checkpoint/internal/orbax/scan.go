package orbax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// scanner reads JSON from memory, value by value, for documents with a hundred thousand members. It
// accepts what encoding/json accepts, except that the text must be UTF-8, and returns the same
// strings and numbers. Its results share the memory of the document, which must not change.
type scanner struct {
	doc string
	at  int
}

// maxScanDepth bounds the nesting of values, as encoding/json does.
const maxScanDepth = 10000

func newScanner(b []byte) (*scanner, error) {
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("not UTF-8")
	}
	return &scanner{doc: unsafe.String(unsafe.SliceData(b), len(b))}, nil
}

func (s *scanner) fail(want string) error {
	if s.at >= len(s.doc) {
		return fmt.Errorf("unexpected end of JSON, want %s", want)
	}
	r, _ := utf8.DecodeRuneInString(s.doc[s.at:])
	return fmt.Errorf("byte %d: %q, want %s", s.at, r, want)
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for s.at < len(s.doc) {
		switch c := s.doc[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// accept consumes the next token if it is the byte c.
func (s *scanner) accept(c byte) bool {
	if s.peek() != c || s.at >= len(s.doc) {
		return false
	}
	s.at++
	return true
}

// end returns an error if anything follows the value.
func (s *scanner) end() error {
	if s.peek(); s.at < len(s.doc) {
		return s.fail("nothing after the value")
	}
	return nil
}

// object calls value for each member, in order, to read its value. value must detect a name that
// occurs twice.
func (s *scanner) object(value func(name string) error) error {
	if !s.accept('{') {
		return s.fail("an object")
	}
	if s.accept('}') {
		return nil
	}
	for {
		name, err := s.text()
		if err != nil {
			return err
		}
		if !s.accept(':') {
			return s.fail("':'")
		}
		if err := value(name); err != nil {
			return err
		}
		if s.accept('}') {
			return nil
		}
		if !s.accept(',') {
			return s.fail("',' or '}'")
		}
	}
}

// array calls element for each element, to read it.
func (s *scanner) array(element func() error) error {
	if !s.accept('[') {
		return s.fail("an array")
	}
	if s.accept(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.accept(']') {
			return nil
		}
		if !s.accept(',') {
			return s.fail("',' or ']'")
		}
	}
}

// text reads a string.
func (s *scanner) text() (string, error) {
	if s.peek() != '"' {
		return "", s.fail("a string")
	}
	start, plain := s.at, true
	for i := s.at + 1; i < len(s.doc); i++ {
		switch c := s.doc[i]; {
		case c == '"':
			s.at = i + 1
			if plain {
				return s.doc[start+1 : i], nil
			}
			var v string
			err := json.Unmarshal([]byte(s.doc[start:s.at]), &v)
			return v, err
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			s.at = i
			return "", s.fail("a string without control characters")
		}
	}
	s.at = len(s.doc)
	return "", s.fail("'\"'")
}

// null consumes a null.
func (s *scanner) null() bool { return s.peek() == 'n' && s.word("null") }

func (s *scanner) word(w string) bool {
	if !strings.HasPrefix(s.doc[s.at:], w) {
		return false
	}
	s.at += len(w)
	return true
}

// boolean reads true or false.
func (s *scanner) boolean() (bool, error) {
	switch s.peek() {
	case 't':
		if s.word("true") {
			return true, nil
		}
	case 'f':
		if s.word("false") {
			return false, nil
		}
	}
	return false, s.fail("true or false")
}

// integer reads a number without fraction and exponent.
func (s *scanner) integer() (int, error) {
	s.peek()
	start := s.at
	if !s.number() {
		return 0, s.fail("a number")
	}
	n, err := strconv.Atoi(s.doc[start:s.at])
	if err != nil {
		s.at = start
		return 0, fmt.Errorf("byte %d: %.40s is not an integer", start, s.doc[start:])
	}
	return n, nil
}

// number skips a number.
func (s *scanner) number() bool {
	if s.at < len(s.doc) && s.doc[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.doc) && s.doc[s.at] == '0' {
		s.at++
	} else if !s.digits() {
		return false
	}
	if s.at < len(s.doc) && s.doc[s.at] == '.' {
		s.at++
		if !s.digits() {
			return false
		}
	}
	if s.at < len(s.doc) && s.doc[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.doc) && (s.doc[s.at] == '+' || s.doc[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for s.at < len(s.doc) && '0' <= s.doc[s.at] && s.doc[s.at] <= '9' {
		s.at++
	}
	return s.at > start
}

// value skips a value of any kind and returns its text.
func (s *scanner) value() (string, error) {
	s.peek()
	start := s.at
	if err := s.skip(0); err != nil {
		return "", err
	}
	return s.doc[start:s.at], nil
}

func (s *scanner) skip(depth int) error {
	switch c := s.peek(); {
	case c == '{' || c == '[':
		if depth == maxScanDepth {
			return fmt.Errorf("nested deeper than %d", maxScanDepth)
		}
		if c == '{' {
			return s.object(func(string) error { return s.skip(depth + 1) })
		}
		return s.array(func() error { return s.skip(depth + 1) })
	case c == '"':
		_, err := s.text()
		return err
	case c == '-' || '0' <= c && c <= '9':
		if s.number() {
			return nil
		}
		return s.fail("a number")
	case c == 'n' && s.word("null"), c == 't' && s.word("true"), c == 'f' && s.word("false"):
		return nil
	}
	return s.fail("a value")
}

// member is one entry of a JSON object in file order.
type member struct {
	key   string
	value json.RawMessage
}

// members splits a JSON object into its members, in order. A duplicate name is an error, because
// readers differ in which of the two counts. The values share memory with b.
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
	set      map[string]struct{} // all names, if they are many and unsorted
}

// add adds name and reports whether it was new.
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

// plainText reports whether s is ASCII without a character that must be escaped.
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
