package tokenizer

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// piece is a part of a text that becomes tokens by itself. first reports that it begins where the
// whole text begins.
type piece struct {
	text  string
	first bool
}

// preTokenizer cuts pieces into smaller ones.
type preTokenizer interface {
	cut(p piece, add func(piece))
}

// behaviour says what becomes of the matches of a splitter.
type behaviour string

const (
	removed    behaviour = "Removed"
	isolated   behaviour = "Isolated"
	toPrevious behaviour = "MergedWithPrevious"
	toNext     behaviour = "MergedWithNext"
	contiguous behaviour = "Contiguous"
)

var behaviours = []behaviour{removed, isolated, toPrevious, toNext, contiguous}

// finder calls f for each match in a text.
type finder func(s string, f func(start, end int))

// characters finds each character of a set by itself.
func characters(has func(rune) bool) finder {
	return func(s string, f func(start, end int)) {
		for i, r := range s {
			if has(r) {
				f(i, i+utf8.RuneLen(r))
			}
		}
	}
}

type (
	splitter struct {
		find   finder
		how    behaviour
		invert bool
	}
	byteLevel struct {
		prefix bool
		split  preTokenizer // nil: not split
	}
	metaspace struct {
		mark   string
		scheme string // always, first or never
		split  preTokenizer
	}
	chain []preTokenizer
)

// span is a part of a text, and whether it is a match.
type span struct {
	start, end int
	match      bool
}

func (n splitter) cut(p piece, add func(piece)) {
	var spans []span
	at := 0
	n.find(p.text, func(start, end int) {
		if at < start {
			spans = append(spans, span{at, start, n.invert})
		}
		spans = append(spans, span{start, end, !n.invert})
		at = end
	})
	if at < len(p.text) {
		spans = append(spans, span{at, len(p.text), n.invert})
	}
	for _, s := range merged(spans, n.how) {
		if s.end > s.start {
			add(piece{p.text[s.start:s.end], p.first && s.start == 0})
		}
	}
}

// merged returns spans as a behaviour wants them.
func merged(spans []span, how behaviour) (list []span) {
	before := false
	switch how {
	case isolated:
		return spans
	case removed:
		return slices.DeleteFunc(spans, func(s span) bool { return s.match })
	case toPrevious:
		for _, s := range spans {
			if last := len(list) - 1; s.match && !before && last >= 0 {
				list[last].end = s.end
			} else {
				list = append(list, s)
			}
			before = s.match
		}
	case toNext:
		for _, s := range slices.Backward(spans) {
			if last := len(list) - 1; s.match && !before && last >= 0 {
				list[last].start = s.start
			} else {
				list = append(list, s)
			}
			before = s.match
		}
		slices.Reverse(list)
	case contiguous:
		for _, s := range spans {
			if last := len(list) - 1; s.match == before && last >= 0 {
				list[last].end = s.end
			} else {
				list = append(list, s)
			}
			before = s.match
		}
	}
	return list
}

func (n byteLevel) cut(p piece, add func(piece)) {
	if n.prefix && !strings.HasPrefix(p.text, " ") {
		p.text = " " + p.text
	}
	if n.split == nil {
		add(piece{byteChars(p.text), p.first})
		return
	}
	n.split.cut(p, func(p piece) { add(piece{byteChars(p.text), p.first}) })
}

func (n metaspace) cut(p piece, add func(piece)) {
	p.text = strings.ReplaceAll(p.text, " ", n.mark)
	if (n.scheme == "always" || n.scheme == "first" && p.first) && !strings.HasPrefix(p.text, n.mark) {
		p.text = n.mark + p.text
	}
	if n.split == nil {
		add(p)
		return
	}
	n.split.cut(p, add)
}

func (n chain) cut(p piece, add func(piece)) {
	if len(n) == 0 {
		add(p)
		return
	}
	n[0].cut(p, func(p piece) { n[1:].cut(p, add) })
}

