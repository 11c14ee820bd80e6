package serve

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// cursor reads a JSON text from front to back, without a tree of its values. The text is valid
// JSON: readFrame has seen to it. The first mistake is kept in err; from then on every method
// returns a zero value, and more returns false.
type cursor struct {
	b   []byte
	at  int
	err error
}

// fail notes a mistake at the place that the cursor is at.
func (c *cursor) fail(want string) {
	if c.err != nil {
		return
	}
	got := "the end"
	if c.at < len(c.b) {
		rest := c.b[c.at:]
		got = string(bytes.ToValidUTF8(rest[:min(len(rest), 24)], nil))
	}
	c.err = &errs.Error{Kind: errs.Invalid, Subject: "byte " + strconv.Itoa(c.at), Want: want, Got: got}
	c.at = len(c.b)
}

// peek returns the first byte of the next value or the closing bracket, and 0 at the end. Commas
// and colons are where valid JSON has them, so they are skipped like spaces.
func (c *cursor) peek() byte {
	for ; c.at < len(c.b); c.at++ {
		switch b := c.b[c.at]; b {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return b
		}
	}
	return 0
}

// enter goes into an array or object.
func (c *cursor) enter(open byte) {
	if c.peek() != open {
		c.fail(map[byte]string{'[': "an array", '{': "an object"}[open])
		return
	}
	c.at++
}

// more reports whether another value follows. At the end of the array or object it leaves it.
func (c *cursor) more(end byte) bool {
	switch c.peek() {
	case end:
		c.at++
		return false
	case 0:
		c.fail("more")
		return false
	}
	return true
}

// leave leaves an array, in which nothing may follow.
func (c *cursor) leave() {
	if c.peek() != ']' {
		c.fail("the end of the array")
		return
	}
	c.at++
}

// skip passes a value and returns its text.
func (c *cursor) skip() []byte {
	c.peek()
	from, depth := c.at, 0
	for c.at < len(c.b) {
		switch c.b[c.at] {
		case '"':
			c.at = stringEnd(c.b, c.at)
		case '[', '{':
			depth++
			c.at++
		case ']', '}':
			depth--
			c.at++
		case ' ', '\t', '\n', '\r', ',', ':':
			c.at++
			continue
		default:
			c.word()
		}
		if depth <= 0 {
			break
		}
	}
	return c.b[from:c.at]
}

// word passes a number or a literal and returns it.
func (c *cursor) word() []byte {
	from := c.at
	for ; c.at < len(c.b); c.at++ {
		switch c.b[c.at] {
		case ' ', '\t', '\n', '\r', ',', ':', ']', '}', '[', '{', '"':
			return c.b[from:c.at]
		}
	}
	return c.b[from:]
}

// stringEnd returns the place behind the string that begins at from.
func stringEnd(b []byte, from int) int {
	for i := from + 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// text reads a string.
func (c *cursor) text() string {
	if c.peek() != '"' {
		c.fail("a string")
		return ""
	}
	from := c.at
	end := stringEnd(c.b, from)
	raw := c.b[from:end]
	if bytes.IndexByte(raw, '\\') < 0 {
		c.at = end
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil || hasLoneSurrogate(raw, s) {
		c.fail("a string of Unicode")
		return ""
	}
	c.at = end
	return s
}

// hasLoneSurrogate reports whether raw has half of a surrogate pair, which became the replacement
// character in s: two different keys could become one.
func hasLoneSurrogate(raw []byte, s string) bool {
	const replacement = "\uFFFD"
	return strings.Count(s, replacement) >
		bytes.Count(raw, []byte(replacement))+bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
}

// texts reads an array of strings.
func (c *cursor) texts() []string {
	var out []string
	for c.enter('['); c.err == nil && c.more(']'); {
		out = append(out, c.text())
	}
	return out
}

// integer reads an integer of 64 bits.
func (c *cursor) integer() int64 {
	c.peek()
	from := c.at
	n, err := strconv.ParseInt(string(c.word()), 10, 64)
	if err != nil {
		c.at = from
		c.fail("an integer of 64 bits")
		return 0
	}
	return n
}

// extents reads an array of integers that are 0 or above and fit an int. It is never nil.
func (c *cursor) extents() []int {
	out := []int{}
	for c.enter('['); c.err == nil && c.more(']'); {
		n := c.integer()
		if n < 0 || int64(int(n)) != n {
			c.fail("extents of at least 0")
		}
		out = append(out, int(n))
	}
	return out
}

// isNull reports whether null comes next, and passes it.
func (c *cursor) isNull() bool {
	if c.peek() != 'n' {
		return false
	}
	c.word()
	return true
}
