package surgery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// document is a rule in YAML: one of its members.
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
// Members have the names of the fields of the rules, in lower case. Unknown ones,
// a second document, and rules that can never be applied are errs.Invalid.
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
		return Script{}, &errs.Error{Kind: errs.Invalid, Want: "one document", Got: "more"}
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&doc); err != nil {
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

func notYAML(err error) error {
	return &errs.Error{Kind: errs.Invalid, Want: "rules in YAML", Got: strings.ReplaceAll(err.Error(), "\n", " "), Remedy: "see docs/guide/surgery.md"}
}

// plain refuses null, which decodes as nothing where there should be something,
// and aliases, which make much of little.
func plain(n *yaml.Node) error {
	if n.Kind == yaml.AliasNode || n.ShortTag() == "!!null" {
		return &errs.Error{Kind: errs.Invalid, Subject: "line " + strconv.Itoa(n.Line), Want: "a value", Got: "null, or an alias"}
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
	for _, r := range []Rule{value(d.Rename), value(d.Copy), value(d.Drop), value(d.Transpose), value(d.Repeat), value(d.Stack), value(d.Unstack), value(d.Fuse), value(d.Split)} {
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

// value is the rule that a pointer points to, nil for none.
func value[R Rule](p *R) Rule {
	if p == nil {
		return nil
	}
	return *p
}

// Check refuses, with errs.Invalid, what could never be applied: patterns that are
// no regular expressions, names that are none, counts below zero.
func (s Script) Check() error {
	for i, name := range s.Sources {
		if name == "" || strings.Contains(name, ".") || slices.Contains(s.Sources[:i], name) {
			return &errs.Error{Kind: errs.Invalid, Subject: "sources", Want: "names, without dots and each once", Got: strconv.Quote(name)}
		}
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

// subject names a rule in errors.
func subject(i int, r Rule) string { return "rule " + strconv.Itoa(i+1) + ", " + r.String() }
