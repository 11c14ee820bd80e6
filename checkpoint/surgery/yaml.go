package surgery

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// document is a rule in YAML: exactly one member is set.
type document struct {
	Rename    *Rename    `yaml:"rename,omitempty,flow"`
	Copy      *Copy      `yaml:"copy,omitempty,flow"`
	Drop      *Drop      `yaml:"drop,omitempty,flow"`
	Cast      *cast      `yaml:"cast,omitempty,flow"`
	Transpose *Transpose `yaml:"transpose,omitempty,flow"`
	Repeat    *Repeat    `yaml:"repeat,omitempty,flow"`
	Stack     *Stack     `yaml:"stack,omitempty,flow"`
	Unstack   *Unstack   `yaml:"unstack,omitempty,flow"`
	Fuse      *Fuse      `yaml:"fuse,omitempty,flow"`
	Split     *Split     `yaml:"split,omitempty,flow"`
}

// cast is Cast with the name of the dtype.
type cast struct {
	Match `yaml:",inline"`
	DType string `yaml:"dtype"`
}

// kinds are the keys of rules, for messages.
const kinds = "rename, copy, drop, cast, transpose, repeat, stack, unstack, fuse or split"

// text returns a rule as one line of YAML.
func text(d document) string {
	b, err := yaml.Marshal(d)
	if err != nil {
		return fmt.Sprintf("rule that is not YAML: %v", err)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// String returns the script as the YAML that Parse reads.
func (s Script) String() string {
	var b strings.Builder
	if len(s.Sources) > 0 {
		b.WriteString("sources: [")
		for i, name := range s.Sources {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(strconv.Quote(name))
		}
		b.WriteString("]\n")
	}
	b.WriteString("rules:")
	if len(s.Rules) == 0 {
		b.WriteString(" []")
	}
	b.WriteString("\n")
	for _, r := range s.Rules {
		b.WriteString("- " + r.String() + "\n")
	}
	return b.String()
}

// Parse reads a script:
//
//	sources: [base, adapter]   # names of the sources, where there are several
//	rules:
//	- rename: {pattern: 'base\.(.*)', to: '$1'}
//	- drop: {pattern: 'adapter\..*'}
//
// Members have the names of the fields of the rules, in lower case. Unknown members, a second
// document, and rules that can never be applied are errs.Invalid.
func Parse(b []byte) (Script, error) {
	s, err := parse(b)
	if err == nil {
		err = s.Check()
	}
	if err != nil {
		return Script{}, errs.Wrap("surgery.Parse", "", err)
	}
	return s, nil
}

func parse(b []byte) (Script, error) {
	var doc struct {
		Sources []string   `yaml:"sources"`
		Rules   []document `yaml:"rules"`
	}
	nodes := yaml.NewDecoder(bytes.NewReader(b))
	var root yaml.Node
	if err := nodes.Decode(&root); err != nil {
		return Script{}, notYAML(err)
	}
	if err := plain(&root); err != nil {
		return Script{}, err
	}
	if err := nodes.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return Script{}, &errs.Error{Kind: errs.Invalid, Want: "one document", Got: "several documents"}
	}
	if root.Kind == 0 || len(root.Content) != 1 {
		return Script{}, notYAML(io.EOF)
	}
	if err := known(root.Content[0], reflect.TypeOf(doc), ""); err != nil {
		return Script{}, err
	}
	if err := root.Decode(&doc); err != nil {
		return Script{}, notYAML(err)
	}
	s := Script{Sources: doc.Sources}
	for i, member := range doc.Rules {
		r, err := member.rule()
		if err != nil {
			return Script{}, errs.Wrap("", "rule "+strconv.Itoa(i+1), err)
		}
		s.Rules = append(s.Rules, r)
	}
	return s, nil
}

// notYAML returns an error with the line where a text is not YAML. It leaves out the message of the
// library, which only experts of the grammar understand.
func notYAML(err error) error {
	e := &errs.Error{Kind: errs.Invalid, Want: "rules in YAML", Got: "text that is not YAML",
		Remedy: "see docs/guide/surgery.md"}
	if errors.Is(err, io.EOF) {
		e.Got = "nothing"
	}
	if _, rest, ok := strings.Cut(err.Error(), "line "); ok {
		if line, _, ok := strings.Cut(rest, ":"); ok {
			e.Subject = "line " + line
		}
	}
	return e
}

// known returns an error unless the node can be decoded as a Go value of type t. It refuses unknown
// members, members that occur twice, and values of another kind. name is the member whose value n
// is.
func known(n *yaml.Node, t reflect.Type, name string) error {
	bad := func(want, got string) *errs.Error {
		return &errs.Error{Kind: errs.Invalid, Subject: "line " + strconv.Itoa(n.Line), Want: want, Got: got}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return known(n, t.Elem(), name)
	case reflect.Slice:
		if n.Kind != yaml.SequenceNode {
			return bad("a list"+after(" in ", name), shape(n))
		}
		for _, c := range n.Content {
			if err := known(c, t.Elem(), name); err != nil {
				return err
			}
		}
		return nil
	case reflect.Struct:
		if n.Kind != yaml.MappingNode {
			return bad("a mapping"+after(" in ", name), shape(n))
		}
		types := map[string]reflect.Type{}
		names := members(t, types)
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			member, ok := types[key.Value]
			if !ok || key.Kind != yaml.ScalarNode {
				return &errs.Error{Kind: errs.Invalid, Subject: "line " + strconv.Itoa(key.Line),
					Want: "one of " + strings.Join(names, ", ") + after(" in ", name),
					Got:  strconv.Quote(key.Value), Remedy: errs.DidYouMean(key.Value, names)}
			}
			if seen[key.Value] {
				return &errs.Error{Kind: errs.Invalid, Subject: "line " + strconv.Itoa(key.Line), Want: "each member once",
					Got: strconv.Quote(key.Value) + " twice"}
			}
			seen[key.Value] = true
			if err := known(n.Content[i+1], member, key.Value); err != nil {
				return err
			}
		}
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.Decode(reflect.New(t).Interface()) != nil {
		want := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Int: "an integer",
			reflect.Float64: "a number"}[t.Kind()]
		return bad(cmp.Or(want, "a value")+after(" in ", name), shape(n))
	}
	return nil
}

