package tokenizer

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// normalizer changes a text. cut reports that what the text began with was removed, so that the
// result does not begin where the text does.
type normalizer interface {
	normalize(s string) (out string, cut bool)
}

type (
	forms struct{ compatible, composes bool }
	lower struct{}
	strip struct{ left, right bool }
	// without removes characters.
	without struct{ drops func(r rune) bool }
	replace struct {
		of *pattern
		by string
	}
	prepend struct{ text string }
	bert    struct{ clean, chinese, accents, lower bool }
	bytes2  struct{} // bytes as characters
	several []normalizer
)

func (n forms) normalize(s string) (string, bool) {
	return normalForm(s, n.compatible, n.composes), false
}

func (lower) normalize(s string) (string, bool) {
	if strings.ContainsRune(s, 0x130) { // the only letter whose lower case is two characters
		s = strings.ReplaceAll(s, "\u0130", "i\u0307")
	}
	return strings.Map(toLower, s), false
}

func (n strip) normalize(s string) (out string, cut bool) {
	out = s
	if n.left {
		out = strings.TrimLeftFunc(out, isSpace)
	}
	cut = len(out) < len(s)
	if n.right {
		out = strings.TrimRightFunc(out, isSpace)
	}
	return out, cut
}

func (n without) normalize(s string) (string, bool) {
	first, size := utf8.DecodeRuneInString(s)
	return strings.Map(func(r rune) rune {
		if n.drops(r) {
			return -1
		}
		return r
	}, s), size > 0 && n.drops(first)
}

func (n replace) normalize(s string) (string, bool) {
	var b strings.Builder
	at, cut := 0, false
	n.of.each(s, func(start, end int) {
		cut = cut || start == 0 && end > 0 && n.by == ""
		b.WriteString(s[at:start])
		b.WriteString(n.by)
		at = end
	})
	b.WriteString(s[at:])
	return b.String(), cut
}

func (n prepend) normalize(s string) (string, bool) {
	if s == "" {
		return s, false
	}
	return n.text + s, false
}

func (n bert) normalize(s string) (out string, cut bool) {
	if n.clean {
		s, cut = without{isControl}.normalize(s)
		s = strings.Map(func(r rune) rune {
			if isSpace(r) {
				return ' '
			}
			return r
		}, s)
	}
	if n.chinese && strings.ContainsFunc(s, isChinese) {
		var b strings.Builder
		for _, r := range s {
			if isChinese(r) {
				b.WriteByte(' ')
				b.WriteRune(r)
				b.WriteByte(' ')
			} else {
				b.WriteRune(r)
			}
		}
		s = b.String()
	}
	if n.accents {
		var c bool
		s, c = without{isNonspacing}.normalize(normalForm(s, false, false))
		cut = cut || c
	}
	if n.lower {
		s, _ = lower{}.normalize(s)
	}
	return s, cut
}

func (bytes2) normalize(s string) (string, bool) { return byteChars(s), false }

func (n several) normalize(s string) (string, bool) {
	cut := false
	for _, one := range n {
		var c bool
		s, c = one.normalize(s)
		cut = cut || c
	}
	return s, cut
}

// isChinese reports whether BERT makes a character a word of its own.
func isChinese(r rune) bool {
	switch {
	case 0x4E00 <= r && r <= 0x9FFF, 0x3400 <= r && r <= 0x4DBF, 0x20000 <= r && r <= 0x2A6DF,
		0x2A700 <= r && r <= 0x2B81F, 0x2B920 <= r && r <= 0x2CEAF, 0xF900 <= r && r <= 0xFAFF, 0x2F800 <= r && r <= 0x2FA1F:
		return true
	}
	return false
}

// byteChars returns each byte of a text as a character that can be seen: the alphabet of byte-level
// BPE.
func byteChars(s string) string {
	b := make([]byte, 0, 2*len(s))
	for i := range len(s) {
		b = utf8.AppendRune(b, charOf[s[i]])
	}
	return string(b)
}

var charOf = func() (list [256]rune) {
	next := rune(256)
	for b := range list {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			list[b] = rune(b)
			continue
		}
		list[b] = next
		next++
	}
	return list
}()

// parseNormalizer reads a normalizer of a tokenizer.json.
func parseNormalizer(raw json.RawMessage) (normalizer, error) {
	kind, err := typeOf(raw, "normalizer")
	if err != nil || kind == "" {
		return nil, err
	}
	var c struct {
		typed
		Normalizers        []json.RawMessage `json:"normalizers"`
		Pattern            *patternJSON      `json:"pattern"`
		Content            *string           `json:"content"`
		Prepend            *string           `json:"prepend"`
		Left               *bool             `json:"strip_left"`
		Right              *bool             `json:"strip_right"`
		CleanText          *bool             `json:"clean_text"`
		HandleChineseChars *bool             `json:"handle_chinese_chars"`
		StripAccents       *bool             `json:"strip_accents"`
		Lowercase          *bool             `json:"lowercase"`
		Charsmap           string            `json:"precompiled_charsmap"`
	}
	if err := decode(raw, &c, "normalizer "+kind); err != nil {
		return nil, err
	}
	lacks := func(name string) error { return lacking("normalizer "+kind, name) }
	switch kind {
	case "NFC", "NFD", "NFKC", "NFKD":
		return forms{len(kind) == 4, strings.HasSuffix(kind, "C")}, nil
	case "Lowercase":
		return lower{}, nil
	case "StripAccents":
		return without{isMark}, nil
	case "Strip":
		if c.Left == nil || c.Right == nil {
			return nil, lacks("strip_left and strip_right")
		}
		return strip{*c.Left, *c.Right}, nil
	case "Replace":
		if c.Pattern == nil || c.Content == nil {
			return nil, lacks("pattern and content")
		}
		p, err := c.Pattern.compile()
		return replace{p, *c.Content}, err
	case "Prepend":
		if c.Prepend == nil {
			return nil, lacks("prepend")
		}
		return prepend{*c.Prepend}, nil
	case "ByteLevel":
		return bytes2{}, nil
	case "Precompiled":
		m, err := parseCharsmap(c.Charsmap)
		if err != nil {
			return nil, err
		}
		return m, nil
	case "BertNormalizer":
		if c.CleanText == nil || c.HandleChineseChars == nil || c.Lowercase == nil {
			return nil, lacks("clean_text, handle_chinese_chars and lowercase")
		}
		b := bert{*c.CleanText, *c.HandleChineseChars, *c.Lowercase, *c.Lowercase}
		if c.StripAccents != nil {
			b.accents = *c.StripAccents
		}
		return b, nil
	case "Sequence":
		var list several
		for _, raw := range c.Normalizers {
			n, err := parseNormalizer(raw)
			if err != nil {
				return nil, err
			}
			if n != nil {
				list = append(list, n)
			}
		}
		return list, nil
	}
	return nil, unknownType("normalizer", kind)
}

// lacking is the error for a setting that is missing.
func lacking(where, name string) error {
	return &errs.Error{Kind: errs.Corrupt, Subject: where, Want: name, Got: "none"}
}

// unknownType is the error for a part that this package does not have.
func unknownType(what, kind string) error {
	return &errs.Error{Kind: errs.Unsupported, Subject: what, Want: "a type that Bivouac has", Got: kind,
		Remedy: "give dataset.OpenOptions a Tokenizer of your own"}
}
