package tokenizer

import (
	_ "embed" // tables.txt
	"sort"
	"strconv"
	"strings"
	"sync"
)

// tablesText are sets of characters as the tokenizers of Hugging Face have them. Their libraries
// follow different versions of Unicode, and Go follows another one. proof/tokenizers/tables.py
// wrote them.
//
//go:embed tables.txt
var tablesText string

// table is a set of characters.
type table struct {
	low     [4]uint64 // the characters below 256
	from    []rune    // ranges
	to      []rune
	changes []rune // of lower: what each character of from becomes
}

var tables = sync.OnceValue(func() map[string]*table {
	all := map[string]*table{}
	for line := range strings.Lines(tablesText) {
		f := strings.Fields(line)
		t, at := &table{}, int64(0)
		for i := 1; i+1 < len(f); i += 2 {
			gap, _ := strconv.ParseInt(f[i], 16, 64)
			n, _ := strconv.ParseInt(f[i+1], 16, 64)
			at += gap
			t.from = append(t.from, rune(at))
			if f[0] == "lower" {
				t.changes = append(t.changes, rune(at+n))
				continue
			}
			at += n
			t.to = append(t.to, rune(at-1))
		}
		if f[0] != "lower" {
			for r := range rune(256) {
				if t.find(r) {
					t.low[r/64] |= 1 << (r % 64)
				}
			}
		}
		all[f[0]] = t
	}
	return all
})

func (t *table) find(r rune) bool {
	i := sort.Search(len(t.from), func(i int) bool { return t.from[i] > r }) - 1
	return i >= 0 && r <= t.to[i]
}

func (t *table) has(r rune) bool {
	if uint32(r) < 256 {
		return t.low[r/64]>>(r%64)&1 != 0
	}
	return t.find(r)
}

// property returns the set of a property of Unicode, or nil if it is not known.
func property(name string) func(rune) bool {
	t := tables()[name]
	if t == nil || name == "lower" || name[0] >= 'a' && name[0] <= 'z' {
		return nil
	}
	return t.has
}

// set returns a set of the tables when it is first asked.
func lazy(name string) func(rune) bool {
	get := sync.OnceValue(func() *table { return tables()[name] })
	return func(r rune) bool { return get().has(r) }
}

var (
	isSpace       = lazy("space")
	isWord        = lazy("word")     // of expressions
	isRustWord    = lazy("rustword") // of the pre-tokenizer Whitespace, and of single words
	isPunctuation = lazy("punctuation")
	isNumeric     = lazy("numeric")
	isControl     = lazy("control")
	isNonspacing  = lazy("nonspacing")
	isMark        = lazy("mark")
	isComposed    = lazy("nfd")
	isCompatible  = lazy("nfkd")
)

// toLower returns the lower case of a character as one character.
func toLower(r rune) rune {
	if r < 0x80 {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	t := tables()["lower"]
	if i := sort.Search(len(t.from), func(i int) bool { return t.from[i] >= r }); i < len(t.from) && t.from[i] == r {
		return t.changes[i]
	}
	return r
}

func negated(has func(rune) bool) func(rune) bool { return func(r rune) bool { return !has(r) } }
