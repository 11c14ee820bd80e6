package tokenizer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// pattern is a regular expression in the syntax of Oniguruma: the part of it that the patterns of
// tokenizers use. It is matched by backtracking.
type pattern struct {
	root node
	text string
}

// node is a part of a pattern. match calls next with the end of each match of the node at a place,
// in the order of preference, until next returns true.
type node interface {
	match(s *subject, at int, next func(at int) bool) bool
}

// subject is a text that is searched, and how many steps the search may still take.
type subject struct {
	text string
	left int
}

// tooLong is the value of the panic when a search takes too many steps. Encode makes an error of
// it.
type tooLong struct{ pattern string }

// step counts a step.
func (s *subject) step() {
	if s.left--; s.left < 0 {
		panic(tooLong{})
	}
}

type (
	set struct { // one character
		has func(r rune) bool
		low [2]uint64 // those below 128
	}
	sequence []node
	choice   []node
	repeat   struct {
		node             node
		least, most      int // most < 0: no limit
		lazy, possessive bool
	}
	look struct { // looks ahead
		node node
		not  bool
	}
	behind struct { // looks at the character before
		has func(r rune) bool
		not bool
	}
	begin struct{} // of the text
	end   struct{} // of the text
)

// newSet returns the set of the characters that has accepts.
func newSet(has func(r rune) bool) *set {
	n := &set{has: has}
	for r := range rune(128) {
		if has(r) {
			n.low[r/64] |= 1 << (r % 64)
		}
	}
	return n
}

// size returns the length of the character at a place if it is in the set, or 0.
func (n *set) size(s *subject, at int) int {
	s.step()
	if at == len(s.text) {
		return 0
	}
	if c := s.text[at]; c < 128 {
		return int(n.low[c/64] >> (c % 64) & 1)
	}
	r, size := utf8.DecodeRuneInString(s.text[at:])
	if !n.has(r) {
		return 0
	}
	return size
}

func (n *set) match(s *subject, at int, next func(int) bool) bool {
	size := n.size(s, at)
	return size > 0 && next(at+size)
}

func (n sequence) match(s *subject, at int, next func(int) bool) bool {
	for ; len(n) > 1; n = n[1:] {
		one, ok := n[0].(*set)
		if !ok { // what follows is tried behind each match
			rest := n[1:]
			return n[0].match(s, at, func(at int) bool { return rest.match(s, at, next) })
		}
		size := one.size(s, at)
		if size == 0 {
			return false
		}
		at += size
	}
	if len(n) == 0 {
		return next(at)
	}
	return n[0].match(s, at, next)
}

func (n choice) match(s *subject, at int, next func(int) bool) bool {
	for _, c := range n {
		if c.match(s, at, next) {
			return true
		}
	}
	return false
}

func (n look) match(s *subject, at int, next func(int) bool) bool {
	return n.node.match(s, at, func(int) bool { return true }) != n.not && next(at)
}

func (n behind) match(s *subject, at int, next func(int) bool) bool {
	r, size := utf8.DecodeLastRuneInString(s.text[:at])
	return (size > 0 && n.has(r)) != n.not && next(at)
}

func (begin) match(_ *subject, at int, next func(int) bool) bool { return at == 0 && next(at) }
func (end) match(s *subject, at int, next func(int) bool) bool   { return at == len(s.text) && next(at) }

func (n repeat) match(s *subject, at int, next func(int) bool) bool {
	if one, ok := n.node.(*set); ok && !n.lazy {
		return n.run(one, s, at, next)
	}
	if n.possessive {
		end, ok := at, false
		greedy := repeat{node: n.node, least: n.least, most: n.most}
		ok = greedy.match(s, at, func(at int) bool { end = at; return true })
		return ok && next(end)
	}
	return n.from(s, at, 0, next)
}

// run repeats a set without recursion.
func (n repeat) run(one *set, s *subject, at int, next func(int) bool) bool {
	end, count := at, 0
	for count != n.most {
		size := one.size(s, end)
		if size == 0 {
			break
		}
		end += size
		count++
	}
	for ; count >= n.least; count-- {
		if next(end) {
			return true
		}
		if n.possessive || count == n.least {
			return false
		}
		_, size := utf8.DecodeLastRuneInString(s.text[:end])
		end -= size
	}
	return false
}

