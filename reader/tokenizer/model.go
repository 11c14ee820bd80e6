package tokenizer

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// model makes tokens of a piece.
type model interface {
	// tokens appends the ids of a piece, which is not empty.
	tokens(s string, dst []int32) ([]int32, error)
	id(token string) (int32, bool)
	size() int
}

// vocabulary are the ids of tokens.
type vocabulary map[string]int32

func (v vocabulary) id(token string) (int32, bool) { id, ok := v[token]; return id, ok }
func (v vocabulary) size() int                     { return len(v) }

// merge is how a pair of tokens becomes one.
type merge struct{ rank, id int32 }

type bpe struct {
	vocabulary
	merges         map[[2]int32]merge
	unknown        int32 // -1: unknown characters are left out
	fuse           bool
	bytes          *[256]int32 // tokens of bytes; nil: no fallback
	prefix, suffix string
	whole          bool // a piece that is a token is not cut
}

func (m *bpe) tokens(s string, dst []int32) ([]int32, error) {
	if m.whole {
		if id, ok := m.vocabulary[s]; ok {
			return append(dst, id), nil
		}
	}
	var w word
	unknown := 0
	for i, r := range s {
		size := utf8.RuneLen(r)
		char := s[i : i+size]
		if i > 0 {
			char = m.prefix + char
		}
		if i+size == len(s) {
			char += m.suffix
		}
		if id, ok := m.vocabulary[char]; ok {
			for ; unknown > 0; unknown-- {
				w.add(m.unknown)
			}
			w.add(id)
			continue
		}
		if m.bytes != nil && m.fallback(char, &w) {
			continue // an unknown character before stays behind the bytes
		}
		if m.unknown >= 0 && (unknown == 0 || !m.fuse) {
			if unknown > 0 {
				w.add(m.unknown)
			}
			unknown = 1
		}
	}
	for ; unknown > 0; unknown-- {
		w.add(m.unknown)
	}
	return w.merged(m.merges, dst), nil
}

// fallback adds the tokens of the bytes of a character if all are known.
func (m *bpe) fallback(char string, w *word) bool {
	for i := range len(char) {
		if m.bytes[char[i]] < 0 {
			return false
		}
	}
	for i := range len(char) {
		w.add(m.bytes[char[i]])
	}
	return true
}

// symbol is a token of a word while pairs are merged.
type symbol struct {
	id         int32
	prev, next int // -1: none
	gone       bool
}

type word struct{ symbols []symbol }

func (w *word) add(id int32) {
	n := len(w.symbols)
	if n > 0 {
		w.symbols[n-1].next = n
	}
	w.symbols = append(w.symbols, symbol{id: id, prev: n - 1, next: -1})
}

// candidate is a pair that can be merged.
type candidate struct {
	merge
	at int
}

type candidates []candidate

func (c candidates) Len() int      { return len(c) }
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c candidates) Less(i, j int) bool {
	return c[i].rank < c[j].rank || c[i].rank == c[j].rank && c[i].at < c[j].at
}
func (c *candidates) Push(x any) { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	old := *c
	x := old[len(old)-1]
	*c = old[:len(old)-1]
	return x
}

// merged merges pairs by rank, from left to right, and appends the tokens that are left.
func (w *word) merged(merges map[[2]int32]merge, dst []int32) []int32 {
	var queue candidates
	push := func(at int) {
		s := &w.symbols[at]
		if s.next < 0 {
			return
		}
		if m, ok := merges[[2]int32{s.id, w.symbols[s.next].id}]; ok {
			queue = append(queue, candidate{m, at})
		}
	}
	for i := range w.symbols {
		push(i)
	}
	heap.Init(&queue)
	for len(queue) > 0 {
		top, _ := heap.Pop(&queue).(candidate)
		s := &w.symbols[top.at]
		if s.gone || s.next < 0 {
			continue
		}
		right := &w.symbols[s.next]
		if m, ok := merges[[2]int32{s.id, right.id}]; !ok || m.id != top.id {
			continue // the pair has changed since
		}
		s.id, right.gone, s.next = top.id, true, right.next
		if s.next >= 0 {
			w.symbols[s.next].prev = top.at
		}
		before := len(queue)
		if s.prev >= 0 {
			push(s.prev)
		}
		push(top.at)
		for i := before; i < len(queue); i++ { // as heap.Push does
			part := queue[:i+1]
			heap.Fix(&part, i)
		}
	}
	for i := range w.symbols {
		if !w.symbols[i].gone {
			dst = append(dst, w.symbols[i].id)
		}
	}
	return dst
}

type wordPiece struct {
	vocabulary
	unknown int32
	prefix  string
	most    int // characters of a word
}

