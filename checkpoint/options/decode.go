package options

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

func decode(v value) (Options, error) {
	var o Options
	err := decodeInto(reflect.ValueOf(&o).Elem(), v, "")
	return o, err
}

// decodeInto sets out, which is zero, to what v says. name is its dotted name.
func decodeInto(out reflect.Value, v value, name string) error {
	t := out.Type()
	mismatch := func(want string) error {
		got := v.kind.String()
		if v.text != "" {
			got = v.text
		}
		return at(v.line, v.col, name, want, got, "")
	}
	if c, ok := codecs[t]; ok {
		if v.kind == kindNull && !nullable(t) {
			return nil // None is Orbax's default: as if it were left out
		}
		x, ok := c.decode(v)
		if !ok {
			return mismatch(c.want)
		}
		out.Set(reflect.ValueOf(x))
		return nil
	}
	if v.kind == kindNull && name != "" {
		return nil
	}
	switch t.Kind() {
	case reflect.Struct:
		if v.kind != kindMap {
			return mismatch(kindMap.String())
		}
		return decodeGroup(out, v, name)
	case reflect.Pointer:
		out.Set(reflect.New(t.Elem()))
		return decodeInto(out.Elem(), v, name)
	case reflect.Slice:
		return decodeList(out, v, name, mismatch)
	case reflect.Map:
		return decodeStrings(out, v, name, mismatch)
	case reflect.String:
		if v.kind != kindString {
			return mismatch(kindString.String())
		}
		out.SetString(v.text)
	case reflect.Float64:
		f, err := strconv.ParseFloat(v.text, 64)
		if v.kind != kindNumber || err != nil {
			return mismatch(kindNumber.String())
		}
		out.SetFloat(f)
	default:
		i, err := integer(v)
		if err != nil || out.OverflowInt(i) {
			return mismatch("an integer")
		}
		out.SetInt(i)
	}
	return nil
}

// nullable reports whether null is a value of t rather than nothing.
func nullable(t reflect.Type) bool {
	return t == reflect.TypeFor[Limit]() || t == reflect.TypeFor[*Host]()
}

func decodeGroup(out reflect.Value, v value, name string) error {
	t := out.Type()
	for i, k := range v.keys {
		at := join(name, k.name)
		j := fieldOf(t, k.name)
		if !hasText(t, j) {
			if j >= 0 && v.items[i].kind == kindNull {
				continue // None, where a value of Go could be
			}
			return unknown(t, k, at)
		}
		if at == "array.saving.array_metadata_store" && v.items[i].kind == kindNull {
			out.Field(j).Set(reflect.ValueOf(Off)) // None disables it in Orbax
			continue
		}
		if err := decodeInto(out.Field(j), v.items[i], at); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf returns the index of the field of t itself that has a name, or -1. Fields of the embedded
// group are found only in that group.
func fieldOf(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if n, _ := keyOf(t.Field(i)); n == name {
			return i
		}
	}
	return -1
}

// hasText reports whether t has a field i, and that a text form.
func hasText(t reflect.Type, i int) bool {
	if i < 0 {
		return false
	}
	_, text := keyOf(t.Field(i))
	return text
}

func decodeList(out reflect.Value, v value, name string, mismatch func(string) error) error {
	if v.kind != kindList {
		return mismatch(kindList.String())
	}
	out.Set(reflect.MakeSlice(out.Type(), len(v.items), len(v.items)))
	for i, item := range v.items {
		if item.kind == kindNull {
			return at(item.line, item.col, name, "an element", "null", "")
		}
		if err := decodeInto(out.Index(i), item, fmt.Sprintf("%s[%d]", name, i)); err != nil {
			return err
		}
	}
	return nil
}

func decodeStrings(out reflect.Value, v value, name string, mismatch func(string) error) error {
	if v.kind != kindMap {
		return mismatch(kindMap.String())
	}
	out.Set(reflect.MakeMap(out.Type()))
	for i, k := range v.keys {
		if v.items[i].kind != kindString {
			return at(v.items[i].line, v.items[i].col, join(name, k.name), kindString.String(), v.items[i].kind.String(),
				"put it in quotes")
		}
		out.SetMapIndex(reflect.ValueOf(k.name), reflect.ValueOf(v.items[i].text))
	}
	return nil
}

// unknown is the error for a name that group t has not.
func unknown(t reflect.Type, k key, name string) error {
	var near []string
	for i := range t.NumField() {
		f := t.Field(i)
		n, text := keyOf(f)
		if n == k.name && !text {
			return at(k.line, k.col, name, "options with a text form", "a value of Go", "set "+f.Name+" in the program")
		}
		if text {
			near = append(near, n)
		}
	}
	remedy := errs.DidYouMean(k.name, near)
	if remedy == "" {
		walk(Options{}, func(f field) bool {
			if f.text && f.name != name && (f.name == k.name || len(f.name) > len(k.name) &&
				f.name[len(f.name)-len(k.name)-1:] == "."+k.name) {
				remedy = errs.DidYouMean(f.name, []string{f.name})
			}
			return remedy == ""
		})
	}
	return at(k.line, k.col, name, "a known option", "an unknown one", remedy)
}
