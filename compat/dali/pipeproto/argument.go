package pipeproto

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// The types of arguments and their elements.
const (
	TypeInt    = "int64"
	TypeFloat  = "float"
	TypeString = "string"
	TypeBool   = "bool"
)

// NewArgument makes an argument as DALI does. The value is an int64, float32, string or bool, or a
// slice of these. For any other value the error is of kind errs.Unsupported.
func NewArgument(name string, value any) (Argument, error) {
	switch v := value.(type) {
	case int64:
		return Argument{Name: name, Type: TypeInt, Ints: []int64{v}}, nil
	case float32:
		return Argument{Name: name, Type: TypeFloat, Floats: []float32{v}}, nil
	case string:
		return Argument{Name: name, Type: TypeString, Strings: []string{v}}, nil
	case bool:
		return Argument{Name: name, Type: TypeBool, Bools: []bool{v}}, nil
	case []int64:
		return vector(name, TypeInt, v)
	case []float32:
		return vector(name, TypeFloat, v)
	case []string:
		return vector(name, TypeString, v)
	case []bool:
		return vector(name, TypeBool, v)
	}
	return Argument{}, &errs.Error{Kind: errs.Unsupported, Op: "pipeproto.NewArgument", Subject: name,
		Want: "int64, float32, string, bool, or a slice of these", Got: fmt.Sprintf("%T", value)}
}

func vector[T any](name, typ string, values []T) (Argument, error) {
	a := Argument{Name: name, Type: typ, IsVector: true}
	for i, v := range values {
		e, err := NewArgument("element "+strconv.Itoa(i), v)
		if err != nil {
			return Argument{}, err
		}
		a.Elements = append(a.Elements, e)
	}
	return a, nil
}

// Value returns the value from which NewArgument makes a. ok is false if DALI would write the
// argument in another way.
func (a *Argument) Value() (value any, ok bool) {
	switch {
	case !a.IsVector:
		value, ok = a.scalar()
	case a.Type == TypeInt:
		value, ok = elements[int64](a)
	case a.Type == TypeFloat:
		value, ok = elements[float32](a)
	case a.Type == TypeString:
		value, ok = elements[string](a)
	case a.Type == TypeBool:
		value, ok = elements[bool](a)
	}
	if !ok {
		return nil, false
	}
	again, err := NewArgument(a.Name, value)
	if err != nil || !bytes.Equal(arguments.Append(nil, a), arguments.Append(nil, &again)) {
		return nil, false
	}
	return value, true
}

func (a *Argument) scalar() (any, bool) {
	switch {
	case len(a.Ints) == 1:
		return a.Ints[0], true
	case len(a.Floats) == 1:
		return a.Floats[0], true
	case len(a.Strings) == 1:
		return a.Strings[0], true
	case len(a.Bools) == 1:
		return a.Bools[0], true
	}
	return nil, false
}

func elements[T any](a *Argument) ([]T, bool) {
	values := make([]T, len(a.Elements))
	for i := range a.Elements {
		v, ok := a.Elements[i].scalar()
		if !ok {
			return nil, false
		}
		if values[i], ok = v.(T); !ok {
			return nil, false
		}
	}
	return values, true
}

// Argument returns the argument with the given name, or nil. The result is one of o.Args.
func (o *Op) Argument(name string) *Argument {
	for i := range o.Args {
		if o.Args[i].Name == name {
			return &o.Args[i]
		}
	}
	return nil
}