func (m *wordPiece) tokens(s string, dst []int32) ([]int32, error) {
	if utf8.RuneCountInString(s) > m.most {
		return append(dst, m.unknown), nil
	}
	begin := len(dst)
	for start := 0; start < len(s); {
		end := len(s)
		for ; end > start; end -= lastSize(s[start:end]) {
			token := s[start:end]
			if start > 0 {
				token = m.prefix + token
			}
			if id, ok := m.vocabulary[token]; ok {
				dst = append(dst, id)
				break
			}
		}
		if end == start {
			return append(dst[:begin], m.unknown), nil
		}
		start = end
	}
	return dst, nil
}

func lastSize(s string) int {
	_, size := utf8.DecodeLastRuneInString(s)
	return size
}

type wordLevel struct {
	vocabulary
	unknown int32
}

func (m *wordLevel) tokens(s string, dst []int32) ([]int32, error) {
	if id, ok := m.vocabulary[s]; ok {
		return append(dst, id), nil
	}
	if m.unknown < 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a word of the vocabulary, which has no unk_token",
			Got: strconv.Quote(s)}
	}
	return append(dst, m.unknown), nil
}

type unigram struct {
	vocabulary
	scores  []float64
	longest int // bytes of the longest token
	unknown int32
	worst   float64 // score of an unknown character
	bytes   *[256]int32
}

// best is the best way to cut a text up to a place.
type best struct {
	id    int32
	start int // -1: no way
	score float64
}

func (m *unigram) tokens(s string, dst []int32) ([]int32, error) {
	ends := make([]best, len(s)+1)
	for i := range ends {
		ends[i].start = -1
	}
	for at := 0; at < len(s); {
		_, size := utf8.DecodeRuneInString(s[at:])
		known := false
		for n := 1; n <= min(m.longest, len(s)-at); n++ {
			id, ok := m.vocabulary[s[at:at+n]]
			if !ok {
				continue
			}
			known = known || n == size
			ends[at+n].offer(id, at, m.scores[id]+ends[at].score)
		}
		if !known {
			if m.unknown < 0 {
				return nil, &errs.Error{Kind: errs.Invalid, Want: "characters of the vocabulary, which has no unk_id",
					Got: strconv.Quote(s[at : at+size])}
			}
			ends[at+size].offer(m.unknown, at, m.worst+ends[at].score)
		}
		at += size
	}
	var parts []string // from the last to the first; unknown characters side by side are one
	fused := false
	for end := len(s); end > 0; end = ends[end].start {
		start, unknown := ends[end].start, m.unknown >= 0 && ends[end].id == m.unknown
		if last := len(parts) - 1; unknown && fused {
			parts[last] = s[start : end+len(parts[last])]
		} else {
			parts = append(parts, s[start:end])
		}
		fused = unknown
	}
	for i := len(parts) - 1; i >= 0; i-- {
		if id, ok := m.vocabulary[parts[i]]; ok {
			dst = append(dst, id)
			continue
		}
		if !m.fallback(parts[i], &dst) {
			dst = append(dst, m.unknown)
		}
	}
	return dst, nil
}

func (b *best) offer(id int32, start int, score float64) {
	if b.start < 0 || score > b.score {
		*b = best{id, start, score}
	}
}

func (m *unigram) fallback(s string, dst *[]int32) bool {
	if m.bytes == nil {
		return false
	}
	for i := range len(s) {
		if m.bytes[s[i]] < 0 {
			return false
		}
	}
	for i := range len(s) {
		*dst = append(*dst, m.bytes[s[i]])
	}
	return true
}

// byteTokens returns the tokens of bytes, -1 for bytes without one.
func byteTokens(v vocabulary) *[256]int32 {
	var list [256]int32
	for b := range list {
		list[b] = -1
		if id, ok := v[fmt.Sprintf("<0x%02X>", b)]; ok {
			list[b] = id
		}
	}
	return &list
}

type modelJSON struct {
	typed
	Vocab                   json.RawMessage   `json:"vocab"`
	Merges                  []json.RawMessage `json:"merges"`
	UnkToken                *string           `json:"unk_token"`
	UnkID                   *int32            `json:"unk_id"`
	Dropout                 *float64          `json:"dropout"`
	ContinuingSubwordPrefix *string           `json:"continuing_subword_prefix"`
	EndOfWordSuffix         *string           `json:"end_of_word_suffix"`
	FuseUnk                 bool              `json:"fuse_unk"`
	ByteFallback            bool              `json:"byte_fallback"`
	IgnoreMerges            bool              `json:"ignore_merges"`
	MaxInputCharsPerWord    *int              `json:"max_input_chars_per_word"`
}

