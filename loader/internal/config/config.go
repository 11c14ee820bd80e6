// Package config reads options from YAML and JSON. Its errors name the option, the line and the
// file.
package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader/internal/document"
)

// Text is the text of a configuration, for errors.
type Text struct {
	Op      string // begins errors
	File    string // or ""
	Inspect bool   // environment variables may be missing
	// Getenv returns an environment variable. nil is os.LookupEnv.
	Getenv func(name string) (string, bool)
}

// Parse returns the value of the whole text. Its Node is nil if the text is empty.
func (c *Text) Parse(text []byte) (Value, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		where := ""
		if _, rest, ok := strings.Cut(err.Error(), "line "); ok {
			line, _, _ := strings.Cut(rest, ":")
			where = "line " + line
		}
		if c.File != "" {
			where = strings.TrimPrefix(where+" of "+c.File, " of ")
		}
		return Value{}, c.Wrong(where, "YAML or JSON", "text that is neither")
	}
	if len(document.Content) == 0 {
		return Value{In: c}, nil
	}
	return Value{Node: document.Content[0], In: c}, nil
}

// Wrong returns an error of kind errs.Invalid.
func (c *Text) Wrong(field, want, got string) *errs.Error {
	return &errs.Error{Kind: errs.Invalid, Op: c.Op, Subject: field, Want: want, Got: got}
}

// Value is a value of a configuration with its name.
type Value struct {
	Name string // or ""
	Node *yaml.Node
	In   *Text
}

// Each calls set for each entry of a mapping. It returns an error for a name that comes twice.
func (v Value) Each(set func(name string, v Value) error) error {
	if v.Node.Kind != yaml.MappingNode {
		return v.Wrong("names and values")
	}
	prefix := ""
	if v.Name != "" {
		prefix = v.Name + "."
	}
	var seen []string
	for i := 0; i+1 < len(v.Node.Content); i += 2 {
		key := v.Node.Content[i]
		v := Value{prefix + key.Value, v.Node.Content[i+1], v.In}
		if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
			return v.Wrong("a name")
		}
		if slices.Contains(seen, key.Value) {
			return v.Wrong("each name at most once")
		}
		seen = append(seen, key.Value)
		if err := set(key.Value, v); err != nil {
			return err
		}
	}
	return nil
}

// EachElement calls set for each element of a list.
func (v Value) EachElement(set func(i int, v Value) error) error {
	if v.Node.Kind != yaml.SequenceNode || len(v.Node.Content) == 0 {
		return v.Wrong("a list")
	}
	for i := range v.Node.Content {
		if err := set(i, v.Element(i)); err != nil {
			return err
		}
	}
	return nil
}

// Element returns an element of a list.
func (v Value) Element(i int) Value {
	return Value{v.Name + "[" + strconv.Itoa(i) + "]", v.Node.Content[i], v.In}
}

// Where says where the value stands.
func (v Value) Where() string {
	where := "line " + strconv.Itoa(v.Node.Line)
	if v.Name != "" {
		where = v.Name + " in " + where
	}
	if v.In.File != "" {
		where += " of " + v.In.File
	}
	return where
}

// Wrong returns the error for a value that is not what want says.
func (v Value) Wrong(want string) error {
	got := strconv.Quote(document.CutText(v.Node.Value, 60))
	switch v.Node.Kind {
	case yaml.MappingNode:
		got = "a mapping"
	case yaml.SequenceNode:
		got = "a list"
	case yaml.AliasNode:
		got = "an alias"
	default:
		if v.Node.Tag != "!!str" {
			got = v.Node.Value
		}
	}
	return v.In.Wrong(v.Where(), want, got)
}

// Is reports whether the value is a scalar with a tag, such as "!!int".
func (v Value) Is(tag string) bool { return v.Node.Kind == yaml.ScalarNode && v.Node.Tag == tag }

// Null reports whether the value is null.
func (v Value) Null() bool { return v.Is("!!null") }

// Integer reads an integer of at least least that fits int32.
func (v Value) Integer(least int) (n int, err error) {
	if !v.Is("!!int") || v.Node.Decode(&n) != nil || n < least || n > math.MaxInt32 {
		return 0, v.Wrong(fmt.Sprintf("an integer of %d to %d", least, math.MaxInt32))
	}
	return n, nil
}

// Text reads a text.
func (v Value) Text() (s string, err error) {
	if !v.Is("!!str") {
		return "", v.Wrong("text")
	}
	return v.Node.Value, nil
}

// Unknown returns the error for a name that is not one of names.
func (v Value) Unknown(name string, names []string) error {
	e := v.In.Wrong(v.Where(), "a known name", strconv.Quote(document.CutText(name, 60)))
	e.Remedy = errs.DidYouMean(name, names)
	return e
}
