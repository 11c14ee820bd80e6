package tokenizer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// addedToken is a token besides the tokens of the model. It is found in the text before all else.
type addedToken struct {
	ID         int32  `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not within a word
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`
	Normalized bool   `json:"normalized"` // is found in the normalized text
	Special    bool   `json:"special"`
}

// add takes the added tokens of a file.
func (t *Tokenizer) add(list []addedToken) error {
	highest, seen := int32(-1), map[string]int32{}
	for i := range list {
		a := &list[i]
		if a.Content == "" {
			continue
		}
		// A file that was written has the ids that reading it gives; another file would be read with
		// other ids than it says.
		want, ok := t.model.id(a.Content)
		if !ok {
			if want = int32(t.model.size()); highest >= want {
				want = highest + 1
			}
		}
		if old, twice := seen[a.Content]; twice {
			want = old
		}
		if a.ID != want {
			return &errs.Error{Kind: errs.Unsupported, Subject: "added token " + strconv.Quote(a.Content),
				Want: fmt.Sprintf("the id %d, which tokenizers give it", want), Got: fmt.Sprint(a.ID)}
		}
		seen[a.Content], highest = want, max(highest, want)
		if !a.Normalized {
			t.verbatim.add(a.Content, a)
			continue
		}
		content := a.Content
		if t.normalize != nil {
			content, _ = t.normalize.normalize(content)
		}
		t.normal.add(content, a)
	}
	return nil
}

// matcher finds added tokens: the leftmost, and of several at one place the longest.
type matcher struct {
	root *trieNode
}

type trieNode struct {
	next  map[byte]*trieNode
	token *addedToken
}

func (m *matcher) add(content string, a *addedToken) {
	if content == "" {
		return
	}
	if m.root == nil {
		m.root = &trieNode{}
	}
	n := m.root
	for i := range len(content) {
		if n.next == nil {
			n.next = map[byte]*trieNode{}
		}
		child := n.next[content[i]]
		if child == nil {
			child = &trieNode{}
			n.next[content[i]] = child
		}
		n = child
	}
	if n.token == nil { // the first of equal tokens counts
		n.token = a
	}
}

// at returns the longest token at a place, or nil.
func (m *matcher) at(s string, start int) (a *addedToken, end int) {
	n := m.root
	for i := start; i < len(s); i++ {
		if n = n.next[s[i]]; n == nil {
			break
		}
		if n.token != nil {
			a, end = n.token, i+1
		}
	}
	return a, end
}

// split calls f for each part of a text: an added token, or with the id -1 the text between.
func (m *matcher) split(s string, f func(start, end int, id int32)) {
	before := 0
	if m.root != nil {
		for at := 0; at < len(s); {
			a, stop := m.at(s, at)
			if a == nil {
				at++
				continue
			}
			start := at
			at = stop
			if a.SingleWord && (endsWithWord(s[:start]) || beginsWithWord(s[stop:])) {
				continue
			}
			if a.LStrip {
				start = max(len(strings.TrimRightFunc(s[:start], isSpace)), before)
			}
			if a.RStrip {
				stop = len(s) - len(strings.TrimLeftFunc(s[stop:], isSpace))
			}
			if before < start {
				f(before, start, -1)
			}
			f(start, stop, a.ID)
			before = stop
		}
	}
	if before < len(s) {
		f(before, len(s), -1)
	}
}

func endsWithWord(s string) bool {
	r, size := utf8.DecodeLastRuneInString(s)
	return size > 0 && isRustWord(r)
}

func beginsWithWord(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return size > 0 && isRustWord(r)
}
