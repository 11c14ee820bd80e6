package options

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// kind is the kind of a value in a text form.
type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"null", "true or false", "a number", "a string", "a list", "a mapping"}[k]
}

// value is a parsed text form, for both JSON and YAML. Members of a mapping keep their order.
type value struct {
	kind      kind
	line, col int    // position of its first byte, from 1; 0 if it was not parsed
	text      string // "true" or "false", a number in decimal, or the string itself
	keys      []key
	items     []value
}

type key struct {
	name      string
	line, col int
}

// maxDepth bounds the nesting of groups; options need 5.
const maxDepth = 16

// MarshalJSON returns the options that are set, under the names of Orbax, in the order of Options.
// It leaves out functions, stores, registries and the private key.
func (o Options) MarshalJSON() ([]byte, error) { return appendJSON(nil, encode(o)), nil }

// UnmarshalJSON works like ParseJSON.
func (o *Options) UnmarshalJSON(b []byte) (err error) {
	*o, err = ParseJSON(b)
	return err
}

// String returns the text of MarshalJSON. Equal options give the same text.
func (o Options) String() string { return string(appendJSON(nil, encode(o))) }

// ParseJSON parses options as MarshalJSON writes them. These are errs.Invalid, with line and
// column: an unknown name (the error suggests a similar one), a name that occurs twice, a value of
// the wrong type, and text after the options. Options that Validate refuses are errs.Invalid too.
func ParseJSON(b []byte) (Options, error) {
	return parse("options.ParseJSON", b, readJSON)
}

// ParseYAML works like ParseJSON for one document of YAML 1.2, or an empty text. Anchors, aliases
// and tags are refused.
func ParseYAML(b []byte) (Options, error) {
	return parse("options.ParseYAML", b, readYAML)
}

// maxText bounds text forms, in bytes.
const maxText = 1 << 20

func parse(op string, b []byte, read func([]byte) (value, error)) (Options, error) {
	if len(b) > maxText {
		return Options{}, &errs.Error{Kind: errs.Invalid, Op: op, Want: fmt.Sprintf("at most %d bytes", maxText),
			Got: fmt.Sprint(len(b))}
	}
	o, err := valid(read(b))
	return o, errs.Wrap(op, "", err)
}

// valid decodes a parsed text form and validates the options.
func valid(v value, err error) (Options, error) {
	var o Options
	if err == nil {
		o, err = decode(v)
	}
	if err == nil {
		err = o.Validate()
	}
	if err != nil {
		return Options{}, err
	}
	return o, nil
}

// at returns an error about the text at a position.
func at(line, col int, subject, want, got, remedy string) error {
	place := fmt.Sprintf("line %d, column %d", line, col)
	if subject != "" {
		place = subject + ", " + place
	}
	return &errs.Error{Kind: errs.Invalid, Subject: place, Want: want, Got: got, Remedy: remedy}
}

// duplicate returns an error for the first key that occurs twice.
func (v value) duplicate() error {
	seen := make(map[string]key, len(v.keys))
	for _, k := range v.keys {
		if first, ok := seen[k.name]; ok {
			return at(k.line, k.col, k.name, "each name once", fmt.Sprintf("the name again after line %d", first.line), "")
		}
		seen[k.name] = k
	}
	return nil
}
