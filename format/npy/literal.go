package npy

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is the type of a Python literal.
type kind uint8

const (
	kindNone kind = iota
	kindBool
	kindInt
	kindNumber // float or complex: never wanted
	kindStr
	kindBytes
	kindTuple
	kindList
	kindDict // items: key, value, key, value …
)

// literal is the value of a Python literal.
type literal struct {
	kind  kind
	text  string // str and bytes
	int   *big.Int
	truth bool
	items []literal
}

// maxNesting bounds brackets inside of brackets, as Python's tokenizer does.
const maxNesting = 200

// literals parses Python literals. The first fault sticks.
type literals struct {
	s     string
	i     int
	depth int  // open brackets: inside of them a newline is white space
	long  bool // integers may end in L
	err   error
}

// parseLiteral parses the one literal that s consists of; long accepts the
// integers of Python 2.
func parseLiteral(s string, long bool) (literal, error) {
	p := &literals{s: strings.TrimLeft(s, " \t"), long: long}
	p.firstLine()
	v := p.value()
	behind := p.i
	for p.space(); p.peek() == '\n' || p.peek() == '\r'; p.space() {
		p.i++
		behind = p.i
	}
	// Python takes blanks in a last line without end for an indent; numpy repairs
	// that where it looks for an L, too.
	if last := p.s[min(behind, len(p.s)):]; !long && behind > 0 && last != "" && strings.Trim(last, " \t") == "" && strings.ContainsAny(p.s[behind-1:behind], "\r\n") {
		p.fail("unexpected indent")
	}
	if p.err == nil && p.i < len(p.s) {
		p.fail("data after the value")
	}
	return v, p.err
}

func (p *literals) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("at character %d: %s", p.i, fmt.Sprintf(format, args...))
	}
}

// peek returns the next byte, 0 at the end and after a fault.
func (p *literals) peek() byte {
	if p.err != nil || p.i >= len(p.s) {
		return 0
	}
	return p.s[p.i]
}

// take skips white space and consumes c if that is next.
func (p *literals) take(c byte) bool {
	p.space()
	if p.peek() != c {
		return false
	}
	p.i++
	return true
}

// space skips white space and comments; inside of brackets newlines, too.
func (p *literals) space() {
	for {
		switch c := p.peek(); {
		case c == ' ' || c == '\t' || c == '\f', p.depth > 0 && (c == '\n' || c == '\r'):
			p.i++
		case c == '\\' && p.newline(p.i+1) > 0 && p.i+1+p.newline(p.i+1) < len(p.s):
			p.i += 1 + p.newline(p.i+1)
		case c == '#':
			if n := strings.IndexAny(p.s[p.i:], "\r\n"); n >= 0 {
				p.i += n
			} else {
				p.i = len(p.s)
			}
		default:
			return
		}
	}
}

// newline returns the length of the line end at i, or 0 if there is no line end.
func (p *literals) newline(i int) int {
	switch {
	case strings.HasPrefix(p.s[i:], "\r\n"):
		return 2
	case strings.HasPrefix(p.s[i:], "\n"), strings.HasPrefix(p.s[i:], "\r"):
		return 1
	}
	return 0
}

// firstLine skips lines with nothing but white space and comments, and fails
// where the first other line is indented. A form feed starts a line afresh.
func (p *literals) firstLine() {
	start := p.i
	for p.space(); p.peek() == '\n' || p.peek() == '\r'; p.space() {
		p.i++
		start = p.i
	}
	indent := p.s[start:p.i]
	if strings.ContainsAny(indent[strings.LastIndexByte(indent, '\f')+1:], " \t") {
		p.fail("unexpected indent")
	}
}

