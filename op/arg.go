package op

import (
	"reflect"

	"github.com/bivouac-ml/bivouac/errs"
)

// Value is a source of one tensor per sample that can be an argument: a pipeline.Node, or a value
// in dynamic mode.
type Value interface {
	// OpValue marks the type.
	OpValue()
}

// Arg is an argument of an operator. The zero Arg means the parameter's default. [Const] makes a
// constant, and [Of] makes an argument with one value per sample.
type Arg[T any] struct {
	set   bool
	value T
	from  Value
}

// Const returns an argument that is v for all samples. v is not copied and must not change
// afterwards.
func Const[T any](v T) Arg[T] { return Arg[T]{set: true, value: v} }

// Of returns an argument that takes its value for each sample from v. For each sample, v must yield
// as many numbers as T holds.
//
//	Contrast: op.Of[float64](fn.RandomUniform(p, …))
func Of[T any](v Value) Arg[T] { return Arg[T]{set: true, from: v} }

// IsDefault reports whether a is the zero Arg.
func (a Arg[T]) IsDefault() bool { return !a.set }

// Argument returns a without its type. ok is false for the zero Arg.
func (a Arg[T]) Argument() (arg Argument, ok bool) {
	switch {
	case !a.set:
		return Argument{}, false
	case a.from != nil:
		return Argument{From: a.from}, true
	}
	return Argument{Const: a.value}, true
}

// Argument is an argument as a graph keeps it: a constant or a value per sample.
type Argument struct {
	Const any   // of one of the types of Type, if From is nil
	From  Value // the source of one value per sample, or nil
}

// Args are untyped arguments by parameter name. A value is a constant or a [Value]. The key "name",
// which is not a parameter of any operator, names the node. Graphs that are read from files use
// Args; Go code uses the structs of op/opargs.
type Args map[string]any

// Arguments returns the arguments in args by parameter name, and the name of the node. args is an
// [Args], or a struct whose fields are tagged `op:"parameter"`, with the node's name in a field
// tagged `op:",name"`. The name is empty if none was given. Plain fields with their zero value
// count as not set. Any other args is an error.
func Arguments(args any) (name string, set map[string]Argument, err error) {
	set = map[string]Argument{}
	switch m := args.(type) {
	case nil:
		return "", set, nil
	case Args:
		for k, v := range m {
			if s, ok := v.(string); ok && k == "name" {
				name = s
			} else if from, ok := v.(Value); ok {
				set[k] = Argument{From: from}
			} else {
				set[k] = Argument{Const: v}
			}
		}
		return name, set, nil
	}
	v := reflect.ValueOf(args)
	if v.Kind() != reflect.Struct {
		return "", nil, &errs.Error{Kind: errs.Invalid, Want: "op.Args or a struct of op/opargs", Got: v.Type().String()}
	}
	for i := range v.NumField() {
		tag, field := v.Type().Field(i).Tag.Get("op"), v.Field(i)
		if tag == nameTag {
			name = field.String()
			continue
		}
		if a, ok := field.Interface().(interface{ Argument() (Argument, bool) }); ok {
			if arg, ok := a.Argument(); ok {
				set[tag] = arg
			}
			continue
		}
		if !field.IsZero() {
			set[tag] = Argument{Const: field.Interface()}
		}
	}
	return name, set, nil
}

const nameTag = ",name"
