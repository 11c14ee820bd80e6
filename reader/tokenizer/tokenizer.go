// Package tokenizer makes tokens of text as a tokenizer.json says: the file that Hugging Face's
// tokenizers write. A program that imports the package can tokenize in a data.yaml:
//
//	import _ "github.com/bivouac-ml/bivouac/reader/tokenizer"
//
// Hugging Face's tokenizers 0.23 give the same ids, with special tokens added. proof/tokenizers
// compares them. Open refuses what it does not know, by name.
//
//	text ── added tokens cut out ── normalizer ── added tokens ── pre-tokenizer ── model ── post-processor
//
//	normalizers      NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, Strip, Replace, Prepend, ByteLevel,
//	                 BertNormalizer, Precompiled, Sequence
//	pre-tokenizers   ByteLevel, Split, Whitespace, WhitespaceSplit, BertPreTokenizer, Metaspace, Digits,
//	                 Punctuation, CharDelimiterSplit, Sequence
//	models           BPE (without dropout), WordPiece, WordLevel, Unigram
//	post-processors  ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, Sequence
//	truncation       of one text, on either side; padding is refused, because batches are packed here
//
// Text is UTF-8. Bytes that are not are an error.
package tokenizer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/state"
)

func init() {
	reader.RegisterTokenizer(func(path string) (reader.Tokenizer, error) { return Open(path) })
}

// Tokenizer makes tokens of text. It is safe for concurrent use.
type Tokenizer struct {
	verbatim  matcher // added tokens that are found in the text as it is
	normal    matcher // added tokens that are found in the normalized text
	normalize normalizer
	cut       preTokenizer
	model     model
	post      []template
	truncate  *truncation
	print     string
	cache     cache
}

// Open reads a tokenizer.json. The error is of kind errs.Unsupported if it has a part that this
// package does not know.
func Open(path string) (*Tokenizer, error) {
	b, err := datafs.ReadFile(context.Background(), path)
	if err != nil {
		if other := datafs.Check(path); other != nil {
			return nil, errs.Wrap("tokenizer.Open", "", other)
		}
		kind, p := shards.Kind(err), (*fs.PathError)(nil)
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, &errs.Error{Kind: kind, Op: "tokenizer.Open", Subject: path, Err: err}
	}
	t, err := Parse(b)
	return t, errs.Wrap("tokenizer.Open", path, err)
}

// Parse works like Open for the text of a tokenizer.json.
func Parse(text []byte) (t *Tokenizer, err error) {
	defer guard(len(text), &err)
	var c struct {
		Version       string          `json:"version"`
		Truncation    *truncation     `json:"truncation"`
		Padding       json.RawMessage `json:"padding"`
		AddedTokens   []addedToken    `json:"added_tokens"`
		Normalizer    json.RawMessage `json:"normalizer"`
		PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
		PostProcessor json.RawMessage `json:"post_processor"`
		Decoder       json.RawMessage `json:"decoder"`
		Model         json.RawMessage `json:"model"`
	}
	if err := decode(text, &c, "tokenizer.json"); err != nil {
		return nil, err
	}
	if c.Version != "" && c.Version != "1.0" {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "version", Want: "1.0", Got: strconv.Quote(c.Version)}
	}
	if len(c.Padding) > 0 && string(c.Padding) != "null" {
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: "padding",
			Want: "null, because samples are not padded here", Got: "padding",
			Remedy: "remove it from the file"}
	}
	t = &Tokenizer{truncate: c.Truncation}
	if t.normalize, err = parseNormalizer(c.Normalizer); err != nil {
		return nil, err
	}
	if t.cut, err = parsePreTokenizer(c.PreTokenizer); err != nil {
		return nil, err
	}
	if t.model, err = parseModel(c.Model); err != nil {
		return nil, err
	}
	if t.post, err = parsePost(c.PostProcessor); err != nil {
		return nil, err
	}
	if err := t.add(c.AddedTokens); err != nil {
		return nil, err
	}
	if err := c.Truncation.check(t.post); err != nil {
		return nil, err
	}
	h := state.NewHasher("bivouac.tokenizer.v1")
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Err: err}
	}
	h.Bytes(compact.Bytes())
	t.print = h.Sum()
	return t, nil
}

// Fingerprint identifies the tokenizer. Files that differ only in white space have the same.
func (t *Tokenizer) Fingerprint() string { return t.print }

