package options

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
)

// kind is what a value of a text form is.
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

// value is a text form, whatever the syntax: what JSON and YAML have in common.
// Members of a mapping keep their order.
type value struct {
	kind      kind
	line, col int    // from 1, of its first byte; 0 where it was not parsed
	text      string // of a bool "true" or "false", of a number its decimal form, of a string itself
	keys      []key
	items     []value
}

type key struct {
	name      string
	line, col int
}

// maxDepth is how deep groups may be nested; options need 5.
const maxDepth = 16

// MarshalJSON returns the options that are set, under Orbax's names, in the
// order of Options. Functions, stores, registries and the private key are left out.
func (o Options) MarshalJSON() ([]byte, error) { return appendJSON(nil, encode(o)), nil }

// UnmarshalJSON is ParseJSON.
func (o *Options) UnmarshalJSON(b []byte) (err error) {
	*o, err = ParseJSON(b)
	return err
}

// String returns MarshalJSON: what is set, the same each time.
func (o Options) String() string { return string(appendJSON(nil, encode(o))) }

// ParseJSON reads options as MarshalJSON writes them. Names that no option has,
// with the one that may have been meant, names that come twice, values of
// another type and whatever follows are errs.Invalid, with line and column. So
// is what Validate refuses.
func ParseJSON(b []byte) (Options, error) {
	return parse("options.ParseJSON", b, readJSON)
}

// ParseYAML is ParseJSON for one document of YAML 1.2, or none. Anchors, aliases
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

// valid returns the options of a text form that was read.
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

// at is an error about what stands at a place of the text.
func at(line, col int, subject, want, got, remedy string) error {
	place := fmt.Sprintf("line %d, column %d", line, col)
	if subject != "" {
		place = subject + ", " + place
	}
	return &errs.Error{Kind: errs.Invalid, Subject: place, Want: want, Got: got, Remedy: remedy}
}

// duplicate reports the first key that comes twice.
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
