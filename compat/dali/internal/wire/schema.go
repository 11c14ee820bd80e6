package wire

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Kind is what a field of a message holds.
type Kind uint8

// The kinds.
const (
	String Kind = iota + 1
	Bytes
	Bool
	Int32
	Int64
	Float32
	Message
)

var kinds = map[reflect.Type]Kind{
	reflect.TypeFor[string]():  String,
	reflect.TypeFor[bool]():    Bool,
	reflect.TypeFor[int32]():   Int32,
	reflect.TypeFor[int64]():   Int64,
	reflect.TypeFor[float32](): Float32,
}

// Field is one field of a message.
type Field struct {
	Number   protowire.Number
	Name     string
	Kind     Kind
	Repeated bool    // a slice, but not of bytes
	Optional bool    // a pointer
	Always   bool    // in canonical form even when zero
	Required bool    // a message without it is refused
	Index    int     // of the struct field
	Message  *Schema // of a Message

	tag  []byte       // canonical
	elem reflect.Type // of one element
}

// Schema is the fields of a message, by ascending numbers.
type Schema struct {
	Type   reflect.Type
	Fields []Field

	layout int // index of the Layout
	number map[protowire.Number]int
	name   map[string]int
}

// Named returns the field of that name.
func (s *Schema) Named(name string) (*Field, bool) {
	i, ok := s.name[name]
	if !ok {
		return nil, false
	}
	return &s.Fields[i], true
}

// Layout returns the layout of a message, which is addressable.
func (s *Schema) Layout(message reflect.Value) *Layout {
	return message.Field(s.layout).Addr().Interface().(*Layout)
}

// schemaOf reads the tags of a struct. It panics where they are wrong, which is
// a defect of the program.
func schemaOf(t reflect.Type, known map[reflect.Type]*Schema) *Schema {
	if s, ok := known[t]; ok {
		return s
	}
	s := &Schema{Type: t, layout: -1, number: map[protowire.Number]int{}, name: map[string]int{}}
	known[t] = s
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Type == reflect.TypeFor[Layout]() {
			s.layout = i
			continue
		}
		f := fieldOf(sf, i, known)
		if n := len(s.Fields); n > 0 && s.Fields[n-1].Number >= f.Number {
			panic(fmt.Sprintf("wire: %v.%s: numbers do not ascend", t, sf.Name))
		}
		s.number[f.Number], s.name[f.Name] = len(s.Fields), len(s.Fields)
		s.Fields = append(s.Fields, f)
	}
	if s.layout < 0 {
		panic(fmt.Sprintf("wire: %v has no Layout", t))
	}
	return s
}

func fieldOf(sf reflect.StructField, index int, known map[reflect.Type]*Schema) Field {
	words := strings.Split(sf.Tag.Get("dali"), ",")
	number, err := strconv.Atoi(words[0])
	if err != nil || len(words) < 2 {
		panic(fmt.Sprintf("wire: field %s: tag %q", sf.Name, sf.Tag))
	}
	f := Field{Number: protowire.Number(number), Name: words[1], Index: index}
	for _, w := range words[2:] {
		f.Always = f.Always || w == "always" || w == "required"
		f.Required = f.Required || w == "required"
	}
	t := sf.Type
	switch {
	case t == reflect.TypeFor[[]byte]():
		f.Kind = Bytes
	case t.Kind() == reflect.Slice:
		f.Repeated, t = true, t.Elem()
	case t.Kind() == reflect.Pointer:
		f.Optional, t = true, t.Elem()
	}
	if f.Kind == 0 {
		f.Kind = kinds[t]
	}
	if f.Kind == 0 && t.Kind() == reflect.Struct {
		f.Kind, f.Message = Message, schemaOf(t, known)
	}
	if f.Kind == 0 {
		panic(fmt.Sprintf("wire: field %s: %v", sf.Name, sf.Type))
	}
	f.elem = t
	f.tag = protowire.AppendTag(nil, f.Number, f.wireType())
	return f
}

// wireType is the type of the field's occurrences in canonical form.
func (f *Field) wireType() protowire.Type {
	switch f.Kind {
	case Bool, Int32, Int64:
		return protowire.VarintType
	case Float32:
		return protowire.Fixed32Type
	}
	return protowire.BytesType
}

// accepts reports whether an occurrence of that type is one of the field;
// packed, whether it holds elements of it one behind the other.
func (f *Field) accepts(t protowire.Type) (ok, packed bool) {
	if t == f.wireType() {
		return true, false
	}
	packed = f.Repeated && t == protowire.BytesType
	return packed, packed
}

// Elements returns the values of a field: the elements of a slice, or the one value that the
// struct, the pointer or the value holds. A nil pointer holds no value. A zero value counts when
// present says that it was in the bytes, or when canonical form always has it.
func (f *Field) Elements(message reflect.Value, present bool) []reflect.Value {
	v := message.Field(f.Index)
	switch {
	case f.Repeated:
		out := make([]reflect.Value, v.Len())
		for i := range out {
			out[i] = v.Index(i)
		}
		return out
	case f.Optional && v.IsNil():
		return nil
	case f.Optional:
		return []reflect.Value{v.Elem()}
	case present || !f.isZero(v):
		return []reflect.Value{v}
	}
	return nil
}

func (f *Field) isZero(v reflect.Value) bool {
	if f.Kind == Bytes {
		return v.Len() == 0
	}
	return v.IsZero()
}

// Next returns a new element of the field: one more of a slice, or the value.
func (f *Field) Next(message reflect.Value) reflect.Value {
	v := message.Field(f.Index)
	switch {
	case f.Repeated:
		n := v.Len()
		v.Grow(1)
		v.SetLen(n + 1)
		v.Index(n).SetZero()
		return v.Index(n)
	case f.Optional:
		v.Set(reflect.New(v.Type().Elem()))
		return v.Elem()
	}
	return v
}

// same reports whether two elements would be written alike.
func (f *Field) same(a, b reflect.Value) bool {
	switch f.Kind {
	case Bytes:
		return string(a.Bytes()) == string(b.Bytes())
	case Float32:
		return bits(a) == bits(b)
	}
	return a.Equal(b)
}

func bits(v reflect.Value) uint32 { return math.Float32bits(v.Interface().(float32)) }