// Encode appends the ids of a text to dst, with special tokens.
func (t *Tokenizer) Encode(text []byte, dst []int32) (ids []int32, err error) {
	if !utf8.Valid(text) {
		return dst, &errs.Error{Kind: errs.Invalid, Op: "tokenizer.Encode", Want: "text in UTF-8",
			Got: fmt.Sprintf("another byte at %d", invalidAt(text))}
	}
	begin := len(dst)
	ids = dst // if the search for a pattern panics
	defer guard(len(text), &err)
	s := string(text)
	t.verbatim.split(s, func(start, end int, id int32) {
		if id >= 0 {
			dst = append(dst, id)
			return
		}
		part, cut := s[start:end], false
		if t.normalize != nil {
			part, cut = t.normalize.normalize(part)
		}
		t.normal.split(part, func(from, to int, id int32) {
			switch {
			case err != nil:
			case id >= 0:
				dst = append(dst, id)
			default:
				dst, err = t.pieces(piece{part[from:to], start == 0 && from == 0 && !cut}, dst)
			}
		})
	})
	if err != nil {
		return dst[:begin], errs.Wrap("tokenizer.Encode", "", err)
	}
	return t.finish(dst, begin), nil
}

// guard makes an error of the panic of a search that takes too many steps.
func guard(n int, err *error) {
	switch r := recover().(type) {
	case nil:
	case tooLong:
		*err = &errs.Error{Kind: errs.Exhausted, Op: "tokenizer", Subject: "pattern " + strconv.Quote(r.pattern),
			Want: "a search of few steps", Got: fmt.Sprintf("too many in a text of %d bytes", n)}
	default:
		panic(r)
	}
}

func invalidAt(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}

// pieces appends the tokens of a part of the text without added tokens.
func (t *Tokenizer) pieces(p piece, dst []int32) (_ []int32, err error) {
	add := func(p piece) {
		if err == nil && p.text != "" {
			dst, err = t.cache.tokens(t.model, p.text, dst)
		}
	}
	if t.cut == nil {
		add(p)
	} else if p.text != "" {
		t.cut.cut(p, add)
	}
	return dst, err
}

// finish truncates the tokens from begin on, and adds special tokens.
func (t *Tokenizer) finish(dst []int32, begin int) []int32 {
	if c := t.truncate; c != nil {
		added := 0
		for _, p := range t.post {
			added += p.added()
		}
		if most := int(c.MaxLength) - added; len(dst)-begin > most {
			if c.Direction == "Left" {
				dst = append(dst[:begin], dst[len(dst)-most:]...)
			}
			dst = dst[:begin+most]
		}
	}
	for _, p := range t.post {
		dst = slices.Insert(dst, begin, p.before...)
		dst = append(dst, p.after...)
	}
	return dst
}

// truncation is the setting of that name.
type truncation struct {
	Direction string `json:"direction"`
	MaxLength int64  `json:"max_length"`
	Strategy  string `json:"strategy"`
	Stride    int64  `json:"stride"`
}

func (c *truncation) check(post []template) error {
	if c == nil {
		return nil
	}
	if c.Direction == "" {
		c.Direction = "Right"
	}
	added := 0
	for _, p := range post {
		added += p.added()
	}
	if c.Direction != "Left" && c.Direction != "Right" || c.Strategy != "LongestFirst" && c.Strategy != "OnlyFirst" ||
		c.MaxLength <= int64(added) || c.MaxLength > 1<<30 {
		return &errs.Error{Kind: errs.Unsupported, Subject: "truncation",
			Want: fmt.Sprintf("direction Left or Right, strategy LongestFirst or OnlyFirst, max_length above %d",
				added), Got: fmt.Sprintf("%+v", *c)}
	}
	return nil
}

// typed is a part with a type.
type typed struct {
	Type string `json:"type"`
}

// typeOf returns the type of a part, or "" if the part is null.
func typeOf(raw json.RawMessage, what string) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var t typed
	if err := json.Unmarshal(raw, &t); err != nil || t.Type == "" {
		return "", lacking(what, "a type")
	}
	return t.Type, nil
}

// decode reads a part. A setting that dst does not have is an error, because it may change tokens.
func decode(raw []byte, dst any, what string) error {
	if len(raw) == 0 {
		return lacking(what, "a value")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(dst)
	if err == nil && d.More() {
		err = &errs.Error{Got: "more text behind it"}
	}
	if err != nil {
		return &errs.Error{Kind: errs.Unsupported, Subject: what, Want: "the settings that Bivouac knows", Err: err}
	}
	return nil
}

// patternJSON is a pattern: a text or an expression.
type patternJSON struct {
	String *string `json:"String"`
	Regex  *string `json:"Regex"`
}

func (p *patternJSON) compile() (*pattern, error) {
	switch {
	case p.Regex != nil && p.String == nil:
		return compile(*p.Regex)
	case p.String != nil && p.Regex == nil && *p.String != "":
		return literal(*p.String), nil
	}
	return nil, lacking("pattern", "a String or a Regex")
}
