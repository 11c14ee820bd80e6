package tokenizer

import (
	"encoding/base64"
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/bivouac-ml/bivouac/errs"
)

// charsmap replaces characters as the normalizer of SentencePiece does. It is a trie in a double
// array, whose values are places in texts that end with a zero byte.
type charsmap struct {
	units []uint32
	texts string
}

// parseCharsmap reads the text of precompiled_charsmap: base64 of the length of the trie in bytes,
// the trie, and the texts.
func parseCharsmap(text string) (*charsmap, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	bad := func(want string) error {
		return &errs.Error{Kind: errs.Corrupt, Subject: "normalizer Precompiled", Want: want,
			Got: "another precompiled_charsmap"}
	}
	if err != nil || len(b) < 4 {
		return nil, bad("base64 of a trie and texts")
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n%4 != 0 || n < 4 || n > int64(len(b)-4) || !utf8.Valid(b[4+n:]) {
		return nil, bad("a trie within the map, and texts in UTF-8 behind it")
	}
	m := &charsmap{units: make([]uint32, n/4), texts: string(b[4+n:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(b[4+4*i:])
	}
	return m, nil
}

// A unit has the distance to its children, a label, and whether a value ends here.
func unitOffset(u uint32) uint32 { return u >> 10 << (u & (1 << 9) >> 6) }

// find returns the text for the shortest prefix of s that has one.
func (m *charsmap) find(s string) (text string, ok bool) {
	at := unitOffset(m.units[0])
	for i := range len(s) {
		c := uint32(s[i])
		if c == 0 {
			break
		}
		if at ^= c; int64(at) >= int64(len(m.units)) {
			break
		}
		u := m.units[at]
		if u&(1<<31|0xff) != c {
			break
		}
		at ^= unitOffset(u)
		if u>>8&1 == 0 || int64(at) >= int64(len(m.units)) {
			continue
		}
		value := int64(m.units[at] &^ (1 << 31))
		if value >= int64(len(m.texts)) || !utf8.RuneStart(m.texts[value]) {
			return "", false
		}
		text, _, _ = strings.Cut(m.texts[value:], "\x00")
		return text, true
	}
	return "", false
}

// longGrapheme is the length from which on the characters of a grapheme are looked up one by one.
const longGrapheme = 6

func (m *charsmap) normalize(s string) (string, bool) {
	var b strings.Builder
	for g := graphemes.FromString(s); g.Next(); {
		part := g.Value()
		if len(part) < longGrapheme {
			if text, ok := m.find(part); ok {
				b.WriteString(text)
				continue
			}
		}
		for i, r := range part {
			if text, ok := m.find(part[i : i+utf8.RuneLen(r)]); ok {
				b.WriteString(text)
			} else {
				b.WriteRune(r)
			}
		}
	}
	return b.String(), false
}
