package orbax

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// member is one entry of a JSON object in file order.
type member struct {
	key   string
	value json.RawMessage
}

// members splits a JSON object into its members, in order.
func members(b []byte) ([]member, error) {
	var out []member
	err := eachMember(b, func(key string, dec *json.Decoder) error {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		out = append(out, member{key, raw})
		return err
	})
	return out, err
}

// eachMember calls value for each member of a JSON object, in order, to decode
// the value that follows. Duplicate keys are an error: which of two counts would
// depend on the reader.
func eachMember(b []byte, value func(key string, dec *json.Decoder) error) error {
	if !utf8.Valid(b) {
		return fmt.Errorf("not UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return fmt.Errorf("want an object, got %v", t)
	}
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return fmt.Errorf("want a member name, got %v", t)
		}
		if seen[key] {
			return fmt.Errorf("member %q twice", key)
		}
		seen[key] = true
		if err := value(key, dec); err != nil {
			return fmt.Errorf("member %q: %w", key, err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if dec.More() {
		return fmt.Errorf("bytes after the object")
	}
	return nil
}

// appendJSON appends v without escaping <, > and &.
func appendJSON(dst []byte, v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		// Only strings, booleans and already validated RawMessages come here.
		return append(dst, "null"...)
	}
	return append(dst, bytes.TrimRight(buf.Bytes(), "\n")...)
}

func corrupt(file, format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "orbax", Subject: file, Got: fmt.Sprintf(format, args...)}
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }
