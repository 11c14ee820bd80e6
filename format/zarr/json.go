package zarr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
)

// maxDepth bounds the nesting of metadata.
const maxDepth = 64

// document reads one JSON document. The first fault sticks.
type document struct {
	key    string // of the document, for errors
	made   bool   // by the caller, not by a file: faults are errs.Invalid
	format Format
	err    error
}

// corrupt notes a fault of the document.
func (d *document) corrupt(format string, args ...any) {
	if d.err != nil {
		return
	}
	kind := errs.Corrupt
	if d.made {
		kind = errs.Invalid
	}
	d.err = &errs.Error{Kind: kind, Op: "zarr", Subject: d.key, Got: fmt.Sprintf(format, args...)}
}

func (d *document) unsupported(format string, args ...any) {
	if d.err == nil {
		d.err = &errs.Error{Kind: errs.Unsupported, Op: "zarr", Subject: d.key, Got: fmt.Sprintf(format, args...)}
	}
}

func corrupt(key, format string, args ...any) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "zarr", Subject: key, Got: fmt.Sprintf(format, args...)}
}

// parseJSON parses the one value in b. Unlike encoding/json it refuses duplicate
// members, invalid UTF-8 and trailing data. Numbers stay text.
func (d *document) parseJSON(b []byte) any {
	if !utf8.Valid(b) {
		d.corrupt("not UTF-8")
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	v, err := parseValue(dec, 0)
	if err == nil {
		if _, err = dec.Token(); err == io.EOF {
			return v
		}
		err = fmt.Errorf("data after the value")
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	d.corrupt("not valid JSON: %v", err)
	return nil
}

func parseValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		m := map[string]any{}
		for dec.More() {
			name, err := dec.Token()
			if err != nil {
				return nil, err
			}
			s, ok := name.(string)
			if !ok {
				return nil, fmt.Errorf("a member without a name")
			}
			if _, twice := m[s]; twice {
				return nil, fmt.Errorf("duplicate member %q", s)
			}
			if m[s], err = parseValue(dec, depth+1); err != nil {
				return nil, err
			}
		}
		_, err = dec.Token()
		return m, err
	case json.Delim('['):
		a := []any{}
		for dec.More() {
			v, err := parseValue(dec, depth+1)
			if err != nil {
				return nil, err
			}
			a = append(a, v)
		}
		_, err = dec.Token()
		return a, err
	}
	return token, nil
}

// object takes the members of a JSON object one by one, so that what nobody
// took is known.
type object struct {
	d    *document
	name string
	m    map[string]any
}

func (d *document) object(v any, name string) object {
	m, ok := v.(map[string]any)
	if !ok {
		d.corrupt("%s is not an object", name)
	}
	return object{d, name, maps.Clone(m)}
}

func (o object) take(name string) (any, bool) {
	v, ok := o.m[name]
	delete(o.m, name)
	return v, ok
}

func (o object) must(name string) any {
	v, ok := o.take(name)
	if !ok {
		o.d.corrupt("%s has no %s", o.name, name)
	}
	return v
}

// text takes a string, or fallback if the member is missing.
func (o object) text(name, fallback string) string {
	v, ok := o.take(name)
	if !ok {
		return fallback
	}
	s, ok := v.(string)
	if !ok {
		o.d.corrupt("%s of %s is not a string", name, o.name)
	}
	return s
}

// integer takes an integer between low and high, or fallback.
func (o object) integer(name string, low, high, fallback int) int {
	v, ok := o.take(name)
	if !ok {
		return fallback
	}
	n, ok := integer(v)
	if !ok || n < low || n > high {
		o.d.corrupt("%s of %s is not an integer between %d and %d", name, o.name, low, high)
	}
	return n
}

func (o object) boolean(name string, fallback bool) bool {
	v, ok := o.take(name)
	if !ok {
		return fallback
	}
	b, ok := v.(bool)
	if !ok {
		o.d.corrupt("%s of %s is not true or false", name, o.name)
	}
	return b
}

// done refuses members that nobody took. Objects that say that they need not be
// understood are passed over.
func (o object) done() {
	for _, n := range slices.Sorted(maps.Keys(o.m)) {
		if extra, ok := o.m[n].(map[string]any); ok && extra["must_understand"] == false {
			continue
		}
		o.d.corrupt("%s has an unknown member %q", o.name, n)
	}
}

// integer returns the integer that v is, in JSON or as Go code made it.
func integer(v any) (int, bool) {
	if i, ok := v.(int); ok {
		return i, true
	}
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := strconv.ParseInt(string(n), 10, 64)
	if err != nil || i > math.MaxInt || i < math.MinInt {
		return 0, false
	}
	return int(i), true
}

// extents reads a list of integers of at least low.
func (d *document) extents(v any, low int, name string) []int {
	list, ok := v.([]any)
	if !ok {
		d.corrupt("%s is not a list", name)
		return nil
	}
	out := make([]int, len(list))
	for i, e := range list {
		n, ok := integer(e)
		if !ok || n < low {
			d.corrupt("%s is not a list of integers of at least %d", name, low)
			return nil
		}
		out[i] = n
	}
	return out
}

// extension splits {"name": …, "configuration": {…}} or a bare name. Where the
// configuration is absent, it is empty.
func (d *document) extension(v any, name string) (string, object) {
	if s, ok := v.(string); ok {
		return s, object{d, s, map[string]any{}}
	}
	o := d.object(v, name)
	s, ok := o.must("name").(string)
	if !ok {
		d.corrupt("name of %s is not a string", name)
	}
	config := object{d, s, map[string]any{}}
	if c, ok := o.take("configuration"); ok {
		config = d.object(c, "configuration of "+s)
	}
	o.take("must_understand")
	o.done()
	return s, config
}

// marshal writes v compactly with sorted members.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
