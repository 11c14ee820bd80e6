package lines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// maxDepth is how deep values may nest.
const maxDepth = 1000

// Paths are paths to members of objects.
type Paths struct {
	root node
	n    int
}

// node is an object on a path.
type node struct {
	children map[string]*node
	slot     int // of the value that ends here, or -1
}

// NewPaths returns the given paths. A path is a name, or names with dots between them; a backslash
// makes a dot or a backslash part of a name.
func NewPaths(paths ...string) (*Paths, error) {
	p := &Paths{root: node{slot: -1}, n: len(paths)}
	for i, path := range paths {
		at := &p.root
		for _, name := range splitPath(path) {
			next := at.children[name]
			if next == nil {
				next = &node{slot: -1}
				if at.children == nil {
					at.children = map[string]*node{}
				}
				at.children[name] = next
			}
			at = next
		}
		if at.slot >= 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Op: "lines", Subject: path, Want: "each field once",
				Got: "a field that occurs twice"}
		}
		at.slot = i
	}
	return p, nil
}

func splitPath(path string) (names []string) {
	var name strings.Builder
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '\\' && i+1 < len(path) && (path[i+1] == '.' || path[i+1] == '\\'):
			i++
			name.WriteByte(path[i])
		case c == '.':
			names = append(names, name.String())
			name.Reset()
		default:
			name.WriteByte(c)
		}
	}
	return append(names, name.String())
}

// Parse checks a line and appends to list the value at each path. Values share the memory of the
// line. A line that is not an object is an error of kind errs.Corrupt.
func (p *Paths) Parse(line []byte, list []Value) ([]Value, error) {
	from := len(list)
	for range p.n {
		list = append(list, Value{})
	}
	s := parser{b: line, out: list[from:]}
	s.space()
	if s.peek() != '{' {
		return nil, s.bad("an object, which begins with {")
	}
	if err := s.object(&p.root, 0); err != nil {
		return nil, err
	}
	if s.space(); s.at < len(line) {
		return nil, s.bad("the end of the line after the object")
	}
	return list, nil
}

// Members returns the names of the members of an object, in their order, and their values.
func Members(line []byte) (names []string, values []Value, err error) {
	s := parser{b: line}
	s.space()
	if s.peek() != '{' {
		return nil, nil, s.bad("an object, which begins with {")
	}
	err = s.members(0, func(name []byte) error {
		begin := s.at
		kind, err := s.skip(1)
		names, values = append(names, string(name)), append(values, Value{Kind: kind, Raw: line[begin:s.at]})
		return err
	})
	if err == nil {
		if s.space(); s.at < len(line) {
			err = s.bad("the end of the line after the object")
		}
	}
	return names, values, err
}

// parser walks JSON.
type parser struct {
	b   []byte
	at  int
	out []Value
	key []byte // of the current member, if it has escapes
}

func (s *parser) peek() byte {
	if s.at < len(s.b) {
		return s.b[s.at]
	}
	return 0
}

func (s *parser) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *parser) bad(want string) error {
	got := "the end"
	if s.at < len(s.b) {
		got = brief(s.b[s.at:])
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("byte %d of the line", s.at), Want: want,
		Got: got}
}

// members walks an object. It calls each at the value of each member, which each must walk.
func (s *parser) members(depth int, each func(name []byte) error) error {
	if depth > maxDepth {
		return &errs.Error{Kind: errs.Unsupported, Op: "lines", Want: fmt.Sprintf("values that nest at most %d levels deep",
			maxDepth), Got: "deeper ones"}
	}
	s.at++ // the brace
	for first := true; ; first = false {
		s.space()
		if s.peek() == '}' && first {
			break
		}
		if s.peek() != '"' {
			return s.bad("a name in quotes")
		}
		begin := s.at
		escaped, err := s.text()
		if err != nil {
			return err
		}
		name := s.b[begin+1 : s.at-1]
		if escaped {
			if name, err = appendUnquoted(s.key[:0], s.b[begin:s.at]); err != nil {
				return err
			}
			s.key = name
		}
		if s.space(); s.peek() != ':' {
			return s.bad("a colon after the name")
		}
		s.at++
		s.space()
		if err := each(name); err != nil {
			return err
		}
		if s.space(); s.peek() == '}' {
			break
		}
		if s.peek() != ',' {
			return s.bad("a comma or } after a value")
		}
		s.at++
	}
	s.at++
	return nil
}

// object walks an object on a path.
func (s *parser) object(n *node, depth int) error {
	return s.members(depth, func(name []byte) error {
		child := n.children[string(name)]
		if child == nil {
			_, err := s.skip(depth + 1)
			return err
		}
		child.set(s.out, Missing) // of two members with one name the last counts
		begin := s.at
		kind := Object
		var err error
		if s.peek() == '{' && child.children != nil {
			err = s.object(child, depth+1)
		} else if kind, err = s.skip(depth + 1); kind != Null && kind != Object {
			for _, below := range child.children {
				below.set(s.out, Within)
			}
		}
		if child.slot >= 0 {
			s.out[child.slot] = Value{Kind: kind, Raw: s.b[begin:s.at]}
		}
		return err
	})
}

// set sets the values of all paths that go through n.
func (n *node) set(out []Value, kind Kind) {
	if n.slot >= 0 {
		out[n.slot] = Value{Kind: kind}
	}
	for _, child := range n.children {
		child.set(out, kind)
	}
}