// parseModel reads the model of a tokenizer.json.
func parseModel(raw json.RawMessage) (model, error) {
	var c modelJSON
	if err := decode(raw, &c, "model"); err != nil {
		return nil, err
	}
	if c.Type == "" { // old files; the settings tell
		switch {
		case c.Merges != nil:
			c.Type = "BPE"
		case c.MaxInputCharsPerWord != nil:
			c.Type = "WordPiece"
		}
	}
	if c.Type == "Unigram" {
		return c.unigram()
	}
	v := vocabulary{}
	if err := decode(c.Vocab, &v, "vocab of the model"); err != nil {
		return nil, err
	}
	seen := map[int32]string{}
	for token, id := range v {
		if other, ok := seen[id]; ok || id < 0 {
			return nil, &errs.Error{Kind: errs.Corrupt, Subject: "vocab of the model", Want: "an id of its own for each token",
				Got: fmt.Sprintf("%d for %q and %q", id, min(token, other), max(token, other))}
		}
		seen[id] = token
	}
	unknown := int32(-1)
	if c.UnkToken != nil {
		id, ok := v[*c.UnkToken]
		if ok {
			unknown = id
		} else if c.Type != "WordPiece" || *c.UnkToken != "" {
			return nil, lacking("vocab of the model", "the unk_token "+strconv.Quote(*c.UnkToken))
		}
	}
	switch c.Type {
	case "BPE":
		return c.bpe(v, unknown)
	case "WordPiece":
		if unknown < 0 || c.MaxInputCharsPerWord == nil || c.ContinuingSubwordPrefix == nil {
			return nil, lacking("model WordPiece", "unk_token, max_input_chars_per_word and continuing_subword_prefix")
		}
		return &wordPiece{v, unknown, *c.ContinuingSubwordPrefix, *c.MaxInputCharsPerWord}, nil
	case "WordLevel":
		return &wordLevel{v, unknown}, nil
	}
	return nil, unknownType("model", c.Type)
}

func (c *modelJSON) bpe(v vocabulary, unknown int32) (model, error) {
	if c.Dropout != nil && *c.Dropout != 0 {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "model BPE",
			Want: "no dropout, which draws tokens at random",
			Got:  fmt.Sprint("dropout ", *c.Dropout)}
	}
	m := &bpe{vocabulary: v, merges: make(map[[2]int32]merge, len(c.Merges)), unknown: unknown, fuse: c.FuseUnk,
		whole: c.IgnoreMerges}
	if c.ContinuingSubwordPrefix != nil {
		m.prefix = *c.ContinuingSubwordPrefix
	}
	if c.EndOfWordSuffix != nil {
		m.suffix = *c.EndOfWordSuffix
	}
	if c.ByteFallback {
		m.bytes = byteTokens(v)
	}
	for rank, raw := range c.Merges {
		var pair []string
		if json.Unmarshal(raw, &pair) != nil {
			var line string
			if err := decode(raw, &line, "merges of the model"); err != nil {
				return nil, err
			}
			pair = strings.Split(line, " ")
		}
		if len(pair) != 2 || len(pair[1]) < len(m.prefix) {
			return nil, lacking("merge "+strconv.Itoa(rank)+" of the model", "two tokens")
		}
		a, okA := v[pair[0]]
		b, okB := v[pair[1]]
		both, okBoth := v[pair[0]+pair[1][len(m.prefix):]]
		if !okA || !okB || !okBoth {
			return nil, lacking("vocab of the model", fmt.Sprintf("the tokens of merge %d, %q and %q, and both together",
				rank, pair[0], pair[1]))
		}
		m.merges[[2]int32{a, b}] = merge{int32(rank), both}
	}
	return m, nil
}

func (c *modelJSON) unigram() (model, error) {
	var list [][2]json.RawMessage
	if err := decode(c.Vocab, &list, "vocab of the model"); err != nil {
		return nil, err
	}
	m := &unigram{vocabulary: make(vocabulary, len(list)), scores: make([]float64, len(list)), unknown: -1}
	least := math.Inf(1)
	for id, pair := range list {
		var token string
		score, ok := rustFloat(string(pair[1]))
		if m.scores[id] = score; !ok || json.Unmarshal(pair[0], &token) != nil {
			return nil, lacking(fmt.Sprintf("vocab of the model, token %d", id), "a text and a score")
		}
		if token == "" {
			return nil, lacking(fmt.Sprintf("vocab of the model, token %d", id), "a text")
		}
		m.vocabulary[token] = int32(id) // of a text that comes twice the last id counts
		least, m.longest = min(least, m.scores[id]), max(m.longest, len(token))
	}
	if c.UnkID != nil {
		if m.unknown = *c.UnkID; m.unknown < 0 || int(m.unknown) >= len(list) {
			return nil, lacking("vocab of the model", fmt.Sprint("the unk_id ", m.unknown))
		}
	}
	m.worst = least - 10
	if c.ByteFallback {
		m.bytes = byteTokens(m.vocabulary)
	}
	return m, nil
}
