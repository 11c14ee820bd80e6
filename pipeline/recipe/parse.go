package recipe

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/arith"
	"github.com/bivouac-ml/bivouac/tensor"
)

const (
	maxBytes = 1 << 20 // of a document
	maxSteps = 1000
)

// Parse reads a recipe. It fails with errs.Invalid for an unknown name of a field, operator,
// argument, setting or step, and for a value of the wrong type. The error has the line.
func Parse(b []byte) (*Recipe, error) {
	r, err := parse(b)
	return r, errs.Wrap("recipe.Parse", "", err)
}

// parser holds what is known at a step.
type parser struct {
	recipe *Recipe
	known  map[string]bool // outputs
}

func parse(b []byte) (*Recipe, error) {
	if len(b) > maxBytes {
		return nil, &errs.Error{Kind: errs.Exhausted, Want: fmt.Sprintf("at most %d bytes", maxBytes),
			Got: fmt.Sprint(len(b))}
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case err == io.EOF:
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a recipe", Got: "an empty document"}
	case err != nil:
		return nil, &errs.Error{Kind: errs.Invalid, Want: "YAML", Err: err}
	}
	if d.Decode(&more) != io.EOF {
		return nil, refused(&more, "one document", "a second document", "")
	}
	p := &parser{recipe: &Recipe{settings: map[string]any{}}, known: map[string]bool{}}
	r := p.recipe
	fields, err := mapping(doc.Content[0], "about", "settings", "inputs", "steps", "outputs")
	if err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		need bool
		read func(n *yaml.Node) error
	}{
		{"about", false, func(n *yaml.Node) (err error) { r.about, err = text(n); return err }},
		{"settings", false, p.settings},
		{"inputs", true, func(n *yaml.Node) (err error) { r.inputs, err = words(n); return err }},
		{"steps", true, p.steps},
		{"outputs", true, func(n *yaml.Node) (err error) { r.outputs, err = words(n); return err }},
	} {
		n, ok := fields[f.name]
		if !ok && f.need {
			return nil, refused(doc.Content[0], "the field "+f.name, "none", "")
		}
		if ok {
			if err := f.read(n); err != nil {
				return nil, err
			}
		}
		for _, name := range r.inputs {
			p.known[name] = true
		}
	}
	for _, name := range r.outputs {
		if err := p.defined(fields["outputs"], name); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p *parser) settings(n *yaml.Node) error {
	fields, err := mapping(n)
	if err != nil {
		return err
	}
	for name, v := range fields {
		if p.recipe.settings[name], err = value(v); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) steps(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode || len(n.Content) > maxSteps {
		return refused(n, fmt.Sprintf("a list of at most %d steps", maxSteps), shown(n), "")
	}
	for _, item := range n.Content {
		s, err := p.step(item)
		if err != nil {
			return err
		}
		p.recipe.steps = append(p.recipe.steps, s)
		for _, name := range s.names {
			if _, taken := p.recipe.settings[name]; taken {
				return refused(item, "a name that no setting has", name, "")
			}
			p.known[name] = true
		}
	}
	return nil
}

func (p *parser) step(n *yaml.Node) (s step, err error) {
	fields, err := mapping(n, "name", "op", "apply", "of", "args", "draws")
	if err != nil {
		return s, err
	}
	s.subject = fmt.Sprintf("line %d", n.Line)
	if name, ok := fields["name"]; !ok {
		return s, refused(n, "the field name", "none", "")
	} else if s.names, err = words(name); err != nil {
		return s, err
	}
	operator, isOp := fields["op"]
	function, isApply := fields["apply"]
	if isOp == isApply {
		return s, refused(n, "op or apply", "both or neither", "")
	}
	if isApply {
		return s, p.function(&s, function, fields)
	}
	if s.op, err = text(operator); err != nil {
		return s, err
	}
	schema, err := op.Lookup(s.op)
	if err != nil {
		return s, errs.Wrap("", at(operator), err)
	}
	if of, ok := fields["of"]; ok {
		names, err := words(of)
		if err != nil {
			return s, err
		}
		for _, name := range names {
			if !p.known[name] {
				return s, p.unknown(of, name)
			}
			s.of = append(s.of, name)
		}
	}
	if args, ok := fields["args"]; ok {
		if s.args, err = p.arguments(schema, args); err != nil {
			return s, err
		}
	}
	if draws, ok := fields["draws"]; ok {
		if s.draws, err = text(draws); err == nil && !p.known[s.draws] {
			err = p.unknown(draws, s.draws)
		}
	}
	return s, err
}

// function reads a step of arithmetic.
func (p *parser) function(s *step, function *yaml.Node, fields map[string]*yaml.Node) (err error) {
	if s.apply, err = text(function); err != nil {
		return err
	}
	for _, other := range []string{"args", "draws"} {
		if n, ok := fields[other]; ok {
			return refused(n, "no "+other+" with apply", shown(n), "")
		}
	}
	of, ok := fields["of"]
	if !ok || of.Kind != yaml.SequenceNode {
		return refused(function, "a list of operands in of", "none", "")
	}
	nodes := 0
	for _, item := range of.Content {
		v, err := value(item)
		if err != nil {
			return err
		}
		switch name := v.(type) {
		case string:
			if err := p.defined(item, name); err != nil {
				return err
			}
			if p.known[name] {
				nodes++
			}
		case int, float64:
		default:
			return refused(item, "a name or a number", shown(item), "")
		}
		s.of = append(s.of, v)
	}
	if nodes == 0 {
		return refused(of, "at least one name of a step", shown(of), "")
	}
	types := slices.Repeat([]tensor.DType{tensor.Int32}, len(s.of)) // which every function takes
	if _, err := arith.ResultType(s.apply, types...); err != nil {
		return errs.Wrap("", at(function), err)
	}
	return nil
}

// arguments reads the arguments of an operator.
func (p *parser) arguments(s *op.Schema, n *yaml.Node) (map[string]any, error) {
	fields, err := mapping(n)
	if err != nil {
		return nil, err
	}
	args := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		n := fields[name]
		param, ok := s.Param(name)
		if !ok {
			known := make([]string, len(s.Params))
			for i := range s.Params {
				known[i] = s.Params[i].Name
			}
			return nil, refused(n, "an argument of "+s.FullName(), name, errs.DidYouMean(name, known))
		}
		v, err := value(n)
		if err != nil {
			return nil, err
		}
		if ref, ok := v.(string); ok && strings.HasPrefix(ref, "$") {
			if err := p.defined(n, ref[1:]); err != nil {
				return nil, err
			}
			args[name] = reference(ref[1:])
			continue
		}
		if args[name], err = convert(param, v); err != nil {
			return nil, errs.Wrap("", at(n)+", argument "+name, err)
		}
	}
	return args, nil
}

