package pipeproto

import (
	"encoding/base64"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/compat/dali/internal/wire"
)

// printer makes YAML nodes of messages.
type printer struct{}

var argumentType = reflect.TypeFor[Argument]()

// message makes a mapping of the fields that are not zero, and of the layout
// where it is not DALI's.
func (p printer) message(s *wire.Schema, v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode}
	if s.Type == reflect.TypeFor[Edge]() || s.Type == argumentType {
		n.Style = yaml.FlowStyle
	}
	for i := range s.Fields {
		f := &s.Fields[i]
		elements := f.Elements(v, false)
		if len(elements) == 0 {
			continue
		}
		n.Content = append(n.Content, text(f.Name), p.field(s, f, v, elements))
	}
	if layout := s.Layout(v); !layout.IsCanonical() {
		words := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, w := range layout.Words(s) {
			words.Content = append(words.Content, text(w))
		}
		n.Content = append(n.Content, text(layoutKey), words)
	}
	return n
}

func (p printer) field(s *wire.Schema, f *wire.Field, message reflect.Value, elements []reflect.Value) *yaml.Node {
	if s.Type != argumentType && f.Kind == wire.Message && f.Message.Type == argumentType {
		if n, ok := p.arguments(f, message.Field(f.Index).Interface().([]Argument)); ok {
			return n
		}
	}
	if !f.Repeated {
		return p.element(f, elements[0])
	}
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if f.Kind != wire.Message {
		n.Style = yaml.FlowStyle
	}
	for _, e := range elements {
		n.Content = append(n.Content, p.element(f, e))
	}
	return n
}

func (p printer) element(f *wire.Field, v reflect.Value) *yaml.Node {
	if f.Kind == wire.Message {
		return p.message(f.Message, v)
	}
	return scalar(v.Interface())
}

// arguments makes one mapping of all, where their names differ.
func (p printer) arguments(f *wire.Field, args []Argument) (*yaml.Node, bool) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	seen := map[string]bool{}
	for i := range args {
		a := &args[i]
		if seen[a.Name] || !utf8.ValidString(a.Name) {
			return nil, false
		}
		seen[a.Name] = true
		value, ok := short(a)
		if !ok {
			value = p.message(f.Message, reflect.ValueOf(a).Elem())
			if len(value.Content) > 0 && value.Content[0].Value == "name" {
				value.Content = value.Content[2:]
			}
		}
		n.Content = append(n.Content, text(a.Name), value)
	}
	return n, true
}

// short makes a scalar or a list of the value of an argument.
func short(a *Argument) (*yaml.Node, bool) {
	value, ok := a.Value()
	if !ok {
		return nil, false
	}
	v := reflect.ValueOf(value)
	if !a.IsVector {
		n := scalar(value)
		return n, typeOf(n) == a.Type
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	if v.Len() == 0 {
		n.Tag = "!" + a.Type
	}
	for i := range v.Len() {
		e := scalar(v.Index(i).Interface())
		if typeOf(e) != a.Type {
			return nil, false
		}
		n.Content = append(n.Content, e)
	}
	return n, true
}

// typeOf returns the type of an argument whose value is n in short form. A float that is written by
// its bits has another type.
func typeOf(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int":
		return TypeInt
	case "!!float":
		return TypeFloat
	case "!!str", "!!binary":
		return TypeString
	case "!!bool":
		return TypeBool
	}
	return ""
}

func scalar(value any) *yaml.Node {
	switch v := value.(type) {
	case string:
		return text(v)
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(v)}
	case float32:
		return float(v)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.FormatInt(reflect.ValueOf(value).Int(), 10)}
}

// float gives the shortest text of a number. NaNs that are not the usual one are
// their bits.
func float(v float32) *yaml.Node {
	s := strconv.FormatFloat(float64(v), 'g', -1, 32)
	switch {
	case v != v && math.Float32bits(v) != quietNaN:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int",
			Value: "0x" + strconv.FormatUint(uint64(math.Float32bits(v)), 16)}
	case v != v:
		s = ".nan"
	case math.IsInf(float64(v), 1):
		s = ".inf"
	case math.IsInf(float64(v), -1):
		s = "-.inf"
	case !strings.ContainsAny(s, ".e"):
		s += ".0"
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!float", Value: s}
}

const quietNaN = 0x7fc00000

var plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)

func text(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	switch {
	case !utf8.ValidString(s):
		n.Tag, n.Value = "!!binary", base64.StdEncoding.EncodeToString([]byte(s))
	case !plain.MatchString(s):
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