// members returns the names of the members of a struct in order, including the members of embedded
// structs, and enters their types.
func members(t reflect.Type, types map[string]reflect.Type) (names []string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case strings.Contains(options, "inline"):
			names = append(names, members(f.Type, types)...)
		default:
			name = cmp.Or(name, strings.ToLower(f.Name))
			types[name] = f.Type
			names = append(names, name)
		}
	}
	return names
}

// after returns before and text, or "" if text is empty.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// shape describes a node in words.
func shape(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return strconv.Quote(n.Value)
}

// plain returns an error for null, which would decode as a missing value, and for aliases, which
// can make a small document large.
func plain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.ShortTag() == "!!null" {
		return &errs.Error{Kind: errs.Invalid, Subject: "line " + strconv.Itoa(n.Line), Want: "a value",
			Got: "null, or an alias"}
	}
	for _, c := range n.Content {
		if err := plain(c); err != nil {
			return err
		}
	}
	return nil
}

// rule returns the one rule of the document.
func (d document) rule() (Rule, error) {
	var found []Rule
	for _, r := range []Rule{value(d.Rename), value(d.Copy), value(d.Drop), value(d.Transpose), value(d.Repeat),
		value(d.Stack), value(d.Unstack), value(d.Fuse), value(d.Split)} {
		if r != nil {
			found = append(found, r)
		}
	}
	if d.Cast != nil {
		t, err := tensor.ParseDType(d.Cast.DType)
		if err != nil {
			return nil, err
		}
		found = append(found, Cast{d.Cast.Match, t})
	}
	if len(found) != 1 {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "one of " + kinds, Got: strconv.Itoa(len(found)) + " of them"}
	}
	return found[0], nil
}

// value returns the rule that p points to, or nil if p is nil.
func value[R Rule](p *R) Rule {
	if p == nil {
		return nil
	}
	return *p
}

// Check returns errs.Invalid for a script that could never be applied: a pattern that is not a
// regular expression, an invalid name, a count below zero.
func (s Script) Check() error {
	seen := make(map[string]bool, len(s.Sources))
	for _, name := range s.Sources {
		if name == "" || strings.Contains(name, ".") || seen[name] {
			return &errs.Error{Kind: errs.Invalid, Subject: "sources", Want: "names, without dots and each once",
				Got: strconv.Quote(name)}
		}
		seen[name] = true
	}
	for i, r := range s.Rules {
		if r == nil {
			return &errs.Error{Kind: errs.Invalid, Subject: "rule " + strconv.Itoa(i+1), Got: "nil"}
		}
		if err := r.check(); err != nil {
			return errs.Wrap("", subject(i, r), err)
		}
	}
	return nil
}

// subject returns the name of a rule in errors.
func subject(i int, r Rule) string { return "rule " + strconv.Itoa(i+1) + ", " + r.String() }