// skip walks any value.
func (s *parser) skip(depth int) (Kind, error) {
	switch c := s.peek(); {
	case c == '"':
		_, err := s.text()
		return Text, err
	case c == '{':
		return Object, s.members(depth, func([]byte) error { _, err := s.skip(depth + 1); return err })
	case c == '[':
		return List, s.list(depth)
	case s.word("true"), s.word("false"):
		return Bool, nil
	case s.word("null"):
		return Null, nil
	case s.word("NaN"), s.word("Infinity"), s.word("-Infinity"):
		return Number, nil
	case c == '-' || c >= '0' && c <= '9':
		return Number, s.number()
	}
	return Missing, s.bad("a value")
}

func (s *parser) word(w string) bool {
	if !bytes.HasPrefix(s.b[s.at:], []byte(w)) {
		return false
	}
	s.at += len(w)
	return true
}

func (s *parser) list(depth int) error {
	if depth > maxDepth {
		return &errs.Error{Kind: errs.Unsupported, Op: "lines", Want: fmt.Sprintf("values that nest at most %d levels deep",
			maxDepth), Got: "deeper ones"}
	}
	s.at++ // the bracket
	for first := true; ; first = false {
		if s.space(); s.peek() == ']' && first {
			break
		}
		if _, err := s.skip(depth + 1); err != nil {
			return err
		}
		if s.space(); s.peek() == ']' {
			break
		}
		if s.peek() != ',' {
			return s.bad("a comma or ] after a value")
		}
		s.at++
	}
	s.at++
	return nil
}

// number walks a number.
func (s *parser) number() error {
	digits := func() bool {
		from := s.at
		for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
			s.at++
		}
		return s.at > from
	}
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if !digits() {
		return s.bad("a digit")
	}
	if s.peek() == '.' {
		if s.at++; !digits() {
			return s.bad("a digit after the point")
		}
	}
	if s.peek()|0x20 == 'e' {
		if s.at++; s.peek() == '+' || s.peek() == '-' {
			s.at++
		}
		if !digits() {
			return s.bad("a digit of the exponent")
		}
	}
	return nil
}

// text walks a text and reports whether it has escapes. Their form is checked.
func (s *parser) text() (escaped bool, err error) {
	s.at++
	if n := bytes.IndexByte(s.b[s.at:], '"'); n >= 0 && plain(s.b[s.at:s.at+n]) {
		s.at += n + 1
		return false, nil
	}
	for ; s.at < len(s.b); s.at++ {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return escaped, nil
		case c < 0x20:
			return false, s.bad("no control character within a text")
		case c == '\\':
			escaped = true
			if s.at++; s.at >= len(s.b) {
				return false, s.bad("an escape")
			}
			switch s.b[s.at] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := hex4(s.b[s.at+1:]); !ok {
					return false, s.bad("u and 4 digits of base 16")
				}
				s.at += 4
			default:
				return false, s.bad(`one of " \ / b f n r t u after a backslash`)
			}
		}
	}
	return false, s.bad("the closing quote")
}

// plain reports whether a text has no escape and no control character.
func plain(b []byte) bool {
	if bytes.IndexByte(b, '\\') >= 0 {
		return false
	}
	const ones = 0x0101010101010101
	for ; len(b) >= 8; b = b[8:] {
		if v := binary.LittleEndian.Uint64(b); (v-0x20*ones)&^v&(0x80*ones) != 0 { // a byte is below 0x20
			return false
		}
	}
	for _, c := range b {
		if c < 0x20 {
			return false
		}
	}
	return true
}

// hex4 returns the number that 4 digits of base 16 are.
func hex4(b []byte) (v rune, ok bool) {
	if len(b) < 4 {
		return 0, false
	}
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			v = v<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// appendUnquoted appends the bytes of a text that was checked.
func appendUnquoted(dst, raw []byte) ([]byte, error) {
	for raw = raw[1 : len(raw)-1]; ; {
		n := bytes.IndexByte(raw, '\\')
		if n < 0 {
			return append(dst, raw...), nil
		}
		dst = append(dst, raw[:n]...)
		c := raw[n+1]
		raw = raw[n+2:]
		if c != 'u' {
			dst = append(dst, escapes[c])
			continue
		}
		r, _ := hex4(raw)
		raw = raw[4:]
		if utf16.IsSurrogate(r) {
			var low rune
			if bytes.HasPrefix(raw, []byte(`\u`)) {
				low, _ = hex4(raw[2:])
			}
			pair := utf16.DecodeRune(r, low)
			if pair == utf8.RuneError {
				return dst, &errs.Error{Kind: errs.Invalid, Want: "characters of Unicode",
					Got:    fmt.Sprintf(`\u%04x, half of a pair`, r),
					Remedy: "write the text in UTF-8"}
			}
			r, raw = pair, raw[6:]
		}
		dst = utf8.AppendRune(dst, r)
	}
}

// CheckText returns an error of kind errs.Corrupt for a line that is not UTF-8 or has a NUL.
func CheckText(line []byte) error {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		return &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("byte %d of the line", at), Want: "text",
			Got:    "a NUL",
			Remedy: "the file was cut or is not text"}
	}
	if utf8.Valid(line) {
		return nil
	}
	at := 0
	for at < len(line) {
		r, n := utf8.DecodeRune(line[at:])
		if r == utf8.RuneError && n <= 1 {
			break
		}
		at += n
	}
	return &errs.Error{Kind: errs.Corrupt, Op: "lines", Subject: fmt.Sprintf("byte %d of the line", at),
		Want: "text in UTF-8",
		Got:  fmt.Sprintf("% x", line[at:min(at+4, len(line))]), Remedy: "convert the file to UTF-8"}
}
