// Package jsonstream reads JSON from a stream, value by value, without a tree of it.
//
// A [Scanner] holds a window of the text, which grows to the longest string or number. It accepts
// what encoding/json accepts. Errors are of kind errs.Corrupt and name the offset.
package jsonstream

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

const (
	window   = 64 << 10
	maxDepth = 1000
)

// Kind is the kind of a value: its first character, and '0' for numbers.
type Kind byte

// The kinds of values.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
	None   Kind = 0 // no value begins here
)

var kindNames = map[Kind]string{Object: "an object", Array: "a list", String: "a string", Number: "a number",
	True: "true", False: "false", Null: "null"}

// String returns the kind in words.
func (k Kind) String() string {
	if s, ok := kindNames[k]; ok {
		return s
	}
	return "no value"
}

// Scanner reads values. After an error every method returns an error.
type Scanner struct {
	r        io.Reader
	buf      []byte
	pos, end int
	base     int64 // offset of buf[0] in the text
	ended    error // what the reader returned
	depth    int
	taken    bool // a value was read since an element began
	text     []byte
}

// New returns a Scanner of what r has.
func New(r io.Reader) *Scanner { return &Scanner{r: r, buf: make([]byte, window)} }

// Offset returns the offset of the next byte in the text.
func (s *Scanner) Offset() int64 { return s.base + int64(s.pos) }

// more reads on. What lies before keep is dropped; it returns where keep is then. ok is false if
// the text has ended.
func (s *Scanner) more(keep int) (at int, ok bool) {
	if s.ended != nil {
		return keep, false
	}
	if keep > 0 {
		copy(s.buf, s.buf[keep:s.end])
		s.base += int64(keep)
		s.pos, s.end = s.pos-keep, s.end-keep
	}
	if s.end == len(s.buf) {
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.r.Read(s.buf[s.end:])
		s.end += n
		s.ended = err
		if n > 0 || err != nil {
			return 0, n > 0
		}
	}
	s.ended = io.ErrNoProgress
	return 0, false
}

// space skips white space and returns the next byte, or 0 at the end.
func (s *Scanner) space() byte {
	for {
		for s.pos < s.end {
			c := s.buf[s.pos]
			if c > ' ' || c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				return c
			}
			s.pos++
		}
		if _, ok := s.more(s.pos); !ok {
			return 0
		}
	}
}

// fail returns an error at the next byte.
func (s *Scanner) fail(want string) error {
	if s.ended != nil && s.ended != io.EOF && s.pos == s.end {
		return s.ended
	}
	got := "the end of the text"
	if s.pos < s.end {
		got = fmt.Sprintf("%q", s.buf[s.pos:min(s.end, s.pos+16)])
	}
	s.ended = &errs.Error{Kind: errs.Corrupt, Op: "json", Subject: fmt.Sprintf("offset %d", s.Offset()), Want: want,
		Got: got}
	s.base, s.pos, s.end = s.Offset(), 0, 0
	return s.ended
}

// Kind returns the kind of the next value and does not read it.
func (s *Scanner) Kind() Kind {
	switch c := s.space(); {
	case c == '-' || c >= '0' && c <= '9':
		return Number
	case c == '{', c == '[', c == '"', c == 't', c == 'f', c == 'n':
		return Kind(c)
	}
	return None
}

// Object reads an object. It calls f for each member, which reads the value or leaves it. key is
// valid until f reads.
func (s *Scanner) Object(f func(key []byte) error) error {
	if s.space() != '{' {
		return s.fail("an object")
	}
	return s.list('}', func() error {
		if s.space() != '"' {
			return s.fail("a key")
		}
		key, err := s.String()
		if err != nil {
			return err
		}
		if s.pos == s.end || s.buf[s.pos] != ':' { // the rare case, in which key could move
			s.text = append(s.text[:0], key...)
			key = s.text
			if s.space() != ':' {
				return s.fail("a colon")
			}
		}
		s.pos++
		s.taken = false
		if err := f(key); err != nil {
			return err
		}
		if !s.taken {
			return s.Skip()
		}
		return nil
	})
}

