package options

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// jsonReader makes a value from tokens, with their positions.
type jsonReader struct {
	text []byte
	dec  *json.Decoder
}

func readJSON(b []byte) (value, error) {
	r := &jsonReader{text: b, dec: json.NewDecoder(bytes.NewReader(b))}
	r.dec.UseNumber()
	v, err := r.value(0)
	if err != nil {
		return value{}, err
	}
	line, col := r.place()
	if _, err := r.dec.Token(); err != io.EOF {
		return value{}, at(line, col, "", "the end", "more", "")
	}
	return v, nil
}

// place returns the position of the next token.
func (r *jsonReader) place() (line, col int) {
	i := int(r.dec.InputOffset())
	for i < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[i]) >= 0 {
		i++
	}
	return lineAndColumn(r.text, i)
}

func lineAndColumn(text []byte, i int) (line, col int) {
	before := text[:min(i, len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

func (r *jsonReader) token() (t json.Token, line, col int, err error) {
	line, col = r.place()
	t, err = r.dec.Token()
	if err == nil {
		return t, line, col, nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		line, col = lineAndColumn(r.text, int(syntax.Offset))
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		line, col = lineAndColumn(r.text, len(r.text))
		return nil, line, col, at(line, col, "", "JSON", "the end of the text", "")
	}
	return nil, line, col, at(line, col, "", "JSON", err.Error(), "")
}

func (r *jsonReader) value(depth int) (value, error) {
	t, line, col, err := r.token()
	if err != nil {
		return value{}, err
	}
	v := value{line: line, col: col}
	switch t := t.(type) {
	case nil:
		v.kind = kindNull
	case bool:
		v.kind, v.text = kindBool, strconv.FormatBool(t)
	case json.Number:
		v.kind, v.text = kindNumber, t.String()
	case string:
		v.kind, v.text = kindString, t
	case json.Delim:
		if depth == maxDepth {
			return value{}, at(line, col, "", "options", "values nested too deep", "")
		}
		return v, r.nested(&v, t, depth+1)
	}
	return v, nil
}

func (r *jsonReader) nested(v *value, open json.Delim, depth int) error {
	v.kind = kindList
	if open == '{' {
		v.kind = kindMap
	}
	for r.dec.More() {
		if v.kind == kindMap {
			t, line, col, err := r.token()
			if err != nil {
				return err
			}
			v.keys = append(v.keys, key{t.(string), line, col}) // the decoder accepts only string keys
		}
		item, err := r.value(depth)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	if _, _, _, err := r.token(); err != nil {
		return err
	}
	return v.duplicate()
}

func appendJSON(dst []byte, v value) []byte {
	switch v.kind {
	case kindNull:
		return append(dst, "null"...)
	case kindString:
		return appendJSONString(dst, v.text)
	case kindList:
		dst = append(dst, '[')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(dst, item)
		}
		return append(dst, ']')
	case kindMap:
		dst = append(dst, '{')
		for i, item := range v.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendJSON(append(appendJSONString(dst, v.keys[i].name), ':'), item)
		}
		return append(dst, '}')
	}
	return append(dst, v.text...)
}

func appendJSONString(dst []byte, s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings have no way to fail
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}
