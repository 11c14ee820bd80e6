package op

import (
	"reflect"

	"github.com/bivouac-ml/bivouac/errs"
)

// Value is something that yields one tensor a sample and can be an argument:
// a pipeline.Node, or a batch in dynamic mode.
type Value interface {
	// OpValue marks the type.
	OpValue()
}

// Arg is an argument of an operator. The zero Arg means the parameter's
// default; [Const] gives a constant, [Of] one value a sample.
type Arg[T any] struct {
	set   bool
	value T
	from  Value
}

// Const returns an argument that is v for all samples. v is not copied; it must not change
// afterwards.
func Const[T any](v T) Arg[T] { return Arg[T]{set: true, value: v} }

// Of returns an argument that takes its value for each sample from v, which
// must yield as many numbers a sample as T holds.
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
	Const any   // of one of the types of Type, when From is nil
	From  Value // the source of one value a sample, or nil
}

// Args are untyped arguments by parameter name. A value is a constant or a
// [Value]. The string "name", which is no parameter of any operator, names the
// node. Graphs that are read from files come this way; Go code uses the structs of
// op/opargs.
type Args map[string]any

// Arguments returns the arguments that args, an [Args] or a struct whose fields are tagged
// `op:"parameter"`, sets, by parameter name, and the node's name (field tagged `op:",name"`), which
// is empty if no name was given. Plain fields with their zero value are not set. Anything else is
// an error.
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