// Array reads a list. It calls f for each element, which reads it or leaves it.
func (s *Scanner) Array(f func() error) error {
	if s.space() != '[' {
		return s.fail("a list")
	}
	return s.list(']', func() error {
		s.taken = false
		if err := f(); err != nil {
			return err
		}
		if !s.taken {
			return s.Skip()
		}
		return nil
	})
}

// list reads elements up to the closing bracket.
func (s *Scanner) list(closing byte, element func() error) error {
	if s.depth++; s.depth > maxDepth {
		return s.fail(fmt.Sprintf("at most %d levels", maxDepth))
	}
	s.pos++
	for first := true; ; first = false {
		c := s.space()
		switch {
		case c == closing:
			s.pos++
			s.depth--
			s.taken = true
			return nil
		case c == ',' && !first:
			s.pos++
			s.space()
		case !first:
			return s.fail("a comma or " + string(closing))
		}
		if err := element(); err != nil {
			return err
		}
	}
}

// Skip reads a value of any kind.
func (s *Scanner) Skip() error {
	switch s.Kind() {
	case Object:
		return s.Object(func([]byte) error { return nil })
	case Array:
		return s.Array(func() error { return nil })
	case String:
		_, err := s.String()
		return err
	case Number:
		if _, ok := s.quick(); ok {
			return nil
		}
		_, err := s.number()
		return err
	case True, False:
		_, err := s.Bool()
		return err
	}
	return s.Null()
}

// Bool reads true or false.
func (s *Scanner) Bool() (bool, error) {
	if s.space() == 't' {
		return true, s.word("true")
	}
	return false, s.word("false")
}

// Null reads null.
func (s *Scanner) Null() error { return s.word("null") }

func (s *Scanner) word(w string) error {
	s.space()
	for s.end-s.pos < len(w) {
		if _, ok := s.more(s.pos); !ok {
			return s.fail(w)
		}
	}
	if string(s.buf[s.pos:s.pos+len(w)]) != w {
		if w == "null" {
			return s.fail("a value")
		}
		return s.fail(w)
	}
	s.pos += len(w)
	s.taken = true
	return nil
}

// String reads a string. The bytes are valid until the next read. Bytes that are not UTF-8 stay as
// they are.
func (s *Scanner) String() ([]byte, error) {
	if s.space() != '"' {
		return nil, s.fail("a string")
	}
	s.taken = true
	start := s.pos + 1
	for i := start; ; {
		for i < s.end && plain[s.buf[i]] {
			i++
		}
		if i < s.end {
			switch s.buf[i] {
			case '"':
				s.pos = i + 1
				return s.buf[start:i], nil
			case '\\':
				return s.escaped(start, i)
			}
			s.pos = i
			return nil, s.fail("a character that strings may have")
		}
		length := i - start
		var ok bool
		if start, ok = s.more(start); !ok {
			s.pos = s.end
			return nil, s.fail("the end of a string")
		}
		i = start + length
	}
}

