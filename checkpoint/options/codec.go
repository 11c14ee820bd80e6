package options

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/tensor"
)

// codec converts a type to and from its own text form. The error of decode says what it wants.
// encode is never called with a zero value.
type codec struct {
	want   string
	decode func(value) (any, bool)
	encode func(reflect.Value) value
}

// codecs has a codec for each such type. Other types have the text form of their Go kind.
var codecs = map[reflect.Type]codec{
	reflect.TypeFor[Toggle](): {
		want: "true or false",
		decode: func(v value) (any, bool) {
			return ToggleOf(v.text == "true"), v.kind == kindBool
		},
		encode: func(v reflect.Value) value { return value{kind: kindBool, text: v.Interface().(Toggle).String()} },
	},
	reflect.TypeFor[Limit](): {
		want: "at least 1 byte, or null for no bound",
		decode: func(v value) (any, bool) {
			if v.kind == kindNull {
				return Limit(Unlimited), true
			}
			n, err := integer(v)
			return Limit(n), err == nil && (n > 0 || n == Unlimited)
		},
		encode: func(v reflect.Value) value {
			if v.Int() == Unlimited {
				return value{kind: kindNull}
			}
			return number(v.Int())
		},
	},
	reflect.TypeFor[FileSize](): {
		want: "a number of bytes, or 0 for no bound",
		decode: func(v value) (any, bool) {
			n, err := integer(v)
			if n == 0 {
				n = Unlimited
			}
			return FileSize(n), err == nil && (n > 0 || n == Unlimited)
		},
		encode: func(v reflect.Value) value { return number(max(0, v.Int())) },
	},
	reflect.TypeFor[time.Duration](): {
		want:   "more than 0 seconds, or -1 for no bound",
		decode: decodeSeconds,
		encode: func(v reflect.Value) value {
			if v.Int() < 0 {
				return number(Unlimited)
			}
			return value{kind: kindNumber, text: strconv.FormatFloat(time.Duration(v.Int()).Seconds(), 'f', -1, 64)}
		},
	},
	reflect.TypeFor[*Host](): {
		want: "the number of a process, or null for every process",
		decode: func(v value) (any, bool) {
			if v.kind == kindNull {
				return new(EveryHost), true
			}
			n, err := integer(v)
			return new(Host(n)), err == nil && n >= 0 && n <= math.MaxInt32
		},
		encode: func(v reflect.Value) value {
			if v.Elem().Int() == int64(EveryHost) {
				return value{kind: kindNull}
			}
			return number(v.Elem().Int())
		},
	},
	reflect.TypeFor[fs.FileMode](): {
		want: "a number of permission bits",
		decode: func(v value) (any, bool) {
			n, err := integer(v)
			return fs.FileMode(n), err == nil && n > 0 && n <= math.MaxUint32
		},
		encode: func(v reflect.Value) value { return number(int64(v.Uint())) },
	},
	reflect.TypeFor[ed25519.PublicKey](): {
		want: "32 bytes in base64",
		decode: func(v value) (any, bool) {
			b, err := base64.StdEncoding.Strict().DecodeString(v.text)
			return ed25519.PublicKey(b), err == nil && v.kind == kindString && len(b) == ed25519.PublicKeySize
		},
		encode: func(v reflect.Value) value {
			return value{kind: kindString, text: base64.StdEncoding.EncodeToString(v.Bytes())}
		},
	},
	reflect.TypeFor[tensor.DType](): {
		want: "the name of an element type",
		decode: func(v value) (any, bool) {
			d, err := tensor.ParseDType(v.text)
			return d, err == nil && v.kind == kindString && d.Valid()
		},
		encode: stringOf,
	},
	reflect.TypeFor[Layout]():           choice[Layout](layoutNames, "layout"),
	reflect.TypeFor[Compression]():      choice[Compression](compressionNames, "compression"),
	reflect.TypeFor[CheckpointLayout](): choice[CheckpointLayout](checkpointLayouts, "checkpoint layout"),
	reflect.TypeFor[AtomicityMode]():    choice[AtomicityMode](atomicityModes, "atomicity mode"),
	reflect.TypeFor[PathwaysImpl]():     choice[PathwaysImpl](pathwaysImpls, "pathways implementation"),
}

func choice[V enum.Value](names []string, what string) codec {
	want := "one of"
	for _, n := range names[1:] {
		want += " " + n
	}
	return codec{
		want: want,
		decode: func(v value) (any, bool) {
			x, err := parseName[V](names, v.text, what)
			return x, err == nil && v.kind == kindString
		},
		encode: stringOf,
	}
}

func stringOf(v reflect.Value) value {
	return value{kind: kindString, text: v.Interface().(interface{ String() string }).String()}
}

func number(i int64) value { return value{kind: kindNumber, text: strconv.FormatInt(i, 10)} }

var errNumber = errors.New("not an integer")

// integer reads a number without a fraction: 2, but also 2.0 and 2e9, because some writers print
// large integers so.
func integer(v value) (int64, error) {
	if v.kind != kindNumber {
		return 0, errNumber
	}
	if i, err := strconv.ParseInt(v.text, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(v.text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, errNumber
	}
	return int64(f), nil
}

func decodeSeconds(v value) (any, bool) {
	f, err := strconv.ParseFloat(v.text, 64)
	if v.kind != kindNumber || err != nil {
		return nil, false
	}
	if f == Unlimited {
		return time.Duration(Unlimited), true
	}
	ns := math.Round(f * float64(time.Second))
	return time.Duration(ns), ns >= 1 && ns < math.MaxInt64
}

func decode(v value) (Options, error) {
	var o Options
	err := decodeInto(reflect.ValueOf(&o).Elem(), v, "")
	return o, err
}

// decodeInto decodes v into out, which is zero. name is the dotted name of the option.
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
			return nil // None is the default of Orbax: as if the name were left out
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
				continue // None for an option whose value is a value of Go
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

// fieldOf returns the index of the field of t with that name, or -1. Fields of the embedded group
// belong to that group, not to t.
func fieldOf(t reflect.Type, name string) int {
	for i := range t.NumField() {
		if n, _ := keyOf(t.Field(i)); n == name {
			return i
		}
	}
	return -1
}

// hasText reports whether field i of t exists and has a text form.
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

// unknown returns the error for a name that group t does not have.
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
