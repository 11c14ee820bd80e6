package safetensors

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep the reference library lets JSON nest, the outermost
// object included.
const maxDepth = 127

// scanner walks JSON text of valid UTF-8. It is as strict as the reference
// library's parser and, unlike encoding/json, shows duplicate members, keeps
// integers of 64 bits exact and builds nothing that its caller does not want.
// The first fault sticks; after it every method returns zero values.
type scanner struct {
	b     []byte
	i     int
	depth int
	err   error
}

func (s *scanner) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("at byte %d: %s", s.i, fmt.Sprintf(format, args...))
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *scanner) peek() byte {
	for s.err == nil && s.i < len(s.b) {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return c
		}
	}
	return 0
}

// take consumes c if it is the next byte that is not white space.
func (s *scanner) take(c byte) bool {
	if s.peek() != c || s.err != nil || s.i >= len(s.b) {
		return false
	}
	s.i++
	return true
}

func (s *scanner) want(c byte) {
	if !s.take(c) {
		s.fail("want %q", c)
	}
}

// end fails unless nothing but white space is left.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.i < len(s.b) {
		s.fail("data after the value")
	}
}

func (s *scanner) enter(open byte) {
	s.want(open)
	if s.depth++; s.depth > maxDepth {
		s.fail("nested deeper than %d", maxDepth)
	}
}

// object calls member for each member, with the scanner before its value.
func (s *scanner) object(member func(name string)) {
	s.enter('{')
	for first := true; s.err == nil && !s.take('}'); first = false {
		if !first {
			s.want(',')
		}
		name := s.text()
		s.want(':')
		if s.err == nil {
			member(name)
		}
	}
	s.depth--
}

// list calls element for each element, with the scanner before it.
func (s *scanner) list(element func(i int)) {
	s.enter('[')
	for i := 0; s.err == nil && !s.take(']'); i++ {
		if i > 0 {
			s.want(',')
		}
		if s.err == nil {
			element(i)
		}
	}
	s.depth--
}

// text reads a string.
func (s *scanner) text() string {
	if !s.take('"') {
		s.fail("want a string")
		return ""
	}
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; {
		case c == '"':
			s.i++
			return string(s.b[start : s.i-1])
		case c == '\\':
			return s.escaped(start)
		case c < ' ':
			s.fail("control character in a string")
			return ""
		}
	}
	s.fail("string without end")
	return ""
}

// escaped reads on in a string that started at start; the next byte is its first
// backslash.
func (s *scanner) escaped(start int) string {
	var out strings.Builder
	out.Write(s.b[start:s.i])
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			return out.String()
		case c < ' ':
			s.fail("control character in a string")
			return ""
		case c != '\\':
			out.WriteByte(c)
		default:
			out.WriteString(s.escape())
			if s.err != nil {
				return ""
			}
		}
	}
	s.fail("string without end")
	return ""
}

// escape reads what follows a backslash.
func (s *scanner) escape() string {
	if s.i >= len(s.b) {
		s.fail("string without end")
		return ""
	}
	c := s.b[s.i]
	s.i++
	if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
		return "\"\\/\b\f\n\r\t"[at : at+1]
	}
	if c != 'u' {
		s.fail("invalid escape")
		return ""
	}
	r := s.hex4()
	switch {
	case r >= 0xdc00 && r < 0xe000:
		s.fail("lone surrogate")
	case r >= 0xd800 && r < 0xdc00:
		if s.i+2 > len(s.b) || s.b[s.i] != '\\' || s.b[s.i+1] != 'u' {
			s.fail("lone surrogate")
			return ""
		}
		s.i += 2
		low := s.hex4()
		if low < 0xdc00 || low >= 0xe000 {
			s.fail("lone surrogate")
		}
		r = 0x10000 + (r-0xd800)<<10 + (low - 0xdc00)
	}
	return string(utf8.AppendRune(nil, r))
}

func (s *scanner) hex4() rune {
	if s.i+4 > len(s.b) {
		s.fail("string without end")
		return 0
	}
	v, err := strconv.ParseUint(string(s.b[s.i:s.i+4]), 16, 16)
	if err != nil {
		s.fail("invalid escape")
		return 0
	}
	s.i += 4
	return rune(v)
}

// number reads a number and returns its text.
func (s *scanner) number() []byte {
	s.peek()
	start := s.i
	digits := func() {
		from := s.i
		for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
			s.i++
		}
		if s.i == from {
			s.fail("invalid number")
		}
	}
	at := func(set string) bool { return s.i < len(s.b) && strings.IndexByte(set, s.b[s.i]) >= 0 }
	if at("-") {
		s.i++
	}
	if at("0") {
		s.i++
	} else {
		digits()
	}
	if at(".") {
		s.i++
		digits()
	}
	exponent := at("eE")
	if exponent {
		if s.i++; at("+-") {
			s.i++
		}
		digits()
	}
	if s.err != nil {
		return nil
	}
	text := s.b[start:s.i]
	if exponent || len(text) > 300 { // others are certainly finite
		if _, err := strconv.ParseFloat(string(text), 64); err != nil {
			s.fail("number out of range")
			return nil
		}
	}
	return text
}

// uint reads an integer of 64 bits without sign, fraction or exponent.
func (s *scanner) uint() uint64 {
	if c := s.peek(); c < '0' || c > '9' {
		s.fail("want an integer of 0 or more")
		return 0
	}
	text := s.number()
	if s.err != nil {
		return 0
	}
	v, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		s.fail("want an integer of 64 bits, got %s", brief(string(text)))
	}
	return v
}

// null consumes null if that is next.
func (s *scanner) null() bool { return s.peek() == 'n' && s.literal("null") }

func (s *scanner) literal(word string) bool {
	if !strings.HasPrefix(string(s.b[s.i:min(len(s.b), s.i+len(word))]), word) {
		s.fail("want a value")
		return false
	}
	s.i += len(word)
	return true
}

// skip checks a value and drops it.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		s.object(func(string) { s.skip() })
	case '[':
		s.list(func(int) { s.skip() })
	case '"':
		s.text()
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		s.number()
	default:
		s.fail("want a value")
	}
}

// brief shortens text from a file for a message.
func brief(s string) string {
	const longest = 64
	if len(s) > longest {
		s = s[:longest] + "…"
	}
	return strconv.Quote(s)
}

// appendString appends s as JSON: only what must be is escaped.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		default:
			if at := strings.IndexByte("\b\f\n\r\t", c); at >= 0 {
				dst = append(dst, '\\', "bfnrt"[at])
			} else {
				dst = fmt.Appendf(dst, `\u%04x`, c)
			}
		}
	}
	return append(dst, '"')
}