func (n repeat) from(s *subject, at, count int, next func(int) bool) bool {
	s.step()
	more := func() bool {
		return count != n.most && n.node.match(s, at, func(end int) bool {
			return (end > at || count < n.least) && n.from(s, end, count+1, next)
		})
	}
	switch {
	case count < n.least:
		return more()
	case n.lazy:
		return next(at) || more()
	}
	return more() || next(at)
}

// each calls f for all matches, from left to right, without overlap.
func (p *pattern) each(s string, f func(start, end int)) {
	subject := &subject{text: s, left: 1<<20 + 1<<10*len(s)}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case tooLong:
			panic(tooLong{p.text})
		default:
			panic(r)
		}
	}()
	end := -1
	found := func(at int) bool { end = at; return true }
	for at, last := 0, -1; at <= len(s); {
		end = -1
		p.root.match(subject, at, found)
		switch {
		case end > at:
			f(at, end)
			at, last = end, end
			continue
		case end == at && at != last: // an empty match; not behind another match
			f(at, at)
		}
		if at == len(s) {
			return
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
}

// compile reads a pattern. The error is of kind errs.Unsupported for syntax that it does not know.
func compile(text string) (*pattern, error) {
	p := &parser{text: text, rest: text}
	root, err := p.choice()
	if err == nil && p.rest != "" {
		err = p.unknown("a )")
	}
	if err != nil {
		return nil, err
	}
	return &pattern{root, text}, nil
}

// literal returns the pattern of a text.
func literal(text string) *pattern {
	var list sequence
	for _, r := range text {
		list = append(list, newSet(func(x rune) bool { return x == r }))
	}
	return &pattern{list, text}
}

type parser struct {
	text, rest string
	fold       bool
	depth      int
}

func (p *parser) unknown(what string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: "pattern " + strconv.Quote(p.text),
		Got: fmt.Sprintf("%s at character %d", what, utf8.RuneCountInString(p.text[:len(p.text)-len(p.rest)]))}
}

func (p *parser) take(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *parser) rune() rune {
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return r
}

func (p *parser) choice() (node, error) {
	if p.depth++; p.depth > 100 {
		return nil, p.unknown("groups nested too deep")
	}
	defer func() { p.depth-- }()
	var list choice
	for {
		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		if list = append(list, n); !p.take("|") {
			break
		}
	}
	if len(list) == 1 {
		return list[0], nil
	}
	return list, nil
}

func (p *parser) sequence() (node, error) {
	var list sequence
	before := p.fold
	defer func() { p.fold = before }()
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		if p.take("(?i)") {
			if len(list) > 0 {
				return nil, p.unknown("(?i) within a sequence")
			}
			p.fold = true
			continue
		}
		start := p.rest
		n, err := p.atom()
		if err != nil {
			return nil, err
		}
		n, quantified, err := p.quantified(n)
		if err != nil {
			return nil, err
		}
		if p.fold && !quantified && foldsLong(start) {
			return nil, p.unknown("letters without case that have a ligature, such as ss or ff,")
		}
		list = append(list, n)
	}
	return list, nil
}

// foldsLong reports whether a text begins with letters that fold to one character, such as ss to ß.
func foldsLong(s string) bool {
	s = strings.ToLower(s[:min(len(s), 4)])
	for _, pair := range []string{"ss", "ff", "fi", "fl", "st", "ʼn"} {
		if strings.HasPrefix(s, pair) {
			return true
		}
	}
	return false
}

