package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// JSON handles values that encoding/json encodes, except tensors and bytes, which would come back
// as text. It corresponds to the JsonHandler of Orbax.
//
// A load returns maps, slices, strings, bools, nil and numbers. An integer of any size is an int64,
// uint64 or *big.Int; another number is a float64. NaN and the infinities are read as Python writes
// them. If the abstract value is a pointer, encoding/json fills it and it is returned. If it is a
// json.RawMessage, the text is returned. A json.RawMessage is saved unchanged.
type JSON struct {
	// File is the name of the file; "" is data.json. A load tries File, then data.json, then
	// "metadata", the name in v0.
	File string
}

// TypeString returns TypeJSON.
func (JSON) TypeString() string { return TypeJSON }

// Handles reports whether v is JSON. Messages and objects that save themselves are not.
func (JSON) Handles(v any) bool {
	if !plain(v) || hasArrays(reflect.ValueOf(v), 0) {
		return false
	}
	_, err := json.Marshal(v)
	return err == nil
}

// HandlesAbstract returns Ask, as in Orbax: any value may be JSON.
func (JSON) HandlesAbstract(any) Verdict { return Ask }

// Save encodes v.
func (h JSON) Save(_ context.Context, v any) (Commit, error) {
	if hasArrays(reflect.ValueOf(v), 0) {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "handler.JSON.Save", Want: "JSON", Got: "tensors or bytes",
			Remedy: "save it as a tree"}
	}
	if raw, ok := v.(json.RawMessage); ok && json.Valid(raw) {
		text := bytes.Clone(raw)
		return func(ctx context.Context, dir Writer) error { return dir.Put(ctx, h.files()[0], text) }, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "handler.JSON.Save",
			Want: "a value that encoding/json can encode", Err: err}
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return func(ctx context.Context, dir Writer) error { return dir.Put(ctx, h.files()[0], text) }, nil
}

// hasArrays reports whether there are tensors or bytes in v.
func hasArrays(v reflect.Value, depth int) bool {
	const deepest = 1000 // from this depth on, encoding/json detects cycles
	if !v.IsValid() || depth > deepest {
		return false
	}
	t := v.Type()
	switch {
	case t == reflect.TypeFor[tensor.Tensor](), t == reflect.TypeFor[tree.Node]():
		return true
	case t.Implements(reflect.TypeFor[json.Marshaler]()):
		return false
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return hasArrays(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return true
		}
		if isScalar(t.Elem().Kind()) {
			return false
		}
		for i := range v.Len() {
			if hasArrays(v.Index(i), depth+1) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if hasArrays(it.Value(), depth+1) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if t.Field(i).IsExported() && hasArrays(v.Field(i), depth+1) {
				return true
			}
		}
	}
	return false
}

func isScalar(k reflect.Kind) bool { return k <= reflect.Float64 || k == reflect.String }

func (h JSON) files() []string {
	files := []string{h.File, orbax.JSONFile, orbax.JSONFileV0}
	return slices.Compact(slices.DeleteFunc(files, func(s string) bool { return s == "" }))
}

// Load reads the first of the files that exists.
func (h JSON) Load(ctx context.Context, dir Reader, abstract any) (any, error) {
	for _, file := range h.files() {
		b, err := dir.ReadFile(ctx, file)
		if errors.Is(err, errs.NotFound) {
			continue
		}
		if err != nil {
			return nil, errs.Wrap("handler.JSON.Load", "", err)
		}
		v, err := decodeJSON(b, abstract)
		if err != nil {
			return nil, &errs.Error{Kind: errs.Corrupt, Op: "handler.JSON.Load", Subject: file, Err: err}
		}
		return v, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "handler.JSON.Load", Want: strings.Join(h.files(), " or ")}
}

// Metadata returns nil, as in Orbax.
func (JSON) Metadata(context.Context, Reader) (any, error) { return nil, nil }

// decodeJSON decodes one value and nothing after it.
func decodeJSON(b []byte, abstract any) (any, error) {
	if reflect.ValueOf(abstract).Kind() == reflect.Pointer {
		return abstract, json.Unmarshal(b, abstract)
	}
	text, mark := quoteNonFinite(b)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	if _, raw := abstract.(json.RawMessage); raw {
		return json.RawMessage(b), nil
	}
	return goNumbers(v, mark)
}

// quoteNonFinite puts mark before Python's NaN, Infinity and -Infinity and quotes
// around both, so that encoding/json reads them. mark occurs nowhere else.
func quoteNonFinite(b []byte) (text []byte, mark string) {
	if !bytes.Contains(b, []byte("NaN")) && !bytes.Contains(b, []byte("Infinity")) {
		return b, ""
	}
	mark = "float:"
	for bytes.Contains(b, []byte(mark)) {
		mark += ":"
	}
	for i := 0; i < len(b); {
		if n := stringLen(b[i:]); n > 0 {
			text, i = append(text, b[i:i+n]...), i+n
			continue
		}
		n := 0
		for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
			if bytes.HasPrefix(b[i:], []byte(word)) {
				n = len(word)
			}
		}
		if n > 0 {
			text = append(append(append(text, `"`+mark...), b[i:i+n]...), '"')
			i += n
			continue
		}
		text, i = append(text, b[i]), i+1
	}
	return text, mark
}

// stringLen returns the length of the string literal that b begins with, or 0.
func stringLen(b []byte) int {
	if b[0] != '"' {
		return 0
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// goNumbers replaces numbers, and the texts that quoteNonFinite marked, in place.
func goNumbers(v any, mark string) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return goNumber(v.String())
	case string:
		if word, ok := strings.CutPrefix(v, mark); ok && mark != "" {
			f, err := strconv.ParseFloat(word, 64)
			return f, err
		}
	case []any:
		for i := range v {
			if v[i], err = goNumbers(v[i], mark); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for k := range v {
			if v[k], err = goNumbers(v[k], mark); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func goNumber(s string) (any, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if math.IsInf(f, 0) {
			err = nil // as Python reads 1e999
		}
		return f, err
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return u, nil
	}
	i, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, errors.New("the number " + s)
	}
	return i, nil
}

// Metrics handles the metrics of a step, the item "metrics": JSON in a file of that name. It
// corresponds to the MetricsHandler of Orbax.
type Metrics struct{}

var metrics = JSON{File: "metrics"}

// TypeString returns TypeMetrics.
func (Metrics) TypeString() string { return TypeMetrics }

// Handles implements CheckpointableHandler; see JSON.Handles.
func (Metrics) Handles(v any) bool { return metrics.Handles(v) }

// HandlesAbstract implements CheckpointableHandler; see JSON.HandlesAbstract.
func (Metrics) HandlesAbstract(a any) Verdict { return metrics.HandlesAbstract(a) }

// Save implements CheckpointableHandler; see JSON.Save.
func (Metrics) Save(ctx context.Context, v any) (Commit, error) { return metrics.Save(ctx, v) }

// Load implements CheckpointableHandler; see JSON.Load.
func (Metrics) Load(ctx context.Context, dir Reader, abstract any) (any, error) {
	return metrics.Load(ctx, dir, abstract)
}

// Metadata implements CheckpointableHandler; see JSON.Metadata.
func (Metrics) Metadata(ctx context.Context, dir Reader) (any, error) {
	return metrics.Metadata(ctx, dir)
}