// gpt2 is the pattern of the pre-tokenizer ByteLevel.
const gpt2 = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// parsePreTokenizer reads a pre-tokenizer of a tokenizer.json.
func parsePreTokenizer(raw json.RawMessage) (preTokenizer, error) {
	kind, err := typeOf(raw, "pre_tokenizer")
	if err != nil || kind == "" {
		return nil, err
	}
	c := struct {
		typed
		Pretokenizers    []json.RawMessage `json:"pretokenizers"`
		AddPrefixSpace   *bool             `json:"add_prefix_space"`
		UseRegex         *bool             `json:"use_regex"`
		TrimOffsets      *bool             `json:"trim_offsets"`
		Pattern          *patternJSON      `json:"pattern"`
		Behavior         behaviour         `json:"behavior"`
		Invert           bool              `json:"invert"`
		Replacement      string            `json:"replacement"`
		PrependScheme    string            `json:"prepend_scheme"`
		Split            *bool             `json:"split"`
		IndividualDigits bool              `json:"individual_digits"`
		Delimiter        string            `json:"delimiter"`
	}{}
	if err := decode(raw, &c, "pre_tokenizer "+kind); err != nil {
		return nil, err
	}
	if c.Behavior != "" && !slices.Contains(behaviours, c.Behavior) {
		return nil, unknownType("behavior of the pre_tokenizer "+kind, string(c.Behavior))
	}
	switch kind {
	case "ByteLevel":
		b := byteLevel{prefix: c.AddPrefixSpace == nil || *c.AddPrefixSpace}
		if c.UseRegex == nil || *c.UseRegex {
			p, err := compile(gpt2)
			if err != nil {
				return nil, err
			}
			b.split = splitter{p.each, isolated, false}
		}
		return b, nil
	case "Split":
		if c.Pattern == nil || c.Behavior == "" {
			return nil, lacking("pre_tokenizer "+kind, "pattern and behavior")
		}
		p, err := c.Pattern.compile()
		if err != nil {
			return nil, err
		}
		return splitter{p.each, c.Behavior, c.Invert}, nil
	case "Whitespace":
		return splitter{findWords, removed, true}, nil
	case "WhitespaceSplit":
		return splitter{characters(isSpace), removed, false}, nil
	case "BertPreTokenizer":
		return chain{splitter{characters(isSpace), removed, false}, splitter{characters(isPunctuation), isolated,
			false}}, nil
	case "Metaspace":
		return parseMetaspace(c.Replacement, c.PrependScheme, c.AddPrefixSpace, c.Split)
	case "Digits":
		how := contiguous
		if c.IndividualDigits {
			how = isolated
		}
		return splitter{characters(isNumeric), how, false}, nil
	case "Punctuation":
		if c.Behavior == "" {
			c.Behavior = isolated
		}
		return splitter{characters(isPunctuation), c.Behavior, false}, nil
	case "CharDelimiterSplit":
		r, size := utf8.DecodeRuneInString(c.Delimiter)
		if size == 0 || size != len(c.Delimiter) {
			return nil, lacking("pre_tokenizer "+kind, "a delimiter of one character")
		}
		return splitter{characters(func(x rune) bool { return x == r }), removed, false}, nil
	case "Sequence":
		var list chain
		for _, raw := range c.Pretokenizers {
			n, err := parsePreTokenizer(raw)
			if err != nil {
				return nil, err
			}
			if n != nil {
				list = append(list, n)
			}
		}
		return list, nil
	}
	return nil, unknownType("pre_tokenizer", kind)
}

func parseMetaspace(mark, scheme string, prefix, split *bool) (preTokenizer, error) {
	if utf8.RuneCountInString(mark) != 1 {
		return nil, lacking("pre_tokenizer Metaspace", "a replacement of one character")
	}
	if scheme == "" {
		scheme = "always"
		if prefix != nil && !*prefix {
			scheme = "never"
		}
	}
	if !slices.Contains([]string{"always", "first", "never"}, scheme) {
		return nil, unknownType("prepend_scheme of the pre_tokenizer Metaspace", scheme)
	}
	m := metaspace{mark: mark, scheme: scheme}
	if split == nil || *split {
		m.split = splitter{literal(mark).each, toNext, false}
	}
	return m, nil
}

// findWords finds runs of word characters, and runs of others that are no white space.
func findWords(s string, f func(start, end int)) {
	kind := func(r rune) int {
		switch {
		case isRustWord(r):
			return 1
		case isSpace(r):
			return 0
		}
		return 2
	}
	start, last := 0, 0
	for i, r := range s {
		if k := kind(r); k != last {
			if last != 0 {
				f(start, i)
			}
			start, last = i, k
		}
	}
	if last != 0 {
		f(start, len(s))
	}
}
