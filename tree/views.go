package tree

import (
	"reflect"
	"slices"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Views returns the memory that Into fills in place if the tree agrees in structure, types and
// shapes: the tensors in dst, and its slices and arrays of numbers as tensors. The caller may write
// elements there and then call Into with a tree of the same memory. Views leaves out values that
// Into allocates, and memory of Go bools, because not every byte is a valid bool.
//
// It leaves out malformed values as well. Into reports them.
func Views(dst any) []Entry {
	var out []Entry
	v := reflect.ValueOf(dst)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			views(v.Elem(), nil, &out)
		}
	case reflect.Map, reflect.Slice:
		views(addressable(v), nil, &out)
	}
	return out
}

func views(v reflect.Value, at Path, out *[]Entry) {
	if len(at) > maxDepth || !v.IsValid() {
		return
	}
	switch v.Type() {
	case nodeType:
		return
	case tensorType:
		if t := v.Interface().(tensor.Tensor); t.Check() == nil {
			addView(t, at, out)
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		viewsOfElem(v, at, out)
	case reflect.Struct:
		viewsOfStruct(v, at, out)
	case reflect.Map:
		keys, _ := sortedKeys(v)
		for _, k := range keys {
			views(v.MapIndex(k), append(at, Key{keyName(k), KeyDict}), out)
		}
	case reflect.Slice, reflect.Array:
		viewsOfList(v, at, out)
	}
}

// viewsOfElem follows a pointer or interface, and chains of them as From does.
func viewsOfElem(v reflect.Value, at Path, out *[]Entry) {
	for range maxDepth {
		if k := v.Kind(); k != reflect.Pointer && k != reflect.Interface || v.Type() == nodeType {
			views(v, at, out)
			return
		}
		if v = v.Elem(); !v.IsValid() {
			return
		}
	}
}

func viewsOfStruct(v reflect.Value, at Path, out *[]Entry) {
	fields, err := structFields(v.Type())
	if err != nil {
		return
	}
	for _, f := range fields {
		views(v.FieldByIndex(f.index), append(at, Key{f.name, KeyAttr}), out)
	}
}

func viewsOfList(v reflect.Value, at Path, out *[]Entry) {
	d, _, ok := numericType(v.Type())
	switch {
	case !ok:
		list := &Node{Kind: List}
		for i := range v.Len() {
			views(v.Index(i), append(at, list.Key(i)), out)
		}
	case d != tensor.Bool && (v.Kind() == reflect.Slice || v.CanAddr()):
		if t, ok := numeric(v); ok {
			addView(t, at, out)
		}
	}
}

func addView(t tensor.Tensor, at Path, out *[]Entry) {
	if len(t.Data) > 0 {
		*out = append(*out, Entry{Path: slices.Clone(at), Node: &Node{Value: t}})
	}
}
