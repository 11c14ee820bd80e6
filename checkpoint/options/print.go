package options

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"reflect"
)

// GoString returns String, so that %#v prints no private key.
func (o Options) GoString() string { return "options.Options" + o.String() }

// String returns the set fields of the group, as Options.String does, without private keys.
func (b Bivouac) String() string { return Options{Bivouac: b}.String() }

// GoString returns String.
func (b Bivouac) GoString() string { return "options.Bivouac" + b.String() }

// Print returns the set fields of a struct as a JSON object, for people and logs. Options have
// their text form. Functions and interfaces without a text form appear as their types. Private keys
// do not appear. Types that embed Options use Print for their own String.
func Print(v any) string {
	var b bytes.Buffer
	printValue(&b, reflect.ValueOf(v), 0)
	return b.String()
}

func printValue(b *bytes.Buffer, v reflect.Value, depth int) {
	switch x := v.Interface().(type) {
	case Options:
		b.Write(appendJSON(nil, encode(x)))
		return
	case ed25519.PrivateKey:
		b.WriteString(`"set"`)
		return
	}
	switch v.Kind() {
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		printText(b, v.Type().String())
		return
	case reflect.Interface, reflect.Pointer:
		if s, ok := v.Interface().(fmt.Stringer); ok && v.Kind() == reflect.Interface {
			printText(b, s.String())
		} else if v.Kind() == reflect.Interface && depth < maxDepth && v.Elem().Kind() == reflect.Struct &&
			v.Elem().NumField() < 8 {
			printValue(b, v.Elem(), depth+1)
		} else {
			printText(b, v.Type().String())
		}
		return
	case reflect.Struct:
		if depth < maxDepth {
			printStruct(b, v, depth)
			return
		}
	}
	if s, ok := v.Interface().(fmt.Stringer); ok {
		printText(b, s.String())
		return
	}
	if text, err := json.Marshal(v.Interface()); err == nil {
		b.Write(text)
		return
	}
	printText(b, v.Type().String())
}

func printStruct(b *bytes.Buffer, v reflect.Value, depth int) {
	b.WriteByte('{')
	first := true
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || v.Field(i).IsZero() {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		printText(b, f.Name)
		b.WriteByte(':')
		printValue(b, v.Field(i), depth+1)
	}
	b.WriteByte('}')
}

func printText(b *bytes.Buffer, s string) {
	text, err := json.Marshal(s)
	if err != nil { // a string always encodes
		text = []byte(`""`)
	}
	b.Write(text)
}
