package pipeproto

import (
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/bivouac-ml/bivouac/compat/dali/internal/wire"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// reader makes messages of YAML nodes.
type reader struct{}

func invalid(n *yaml.Node, want string) error {
	got := n.ShortTag()
	if n.Kind == yaml.ScalarNode {
		got += " " + strconv.Quote(n.Value[:min(len(n.Value), 40)])
	}
	return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("line %d", n.Line), Want: want, Got: got}
}

// unknownField proposes the field whose name is most like it.
func unknownField(s *wire.Schema, key *yaml.Node) error {
	names := make([]string, len(s.Fields))
	for i := range s.Fields {
		names[i] = s.Fields[i].Name
	}
	return &errs.Error{Kind: errs.Invalid, Subject: fmt.Sprintf("line %d", key.Line), Want: "a field of " + s.Type.Name(),
		Got: strconv.Quote(key.Value[:min(len(key.Value), 40)]), Remedy: op.Nearest(key.Value, names)}
}

// message fills v, which is zero, with a mapping of fields.
func (r reader) message(s *wire.Schema, v reflect.Value, n *yaml.Node, depth int) error {
	if depth > limits().Depth {
		return &errs.Error{Kind: errs.Exhausted, Subject: fmt.Sprintf("line %d", n.Line),
			Want: fmt.Sprintf("at most %d messages in each other", limits().Depth)}
	}
	if n.Kind != yaml.MappingNode {
		return invalid(n, "a mapping of the fields of "+s.Type.Name())
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if seen[key.Value] {
			return invalid(key, "each field once")
		}
		seen[key.Value] = true
		if err := r.entry(s, v, key, value, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) entry(s *wire.Schema, v reflect.Value, key, value *yaml.Node, depth int) error {
	if key.Value == layoutKey {
		return r.layout(s, v, value)
	}
	f, ok := s.Named(key.Value)
	switch {
	case !ok:
		return unknownField(s, key)
	case f.Repeated && value.Kind == yaml.MappingNode && s.Type != argumentType && f.Message != nil &&
		f.Message.Type == argumentType:
		return r.arguments(f, v, value, depth)
	case !f.Repeated:
		return r.element(f, f.Next(v), value, depth)
	case value.Kind != yaml.SequenceNode:
		return invalid(value, "a list")
	}
	for _, e := range value.Content {
		if err := r.element(f, f.Next(v), e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) layout(s *wire.Schema, v reflect.Value, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return invalid(n, "a list of words")
	}
	words := make([]string, len(n.Content))
	for i, w := range n.Content {
		if w.Kind != yaml.ScalarNode {
			return invalid(w, "a word")
		}
		words[i] = w.Value
	}
	l, err := wire.ParseWords(s, words)
	if err != nil {
		return &errs.Error{Subject: fmt.Sprintf("line %d", n.Line), Err: err}
	}
	*s.Layout(v) = l
	return nil
}

// arguments reads the mapping of names to values.
func (r reader) arguments(f *wire.Field, v reflect.Value, n *yaml.Node, depth int) error {
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.ShortTag() != "!!str" || seen[key.Value] {
			return invalid(key, "the name of each argument once, in quotes where it is no text without")
		}
		seen[key.Value] = true
		e := f.Next(v)
		if value.Kind == yaml.MappingNode {
			if err := r.message(f.Message, e, value, depth+1); err != nil {
				return err
			}
			e.Addr().Interface().(*Argument).Name = key.Value
			continue
		}
		a, err := fromShort(key.Value, value)
		if err != nil {
			return err
		}
		e.Set(reflect.ValueOf(a))
	}
	return nil
}

// fromShort makes the argument of a scalar or a list.
func fromShort(name string, n *yaml.Node) (Argument, error) {
	if n.Kind != yaml.SequenceNode {
		value, err := shortScalar(n)
		if err != nil {
			return Argument{}, err
		}
		return NewArgument(name, value)
	}
	typ := n.Tag[min(1, len(n.Tag)):]
	if len(n.Content) > 0 {
		typ = typeOf(n.Content[0])
	}
	switch typ {
	case TypeInt:
		return fromList[int64](name, n)
	case TypeFloat:
		return fromList[float32](name, n)
	case TypeString:
		return fromList[string](name, n)
	case TypeBool:
		return fromList[bool](name, n)
	}
	return Argument{}, invalid(n, "values, or the type of a list that has none, as in !int64 []")
}

func fromList[T any](name string, n *yaml.Node) (Argument, error) {
	values := make([]T, len(n.Content))
	for i, e := range n.Content {
		v, err := shortScalar(e)
		if err != nil {
			return Argument{}, err
		}
		var ok bool
		if values[i], ok = v.(T); !ok {
			return Argument{}, invalid(e, "values of one type")
		}
	}
	return NewArgument(name, values)
}

func shortScalar(n *yaml.Node) (any, error) {
	switch typeOf(n) {
	case TypeInt:
		return parseScalar(wire.Int64, n)
	case TypeFloat:
		return parseScalar(wire.Float32, n)
	case TypeString:
		return parseScalar(wire.String, n)
	case TypeBool:
		return parseScalar(wire.Bool, n)
	}
	return nil, invalid(n, "an integer, a float, a string or a bool")
}

// element fills v with a message or a scalar.
func (r reader) element(f *wire.Field, v reflect.Value, n *yaml.Node, depth int) error {
	if f.Kind == wire.Message {
		return r.message(f.Message, v, n, depth+1)
	}
	value, err := parseScalar(f.Kind, n)
	if err == nil {
		v.Set(reflect.ValueOf(value))
	}
	return err
}

// parseScalar returns a value of the Go type of kind.
func parseScalar(kind wire.Kind, n *yaml.Node) (any, error) {
	if n.Kind != yaml.ScalarNode {
		return nil, invalid(n, "a scalar")
	}
	switch tag := n.ShortTag(); {
	case kind == wire.String && tag == "!!str":
		return n.Value, nil
	case kind == wire.String && tag == "!!binary":
		b, err := base64.StdEncoding.DecodeString(n.Value)
		if err != nil {
			return nil, invalid(n, "base64")
		}
		return string(b), nil
	case kind == wire.String:
		return nil, invalid(n, "a string, in quotes where it looks like another type")
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return nil, invalid(n, "a value without quotes")
	case kind == wire.Bool && (n.Value == "true" || n.Value == "false"):
		return n.Value == "true", nil
	case kind == wire.Bool:
		return nil, invalid(n, "true or false")
	case kind == wire.Float32:
		return parseFloat(n)
	case kind == wire.Int32:
		v, err := strconv.ParseInt(n.Value, 10, 32)
		if err != nil {
			return nil, invalid(n, "an integer of 32 bits")
		}
		return int32(v), nil
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return nil, invalid(n, "an integer of 64 bits")
	}
	return v, nil
}

func parseFloat(n *yaml.Node) (any, error) {
	switch n.Value {
	case ".nan":
		return math.Float32frombits(quietNaN), nil
	case ".inf":
		return float32(math.Inf(1)), nil
	case "-.inf":
		return float32(math.Inf(-1)), nil
	}
	if len(n.Value) > 2 && n.Value[:2] == "0x" {
		b, err := strconv.ParseUint(n.Value[2:], 16, 32)
		if err == nil {
			return math.Float32frombits(uint32(b)), nil
		}
		return nil, invalid(n, "the bits of a float")
	}
	v, err := strconv.ParseFloat(n.Value, 32)
	if err != nil {
		return nil, invalid(n, "a float")
	}
	return float32(v), nil
}