func (p *literals) value() literal {
	p.space()
	switch c := p.peek(); {
	case c == '(':
		items, comma := p.sequence(')')
		if len(items) == 1 && !comma {
			return items[0]
		}
		return literal{kind: kindTuple, items: items}
	case c == '[':
		items, _ := p.sequence(']')
		return literal{kind: kindList, items: items}
	case c == '{':
		return p.dict()
	case c == '-' || c == '+':
		return p.signed()
	case isDigit(c) || c == '.':
		return p.number()
	case c == '\'' || c == '"':
		return p.text("")
	}
	word := p.word()
	if c := p.peek(); c == '\'' || c == '"' {
		return p.text(word)
	}
	switch word {
	case "True", "False":
		return literal{kind: kindBool, truth: word == "True"}
	case "None":
		return literal{}
	}
	p.fail("want a literal")
	return literal{}
}

// word takes an identifier.
func (p *literals) word() string {
	start := p.i
	for isWord(p.peek()) {
		p.i++
	}
	return p.s[start:p.i]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c >= utf8.RuneSelf
}

// bracket consumes an opening bracket; the result undoes the nesting.
func (p *literals) bracket() func() {
	p.i++
	if p.depth++; p.depth > maxNesting {
		p.fail("nested deeper than %d", maxNesting)
	}
	return func() { p.depth-- }
}

// sequence reads values up to the closing bracket; the next byte is the opening
// one. comma tells whether a comma follows the last value.
func (p *literals) sequence(closing byte) (items []literal, comma bool) {
	defer p.bracket()()
	for p.err == nil && !p.take(closing) {
		items = append(items, p.value())
		if comma = p.take(','); !comma {
			if !p.take(closing) {
				p.fail("want ',' or %q", closing)
			}
			break
		}
	}
	return items, comma
}

func (p *literals) dict() literal {
	defer p.bracket()()
	d := literal{kind: kindDict}
	for p.err == nil && !p.take('}') {
		key := p.value()
		if !p.take(':') {
			p.fail("want ':'")
		}
		d.items = append(d.items, key, p.value())
		if !p.take(',') {
			if !p.take('}') {
				p.fail("want ',' or '}'")
			}
			break
		}
	}
	return d
}

// signed reads a sign and a number.
func (p *literals) signed() literal {
	negative := p.peek() == '-'
	p.i++
	p.space()
	if c := p.peek(); !isDigit(c) && c != '.' {
		p.fail("want a number behind the sign")
		return literal{}
	}
	v := p.number()
	if negative && v.kind == kindInt {
		v.int.Neg(v.int)
	}
	return v
}

// number reads an integer; of other numbers it notes only that they are there.
func (p *literals) number() literal {
	start := p.i
	for c := p.peek(); isWord(c) || c == '.'; c = p.peek() {
		p.i++
		if next := p.peek(); (next == '+' || next == '-') && (c == 'e' || c == 'E') && !strings.HasPrefix(p.s[start:], "0x") {
			p.i++
		}
	}
	word := p.s[start:p.i]
	if p.long {
		if whole, found := strings.CutSuffix(word, "L"); found {
			word = whole
		} else if at := p.i; p.spaceThen("L") {
			p.i++
		} else {
			p.i = at
		}
	}
	return p.toNumber(word)
}

// spaceThen skips white space and reports whether the name w follows.
func (p *literals) spaceThen(w string) bool {
	p.space()
	rest := p.s[p.i:]
	return p.err == nil && strings.HasPrefix(rest, w) && (len(rest) == len(w) || !isWord(rest[len(w)]) && rest[len(w)] != '\'' && rest[len(w)] != '"')
}