// plain are the bytes that stand for themselves in strings.
var plain = func() (t [256]bool) {
	for c := ' '; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// escaped reads the rest of a string whose first escape is at i.
func (s *Scanner) escaped(start, i int) ([]byte, error) {
	text := append(s.text[:0], s.buf[start:i]...)
	for s.pos = i; ; {
		if s.pos == s.end {
			if _, ok := s.more(s.pos); !ok {
				return nil, s.fail("the end of a string")
			}
		}
		switch c := s.buf[s.pos]; {
		case c == '"':
			s.pos++
			s.text = text
			return text, nil
		case c < ' ':
			return nil, s.fail("a character that strings may have")
		case c != '\\':
			text = append(text, c)
			s.pos++
		default:
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			text = utf8.AppendRune(text, r)
		}
	}
}

// need makes sure that n bytes lie in the window.
func (s *Scanner) need(n int) bool {
	for s.end-s.pos < n {
		if _, ok := s.more(s.pos); !ok {
			return false
		}
	}
	return true
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape reads an escape.
func (s *Scanner) escape() (rune, error) {
	if !s.need(2) {
		return 0, s.fail("an escape")
	}
	c := s.buf[s.pos+1]
	if c != 'u' {
		if escapes[c] == 0 {
			return 0, s.fail("an escape")
		}
		s.pos += 2
		return rune(escapes[c]), nil
	}
	r, ok := s.hex()
	if !ok {
		return 0, s.fail("an escape")
	}
	s.pos += 6
	if utf16.IsSurrogate(r) {
		if low, ok := s.hex(); ok {
			if full := utf16.DecodeRune(r, low); full != utf8.RuneError {
				s.pos += 6
				return full, nil
			}
		}
		return utf8.RuneError, nil
	}
	return r, nil
}

// hex returns the number of an escape \uXXXX that comes next.
func (s *Scanner) hex() (rune, bool) {
	if !s.need(6) || s.buf[s.pos] != '\\' || s.buf[s.pos+1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range s.buf[s.pos+2 : s.pos+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// number reads a number and returns its text, which is valid until the next read.
func (s *Scanner) number() ([]byte, error) {
	s.space()
	start, i := s.pos, s.pos
	for {
		for i < s.end && numeric[s.buf[i]] {
			i++
		}
		if i < s.end {
			break
		}
		length := i - start
		var ok bool
		if start, ok = s.more(start); !ok {
			start, i = s.end-length, s.end
			break
		}
		i = start + length
	}
	if b := s.buf[start:i]; isNumber(b) {
		s.pos = i
		s.taken = true
		return b, nil
	}
	s.pos = start
	return nil, s.fail("a number")
}

var numeric = [256]bool{'0': true, '1': true, '2': true, '3': true, '4': true, '5': true, '6': true, '7': true,
	'8': true, '9': true,
	'-': true, '+': true, '.': true, 'e': true, 'E': true}

// digits returns how many digits b begins with.
func digits(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	return n
}

func isNumber(b []byte) bool {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	n := digits(b)
	if n == 0 || n > 1 && b[0] == '0' {
		return false
	}
	if b = b[n:]; len(b) > 0 && b[0] == '.' {
		if n = digits(b[1:]); n == 0 {
			return false
		}
		b = b[1+n:]
	}
	if len(b) == 0 {
		return true
	}
	if b[0] != 'e' && b[0] != 'E' {
		return false
	}
	if b = b[1:]; len(b) > 0 && (b[0] == '+' || b[0] == '-') {
		b = b[1:]
	}
	return len(b) > 0 && digits(b) == len(b)
}

// powers are the powers of ten that a float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// Float reads a number. One that is too large for a float64 is refused.
func (s *Scanner) Float() (float64, error) {
	s.space()
	if v, ok := s.quick(); ok {
		return v, nil
	}
	b, err := s.number()
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(text(b), 64)
	if err != nil || math.IsInf(v, 0) {
		s.pos -= len(b)
		return 0, s.fail("a number that a float64 holds")
	}
	return v, nil
}

// quick reads a number of up to 15 digits without exponent that lies in the window with the byte
// behind it, or nothing. Such digits and their power of ten are exact, and so the quotient is
// rounded once.
func (s *Scanner) quick() (float64, bool) {
	b := s.buf[s.pos:s.end]
	i, n, places := 0, uint64(0), 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i++
	}
	first := i
	for i < len(b) && b[i]-'0' < 10 {
		n = n*10 + uint64(b[i]-'0')
		i++
	}
	count := i - first
	if count == 0 || count > 15 || count > 1 && b[first] == '0' {
		return 0, false
	}
	if i < len(b) && b[i] == '.' {
		point := i
		for i++; i < len(b) && b[i]-'0' < 10; i++ {
			n = n*10 + uint64(b[i]-'0')
		}
		if places = i - point - 1; places == 0 || count+places > 15 {
			return 0, false
		}
	}
	if i == len(b) || numeric[b[i]] {
		return 0, false
	}
	s.pos += i
	s.taken = true
	v := float64(n)
	if places > 0 {
		v /= powers[places]
	}
	if negative {
		v = -v
	}
	return v, true
}

// text returns bytes as a string that lives as long as they do.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// End checks that nothing but white space follows.
func (s *Scanner) End() error {
	if s.space() != 0 || s.pos < s.end || s.ended != io.EOF {
		return s.fail("the end of the text")
	}
	return nil
}
