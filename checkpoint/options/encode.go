package options

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
)

// encode returns the text form of what is set in o.
func encode(o Options) value { return encodeGroup(reflect.ValueOf(o)) }

func encodeGroup(v reflect.Value) value {
	out := value{kind: kindMap}
	for i := range v.NumField() {
		name, text := keyOf(v.Type().Field(i))
		if f := v.Field(i); text && !f.IsZero() {
			if item := encodeValue(f); item.kind != kindMap || len(item.keys) > 0 || f.Kind() != reflect.Struct {
				out.keys, out.items = append(out.keys, key{name: name}), append(out.items, item)
			}
		}
	}
	return out
}

func encodeValue(v reflect.Value) value {
	if c, ok := codecs[v.Type()]; ok {
		return c.encode(v)
	}
	switch v.Kind() {
	case reflect.Struct:
		return encodeGroup(v)
	case reflect.Pointer:
		return encodeValue(v.Elem())
	case reflect.Slice:
		out := value{kind: kindList}
		for i := range v.Len() {
			out.items = append(out.items, encodeValue(v.Index(i)))
		}
		return out
	case reflect.Map:
		out := value{kind: kindMap}
		m := v.Interface().(map[string]string)
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out.keys, out.items = append(out.keys, key{name: k}), append(out.items, value{kind: kindString, text: m[k]})
		}
		return out
	case reflect.String:
		return value{kind: kindString, text: v.String()}
	case reflect.Float64:
		return value{kind: kindNumber, text: strconv.FormatFloat(v.Float(), 'g', -1, 64)}
	}
	return number(v.Int())
}