func (p *parser) quantified(n node) (node, bool, error) {
	r := repeat{node: n}
	switch {
	case p.take("*"):
		r.most = -1
	case p.take("+"):
		r.least, r.most = 1, -1
	case p.take("?"):
		r.most = 1
	case strings.HasPrefix(p.rest, "{"):
		inner, _, ok := strings.Cut(p.rest[1:], "}")
		low, high, ranged := strings.Cut(inner, ",")
		var err error
		if r.least, err = strconv.Atoi(low); err != nil && low != "" || !ok || low == "" && high == "" {
			return nil, false, p.unknown("a {")
		}
		switch r.most = r.least; {
		case ranged && high == "":
			r.most = -1
		case ranged:
			if r.most, err = strconv.Atoi(high); err != nil || r.most < r.least {
				return nil, false, p.unknown("a {")
			}
		}
		if r.least > 1000 || r.most > 1000 {
			return nil, false, p.unknown("a repetition above 1000")
		}
		p.rest = p.rest[len(inner)+2:]
		if strings.HasPrefix(p.rest, "+") || !ranged && strings.HasPrefix(p.rest, "?") {
			return nil, false, p.unknown("a repetition of a repetition")
		}
	default:
		return n, false, nil
	}
	switch {
	case p.take("?"):
		r.lazy = true
	case p.take("+"):
		r.possessive = true
	}
	if p.rest != "" && strings.ContainsRune("*+?{", rune(p.rest[0])) {
		return nil, false, p.unknown("a repetition of a repetition")
	}
	return r, true, nil
}

func (p *parser) atom() (node, error) {
	switch {
	case p.take("("):
		return p.group()
	case strings.HasPrefix(p.rest, "["):
		p.take("[")
		has, err := p.class()
		if err != nil {
			return nil, err
		}
		return p.one(has), nil
	case p.take("."):
		return newSet(func(r rune) bool { return r != '\n' }), nil
	case p.take(`\A`):
		return begin{}, nil
	case p.take(`\z`):
		return end{}, nil
	case strings.HasPrefix(p.rest, "^"), strings.HasPrefix(p.rest, "$"), strings.HasPrefix(p.rest,
		`\b`), strings.HasPrefix(p.rest, `\B`):
		return nil, p.unknown("an anchor")
	case strings.ContainsRune("*+?{", rune(p.rest[0])):
		return nil, p.unknown("a repetition of nothing")
	case p.rest[0] == '\\':
		has, _, err := p.escape()
		if err != nil {
			return nil, err
		}
		return p.one(has), nil
	}
	r := p.rune()
	return p.one(func(x rune) bool { return x == r }), nil
}

// one returns the node of a set, with or without case.
func (p *parser) one(has func(rune) bool) node {
	if !p.fold {
		return newSet(has)
	}
	return newSet(func(r rune) bool {
		if has(r) {
			return true
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if has(f) {
				return true
			}
		}
		return false
	})
}

func (p *parser) group() (node, error) {
	before := p.fold
	defer func() { p.fold = before }()
	var wrap func(n node) (node, error)
	switch {
	case p.take("?:"):
	case p.take("?i:"):
		p.fold = true
	case p.take("?="):
		wrap = func(n node) (node, error) { return look{n, false}, nil }
	case p.take("?!"):
		wrap = func(n node) (node, error) { return look{n, true}, nil }
	case p.take("?>"):
		wrap = func(n node) (node, error) { return repeat{node: n, least: 1, most: 1, possessive: true}, nil }
	case p.take("?<="):
		wrap = func(n node) (node, error) { return p.behind(n, false) }
	case p.take("?<!"):
		wrap = func(n node) (node, error) { return p.behind(n, true) }
	case strings.HasPrefix(p.rest, "?"):
		return nil, p.unknown("a group of another kind")
	}
	n, err := p.choice()
	if err != nil {
		return nil, err
	}
	if !p.take(")") {
		return nil, p.unknown("no )")
	}
	if wrap != nil {
		return wrap(n)
	}
	return n, nil
}

func (p *parser) behind(n node, not bool) (node, error) {
	if list, ok := n.(sequence); ok && len(list) == 1 {
		n = list[0]
	}
	one, ok := n.(*set)
	if !ok {
		return nil, p.unknown("a look at more than the character before")
	}
	return behind{one.has, not}, nil
}

