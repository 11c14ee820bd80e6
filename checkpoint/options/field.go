package options

import (
	"reflect"
	"strings"
)

// field is one option: a leaf of the groups.
type field struct {
	name  string // dotted, in Orbax's spelling
	text  bool   // has a place in the text forms
	value reflect.Value
}

// keyOf returns the name of a struct field in Orbax, and whether the text
// forms have it.
func keyOf(f reflect.StructField) (name string, text bool) {
	if name = f.Tag.Get("json"); name != "-" {
		return name, true
	}
	return f.Tag.Get("orbax"), false
}

// isGroup reports whether t is a group of options rather than an option.
func isGroup(t reflect.Type) bool { return t.Kind() == reflect.Struct && own(t) }

// walk calls visit for the options of o in their order until it returns false.
func walk(o Options, visit func(field) bool) { walkValue(reflect.ValueOf(o), "", visit) }

func walkValue(v reflect.Value, at string, visit func(field) bool) bool {
	for i := range v.NumField() {
		name, text := keyOf(v.Type().Field(i))
		name = join(at, name)
		if isGroup(v.Field(i).Type()) {
			if !walkValue(v.Field(i), name, visit) {
				return false
			}
		} else if !visit(field{name, text, v.Field(i)}) {
			return false
		}
	}
	return true
}

func join(at, name string) string {
	return strings.TrimPrefix(at+"."+name, ".")
}