func (p *literals) toNumber(word string) literal {
	// Base 0 has Python's rules for prefixes and underscores, but takes 010 for
	// octal where Python refuses it. No line of a header is too long for it.
	octal := len(word) > 1 && word[0] == '0' && (isDigit(word[1]) || word[1] == '_')
	if octal && strings.Trim(word, "0_") == "" && !strings.HasSuffix(word, "_") && !strings.Contains(word, "__") {
		return literal{kind: kindInt, int: new(big.Int)}
	}
	if n, ok := new(big.Int).SetString(word, 0); ok && !octal {
		return literal{kind: kindInt, int: n}
	}
	real, _ := strings.CutSuffix(strings.ToLower(word), "j")
	if _, err := strconv.ParseFloat(strings.ReplaceAll(real, "_", ""), 64); isDigit(word[0]) || len(word) > 1 {
		if (err == nil || strings.Contains(err.Error(), "range")) && strings.ContainsAny(word, ".eEjJ") {
			return literal{kind: kindNumber}
		}
	}
	p.fail("want a number, got %s", brief(word))
	return literal{}
}

// text reads one string literal or several in a row; prefix is what stood before
// the first quote.
func (p *literals) text(prefix string) literal {
	v := literal{kind: kindNone}
	var out strings.Builder
	for {
		k, raw := kindStr, false
		switch strings.ToLower(prefix) {
		case "", "u":
		case "r":
			raw = true
		case "b":
			k = kindBytes
		case "br", "rb":
			k, raw = kindBytes, true
		default:
			p.fail("string prefix %s", brief(prefix))
		}
		if v.kind != kindNone && v.kind != k {
			p.fail("bytes beside text")
		}
		v.kind = k
		p.quoted(&out, k, raw)
		at := p.i
		p.space()
		start := p.i
		prefix = p.word()
		if c := p.peek(); c != '\'' && c != '"' {
			if p.err == nil {
				p.i = at
				if start == at && p.i < len(p.s) && isWord(p.s[p.i]) {
					p.fail("data behind a string")
				}
			}
			v.text = out.String()
			return v
		}
	}
}

// quoted reads what is between quotes, single or triple.
func (p *literals) quoted(out *strings.Builder, k kind, raw bool) {
	quote := p.s[p.i:min(p.i+1, len(p.s))]
	if strings.HasPrefix(p.s[p.i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	p.i += len(quote)
	for p.err == nil && p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case strings.HasPrefix(p.s[p.i:], quote):
			p.i += len(quote)
			return
		case len(quote) == 1 && p.newline(p.i) > 0:
			p.fail("newline in a string")
			return
		case k == kindBytes && c >= utf8.RuneSelf:
			p.fail("bytes that are not ASCII")
			return
		case c == '\\' && raw && p.i+1 < len(p.s):
			out.WriteString(p.s[p.i : p.i+2])
			p.i += 2
		case c == '\\' && !raw:
			p.i++
			p.escape(out, k)
		default:
			out.WriteByte(c)
			p.i++
		}
	}
	p.fail("string without end")
}

// escape reads what follows a backslash.
func (p *literals) escape(out *strings.Builder, k kind) {
	if n := p.newline(p.i); n > 0 {
		p.i += n
		return
	}
	c := p.peek()
	p.i++
	if at := strings.IndexByte(`\'"abfnrtv`, c); at >= 0 {
		out.WriteByte("\\'\"\a\b\f\n\r\t\v"[at])
		return
	}
	digits := func(n, base int) {
		v, err := strconv.ParseUint(p.s[min(p.i, len(p.s)):min(p.i+n, len(p.s))], base, 32)
		if err != nil || p.i+n > len(p.s) || v > utf8.MaxRune {
			p.fail("invalid escape")
		}
		out.WriteRune(rune(v))
		p.i += n
	}
	switch {
	case c >= '0' && c <= '7':
		n := 1
		for p.i--; n < 3 && p.i+n < len(p.s) && p.s[p.i+n] >= '0' && p.s[p.i+n] <= '7'; n++ {
		}
		digits(n, 8)
	case c == 'x':
		digits(2, 16)
	case c == 'u' && k == kindStr:
		digits(4, 16)
	case c == 'U' && k == kindStr:
		digits(8, 16)
	case c == 'N' && k == kindStr:
		p.fail(`escapes \N are not supported`)
	default: // is no escape: both characters stand for themselves
		out.WriteByte('\\')
		p.i--
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