// convert returns a value as the parameter takes it. Types, colour spaces and filters are texts.
func convert(p *op.Parameter, v any) (any, error) {
	switch p.Type {
	case op.DType:
		return named(v, tensor.ParseDType)
	case op.DTypes:
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		types := make([]tensor.DType, len(list))
		for i := range list {
			d, err := named(list[i], tensor.ParseDType)
			if err != nil {
				return nil, err
			}
			types[i] = d.(tensor.DType)
		}
		return types, nil
	case op.Image:
		return named(v, func(s string) (op.ImageType, error) { return among(s, op.RGB, op.AnyData) })
	case op.Interp:
		return named(v, func(s string) (op.InterpType, error) { return among(s, op.InterpNN, op.InterpGaussian) })
	}
	return p.Convert(v)
}

func named[T any](v any, parse func(string) (T, error)) (any, error) {
	if t, ok := v.(T); ok {
		return t, nil
	}
	s, ok := v.(string)
	if !ok {
		return nil, &errs.Error{Kind: errs.Invalid, Want: "a name", Got: fmt.Sprint(v)}
	}
	return parse(s)
}

// among returns the value from first to last whose name is s.
func among[T interface {
	~uint8
	fmt.Stringer
}](s string, first, last T) (T, error) {
	var names []string
	for v := first; v <= last; v++ {
		if v.String() == s {
			return v, nil
		}
		names = append(names, v.String())
	}
	return first, &errs.Error{Kind: errs.Invalid, Want: strings.Join(names, ", "), Got: s,
		Remedy: errs.DidYouMean(s, names)}
}

// defined returns an error unless a name is an output or a setting.
func (p *parser) defined(n *yaml.Node, name string) error {
	if _, ok := p.recipe.settings[name]; ok || p.known[name] {
		return nil
	}
	return p.unknown(n, name)
}

func (p *parser) unknown(n *yaml.Node, name string) error {
	known := append(slices.Sorted(maps.Keys(p.known)), slices.Sorted(maps.Keys(p.recipe.settings))...)
	return refused(n, "an input, a setting or an earlier step", name, errs.DidYouMean(name, known))
}

// mapping returns the fields of a mapping, which must be known if names are given.
func mapping(n *yaml.Node, names ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, refused(n, "a mapping", shown(n), "")
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := fields[key.Value]; twice {
			return nil, refused(key, "each name once", key.Value+" again", "")
		}
		if key.Kind != yaml.ScalarNode || len(names) > 0 && !slices.Contains(names, key.Value) {
			return nil, refused(key, "the name of a field: "+strings.Join(names, ", "), shown(key),
				errs.DidYouMean(key.Value, names))
		}
		fields[key.Value] = n.Content[i+1]
	}
	return fields, nil
}

// text returns a string that is not empty.
func text(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || n.Value == "" {
		return "", refused(n, "a text", shown(n), "")
	}
	return n.Value, nil
}

// words returns a text, or a list of texts.
func words(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		s, err := text(n)
		return []string{s}, err
	}
	list := make([]string, len(n.Content))
	for i := range list {
		var err error
		if list[i], err = text(n.Content[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// value returns a bool, a number, a text or a list of them.
func value(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i := range list {
			var err error
			if list[i], err = value(n.Content[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err == nil {
			switch v := v.(type) {
			case bool, int, float64, string:
				return v, nil
			}
		}
	}
	return nil, refused(n, "a bool, a number, a text or a list of them", shown(n), "")
}

// ParseValue reads the value of a setting from a text, as YAML: a bool, a number, a text or a list
// of them.
func ParseValue(s string) (any, error) {
	const what = "recipe.ParseValue"
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(s), &doc); err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: what, Want: "a bool, a number, a text or a list of them",
			Got: fmt.Sprintf("%q", s), Err: err}
	}
	if len(doc.Content) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: what, Want: "a value", Got: "nothing"}
	}
	v, err := value(doc.Content[0])
	return v, errs.Wrap(what, "", err)
}

// shown returns a value as an error shows it.
func shown(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return fmt.Sprintf("%q", n.Value)
}

func at(n *yaml.Node) string { return fmt.Sprintf("line %d, column %d", n.Line, n.Column) }

func refused(n *yaml.Node, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Invalid, Subject: at(n), Want: want, Got: got, Remedy: remedy}
}
