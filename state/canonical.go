package state

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// maxDepth bounds the nesting of documents from outside.
const maxDepth = 100

// Canonical returns b, one JSON value, in the one form that all equal values have:
//   - no spaces
//   - names sorted by their bytes
//   - only the escapes that JSON demands
//   - integers exactly as they are
//   - other numbers in the shortest form that reads back as the same float64
//
// Canonical does not change its own result.
//
// The error is of kind errs.Corrupt for malformed JSON, a name that is twice in an object, text
// that is not UTF-8, half a surrogate pair, a number out of range, nesting deeper than 100, and
// bytes after the value.
func Canonical(b []byte) ([]byte, error) {
	v, err := parse(b)
	if err != nil {
		return nil, errs.Wrap("state.Canonical", "", err)
	}
	return appendValue(nil, v), nil
}

// parse reads one JSON value into nil, bool, json.Number in canonical form,
// string, []any and map[string]any.
func parse(b []byte) (any, error) {
	if err := CheckText(b); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, corrupt("", "", "one JSON value", "bytes after the value")
	}
	return v, nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	tok, err := dec.Token()
	if err != nil {
		return nil, malformed(err)
	}
	if depth > maxDepth {
		return nil, corrupt("", "", "at most "+strconv.Itoa(maxDepth)+" levels of nesting", "more levels")
	}
	switch t := tok.(type) {
	case json.Number:
		return canonicalNumber(t)
	case json.Delim:
		if t == '[' {
			return parseArray(dec, depth)
		}
		return parseObject(dec, depth)
	default:
		return tok, nil
	}
}

func parseArray(dec *json.Decoder, depth int) (any, error) {
	list := []any{}
	for dec.More() {
		v, err := parseValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := dec.Token()
	return list, malformed(err)
}

func parseObject(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return nil, malformed(err)
		}
		name, ok := tok.(string)
		if _, twice := object[name]; twice || !ok {
			return nil, corrupt("", strconv.Quote(name), "each name once", "the same name twice")
		}
		if object[name], err = parseValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, malformed(err)
}

func malformed(err error) error {
	if err == nil {
		return nil
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return &errs.Error{Kind: errs.Corrupt, Want: "JSON", Err: err}
}

// CheckText returns an error of kind errs.Corrupt for JSON that package encoding/json would change
// silently: bytes that are not UTF-8, and \u escapes of half a surrogate pair.
func CheckText(b []byte) error {
	if !utf8.Valid(b) {
		return corrupt("", "", "UTF-8", "bytes that are not UTF-8")
	}
	return checkSurrogates(b)
}

// checkSurrogates returns an error for \u escapes of half a surrogate pair. Package encoding/json
// replaces them by U+FFFD silently.
func checkSurrogates(b []byte) error {
	unit := func(b []byte) (uint64, bool) {
		if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
			return 0, false
		}
		u, err := strconv.ParseUint(string(b[2:6]), 16, 16)
		return u, err == nil
	}
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		u, ok := unit(b[i:])
		i++ // skip the escaped character
		if !ok || u < 0xD800 || u > 0xDFFF {
			continue
		}
		low, ok := unit(b[i+5:])
		if u >= 0xDC00 || !ok || low < 0xDC00 || low > 0xDFFF {
			return corrupt("", "", "whole surrogate pairs", "half a pair")
		}
		i += 6 + 4
	}
	return nil
}

func canonicalNumber(n json.Number) (json.Number, error) {
	if !strings.ContainsAny(string(n), ".eE") {
		if n == "-0" {
			return "0", nil
		}
		return n, nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return "", corrupt("", "", "numbers in the range of float64", cut(string(n)))
	}
	if f == 0 {
		return "0", nil
	}
	// The rule is from ECMAScript. Package encoding/json follows it too.
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return json.Number(strconv.FormatFloat(f, 'f', -1, 64)), nil
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	if i := len(s) - 2; s[i] == '0' && s[i-1] == '-' { // write e-09 as e-9
		s = s[:i] + s[i+1:]
	}
	return json.Number(s), nil
}

func appendValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case json.Number:
		return append(dst, v...)
	case string:
		return appendString(dst, v)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendValue(dst, e)
		}
		return append(dst, ']')
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, name), ':')
			dst = appendValue(dst, v[name])
		}
		return append(dst, '}')
	}
	return dst // parse returns no other types
}

// AppendString appends a text in the form that Canonical writes.
func AppendString(dst []byte, s string) []byte { return appendString(dst, s) }

func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		case c == '\b':
			dst = append(dst, `\b`...)
		case c == '\f':
			dst = append(dst, `\f`...)
		case c < 0x20:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// describe describes a parsed value in messages.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return cut(string(v))
	case string:
		return strconv.Quote(cut(v))
	case []any:
		return "an array"
	}
	return "an object"
}
