package torchdata

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// tdTuple is a tuple of Python; collated, it is a list as in torch.
type tdTuple []any

// tdPair is the namedtuple of the vectors.
type tdPair struct{ X, Y int64 }

// tdClass stands for a class of Python, which nothing collates.
type tdClass func()

// tdPlain is a value as the vectors write it: null, bool, number, string, list and
// object; tensors, bytes and floats as text that says what they are.
func tdPlain(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case int:
		return json.Number(strconv.Itoa(v))
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case uint64:
		return json.Number(strconv.FormatUint(v, 10))
	case uint32:
		return json.Number(strconv.FormatUint(uint64(v), 10))
	case float64:
		return tdFloat(v)
	case []byte:
		return "bytes " + hex.EncodeToString(v)
	case tensor.Tensor:
		return tdTensor(v.DType.String(), v.Shape, v.Data)
	case tdClass:
		return "object type"
	case *tensor.Tensor:
		return tdPlain(*v)
	}
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice:
		list := make([]any, r.Len())
		for i := range list {
			list[i] = tdPlain(r.Index(i).Interface())
		}
		return list
	case reflect.Map:
		m := map[string]any{}
		for _, k := range r.MapKeys() {
			m[k.String()] = tdPlain(r.MapIndex(k).Interface())
		}
		return m
	case reflect.Struct:
		m := map[string]any{}
		for i := range r.NumField() {
			m[r.Type().Field(i).Name] = tdPlain(r.Field(i).Interface())
		}
		return m
	}
	return fmt.Sprintf("unknown %T", v)
}

func tdFloat(v float64) string { return fmt.Sprintf("float %016x", math.Float64bits(v)) }

func tdTensor(dtype string, shape []int, b []byte) string {
	return fmt.Sprintf("tensor %s %v %x", dtype, append([]int{}, shape...), b)
}

// tdDecoder reads values of the vectors.
type tdDecoder struct{ blobs map[string]string }

// plain returns a recorded value in the form of tdPlain.
func (d *tdDecoder) plain(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		return d.List(v)
	case map[string]any:
		switch {
		case v["tensor"] != nil:
			return d.tensor(v, "tensor")
		case v["bytes"] != nil && len(v) == 1:
			return fmt.Sprint("bytes ", v["bytes"]), nil
		case v["float"] != nil && len(v) == 1:
			f, err := strconv.ParseFloat(fmt.Sprint(v["float"]), 64)
			return tdFloat(f), err
		case v["object"] != nil && len(v) == 1:
			return fmt.Sprint("object ", v["object"]), nil
		case v["tuple"] != nil && len(v) == 1:
			return d.plain(v["tuple"])
		case v["namedtuple"] != nil:
			return d.fields(v["fields"])
		case v["dict"] != nil && len(v) == 1:
			return d.plain(v["dict"])
		}
		out := map[string]any{}
		for k, x := range v {
			p, err := d.plain(x)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	}
	return v, nil
}

// fields returns the fields of a namedtuple, under the names that a struct has.
func (d *tdDecoder) fields(v any) (any, error) {
	m, _ := v.(map[string]any)
	out := map[string]any{}
	for k, x := range m {
		out[strings.ToUpper(k[:1])+k[1:]] = x
	}
	return d.plain(out)
}

func (d *tdDecoder) List(v []any) (any, error) {
	out := make([]any, len(v))
	for i, x := range v {
		var err error
		if out[i], err = d.plain(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (d *tdDecoder) tensor(v map[string]any, key string) (string, error) {
	dtype, _ := v[key].(string)
	list, _ := v["shape"].([]any)
	shape := make([]int, len(list))
	for i, x := range list {
		n, err := strconv.Atoi(fmt.Sprint(x))
		if err != nil {
			return "", err
		}
		shape[i] = n
	}
	text, isHex := v["hex"].(string)
	if blob, ok := v["blob"].(string); ok {
		if text, isHex = d.blobs[blob]; !isHex {
			return "", fmt.Errorf("no blob %q", blob)
		}
	}
	if isHex {
		return fmt.Sprintf("tensor %s %v %s", dtype, shape, text), nil
	}
	values, ok := v["values"].([]any)
	if !ok {
		return "", fmt.Errorf("a tensor without values")
	}
	var b []byte
	for _, x := range values {
		var err error
		if b, err = appendElement(b, dtype, x); err != nil {
			return "", err
		}
	}
	return tdTensor(dtype, shape, b), nil
}

// appendElement appends an integer or bool as a tensor holds it.
func appendElement(b []byte, dtype string, v any) ([]byte, error) {
	if t, ok := v.(bool); ok {
		n := byte(0)
		if t {
			n = 1
		}
		return append(b, n), nil
	}
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	size := map[string]int{"int8": 1, "uint8": 1, "int16": 2, "int32": 4, "int64": 8}[dtype]
	if err != nil || size == 0 {
		return nil, fmt.Errorf("an element %v of %s", v, dtype)
	}
	return append(b, binary.LittleEndian.AppendUint64(nil, uint64(n))[:size]...), nil
}

// parse reads JSON text in the form of tdPlain.
func (d *tdDecoder) parse(b []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	return d.plain(v)
}

// tdDiff returns where two values differ, as paths with what is there; paths of
// ignored are left out.
func tdDiff(path string, got, want any, ignored []string) []string {
	if slices.Contains(ignored, path) {
		return nil
	}
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		var out []string
		for _, k := range tdKeys(g, w) {
			_, inGot := g[k]
			_, inWant := w[k]
			switch {
			case inGot && inWant:
				out = append(out, tdDiff(path+"/"+k, g[k], w[k], ignored)...)
			case !slices.Contains(ignored, path+"/"+k):
				out = append(out, fmt.Sprintf("%s/%s: there %t, want %t", path, k, inGot, inWant))
			}
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		var out []string
		for i := range w {
			out = append(out, tdDiff(fmt.Sprint(path, "/", i), g[i], w[i], ignored)...)
		}
		return out
	default:
		if reflect.DeepEqual(got, want) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s, want %s", path, tdShow(got), tdShow(want))}
}

func tdKeys(a, b map[string]any) []string {
	var keys []string
	for k := range a {
		keys = append(keys, k)
	}
	for k := range b {
		if _, ok := a[k]; !ok {
			keys = append(keys, k)
		}
	}
	sort.Strings(keys)
	return keys
}

// tdShow shortens a value for a message.
func tdShow(v any) string {
	const most = 160
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