// class reads a class after its [.
func (p *parser) class() (func(rune) bool, error) {
	not := p.take("^")
	var list []func(rune) bool
	for first := true; ; first = false {
		switch {
		case p.rest == "":
			return nil, p.unknown("no ]")
		case p.rest[0] == ']' && !first:
			p.take("]")
			return func(r rune) bool {
				return slices.ContainsFunc(list, func(has func(rune) bool) bool { return has(r) }) != not
			}, nil
		case strings.HasPrefix(p.rest, "&&"), strings.HasPrefix(p.rest, "[:"):
			return nil, p.unknown("a class of another kind")
		case p.rest[0] == ']':
			return nil, p.unknown("a ] at the beginning of a class")
		case p.take("["):
			has, err := p.class()
			if err != nil {
				return nil, err
			}
			list = append(list, has)
			continue
		}
		has, low, err := p.member()
		if err != nil {
			return nil, err
		}
		if low >= 0 && strings.HasPrefix(p.rest, "-") && !strings.HasPrefix(p.rest, "-]") {
			p.take("-")
			_, high, err := p.member()
			if err != nil {
				return nil, err
			}
			if high < low {
				return nil, p.unknown("a range")
			}
			has = func(r rune) bool { return low <= r && r <= high }
		}
		list = append(list, has)
	}
}

// member reads a member of a class. r is its character, or -1 for a set of them.
func (p *parser) member() (has func(rune) bool, r rune, err error) {
	if strings.HasPrefix(p.rest, `\`) {
		return p.escape()
	}
	if p.rest == "" {
		return nil, 0, p.unknown("no ]")
	}
	r = p.rune()
	return func(x rune) bool { return x == r }, r, nil
}

// escape reads what follows a backslash, and the backslash.
func (p *parser) escape() (has func(rune) bool, r rune, err error) {
	at := p.rest
	p.take(`\`)
	if p.rest == "" {
		return nil, 0, p.unknown("a backslash at the end")
	}
	back := func(err error) (func(rune) bool, rune, error) { return nil, 0, err }
	switch c := p.rune(); {
	case c == 's':
		return isSpace, -1, nil
	case c == 'S':
		return negated(isSpace), -1, nil
	case c == 'd':
		return property("Nd"), -1, nil
	case c == 'D':
		return negated(property("Nd")), -1, nil
	case c == 'w':
		return isWord, -1, nil
	case c == 'W':
		return negated(isWord), -1, nil
	case c == 'p' || c == 'P':
		if !p.take("{") {
			p.rest = at
			return back(p.unknown("a property without braces"))
		}
		name, rest, ok := strings.Cut(p.rest, "}")
		has := property(strings.TrimPrefix(name, "^"))
		if !ok || has == nil {
			p.rest = at
			return back(p.unknown("the property " + name))
		}
		p.rest = rest
		if (c == 'P') != strings.HasPrefix(name, "^") {
			has = negated(has)
		}
		return has, -1, nil
	case c == 'x':
		digits := p.rest[:min(2, len(p.rest))]
		if p.take("{") {
			digits, _, _ = strings.Cut(p.rest, "}")
			defer p.take("}")
		}
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || n > unicode.MaxRune || n > 0x7f && len(digits) == 2 {
			p.rest = at
			return back(p.unknown("an escape"))
		}
		p.rest = p.rest[len(digits):]
		r = rune(n)
	case c == 'u':
		n, err := strconv.ParseUint(p.rest[:min(4, len(p.rest))], 16, 32)
		if err != nil || len(p.rest) < 4 {
			p.rest = at
			return back(p.unknown("an escape"))
		}
		p.rest = p.rest[4:]
		r = rune(n)
	case strings.ContainsRune("rntfvae", c):
		r = rune("\r\n\t\f\v\a\x1b"[strings.IndexRune("rntfvae", c)])
	case c < 0x80 && !unicode.IsLetter(c) && !unicode.IsDigit(c):
		r = c
	default:
		p.rest = at
		return back(p.unknown("an escape"))
	}
	return func(x rune) bool { return x == r }, r, nil
}
