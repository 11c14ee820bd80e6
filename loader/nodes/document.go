package nodes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// document reads the state of one node. It keeps the first error.
type document struct {
	op     string
	fields map[string]json.RawMessage
	err    error
}

// parse reads a state that must have exactly the given fields.
func parse(op string, state []byte, names ...string) *document {
	d := &document{op: "nodes." + op}
	dec := json.NewDecoder(bytes.NewReader(state))
	if err := dec.Decode(&d.fields); err != nil || d.fields == nil || dec.More() {
		d.err = &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state", Want: "an object with the fields " + list(names),
			Got: excerpt(state)}
		return d
	}
	got := slices.Sorted(maps.Keys(d.fields))
	want := slices.Sorted(slices.Values(names))
	if !slices.Equal(got, want) {
		d.err = &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state", Want: "the fields " + list(want), Got: list(got),
			Remedy: "build the nodes as they were when the state was saved: a node accepts only its own state"}
	}
	return d
}

// count reads a field that is a number of at least 0.
func (d *document) count(name string) int64 {
	return read[int64](d, name, "an integer of at least 0", func(n int64) bool { return n >= 0 })
}

// flag reads a field that is true or false.
func (d *document) flag(name string) bool { return read[bool](d, name, "true or false", nil) }

// object returns the raw JSON of a field, for the node below.
func (d *document) object(name string) []byte { return d.fields[name] }

// read decodes one field.
func read[T any](d *document, name, want string, ok func(T) bool) (v T) {
	if d.err != nil {
		return v
	}
	raw := d.fields[name]
	if err := json.Unmarshal(raw, &v); err != nil || string(raw) == "null" || ok != nil && !ok(v) {
		d.err = &errs.Error{Kind: errs.Mismatch, Op: d.op, Subject: "state: " + name, Want: want, Got: excerpt(raw)}
		var zero T
		return zero
	}
	return v
}

func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func excerpt(b []byte) string {
	const most = 60
	if len(b) > most {
		return fmt.Sprintf("%.*s…", most, b)
	}
	return fmt.Sprintf("%q", b)
}

// appendKey appends the name of a field, with the comma or brace before it.
func appendKey(dst []byte, name string) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '{' && dst[len(dst)-1] != ',' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	return append(dst, '"', ':')
}

// appendCount appends a field that is a number.
func appendCount(dst []byte, name string, n int64) []byte {
	return strconv.AppendInt(appendKey(dst, name), n, 10)
}

// appendFlag appends a field that is true or false.
func appendFlag(dst []byte, name string, v bool) []byte {
	return strconv.AppendBool(appendKey(dst, name), v)
}

// appendText appends a field that is a text, or a name with any characters.
func appendText(dst []byte, text string) []byte {
	b, err := json.Marshal(text)
	if err != nil { // a string has no error
		return append(dst, `""`...)
	}
	return append(dst, b...)
}

// appender is the method AppendState of a node.
type appender interface {
	AppendState(dst []byte) ([]byte, error)
}

// appendState appends the state of s as a field.
func appendState(dst []byte, name string, s appender) ([]byte, error) {
	return s.AppendState(appendKey(dst, name))
}
