package pipeproto_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
)

const vectors = "../../../../shared/vectors/dali/graph"

// graphs returns the directories of serialized pipelines in testdata, and all of the golden vectors
// if they lie beside the repository.
func graphs(t testing.TB) []string {
	t.Helper()
	dirs, err := filepath.Glob("testdata/graph/g*")
	if err != nil || len(dirs) < 3 {
		t.Fatalf("%d pipelines in testdata: %v", len(dirs), err)
	}
	all, _ := filepath.Glob(filepath.Join(vectors, "g*"))
	if len(all) > 0 && len(all) < 14 {
		t.Errorf("%d pipelines in %s", len(all), vectors)
	}
	return append(dirs, all...)
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What DALI wrote is read, written as it was, and said in YAML and back.
func TestVectors(t *testing.T) {
	for _, dir := range graphs(t) {
		t.Run(dir, func(t *testing.T) {
			b := read(t, dir, "pipe.bin")
			p, err := pipeproto.Parse(b)
			if err != nil {
				t.Fatal(err)
			}
			if got := pipeproto.Append([]byte("x"), p); !bytes.Equal(got[1:], b) || got[0] != 'x' {
				t.Error("other bytes")
			}
			text, err := pipeproto.MarshalYAML(p)
			if err != nil {
				t.Fatal(err)
			}
			again, err := pipeproto.UnmarshalYAML(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, again); diff != "" {
				t.Error(diff)
			}
			for _, long := range []string{"wire:", "extra_args", "is_vector"} {
				if bytes.Contains(text, []byte(long)) {
					t.Errorf("%q in\n%s", long, text)
				}
			}
		})
	}
}

// The values are those that another reader found, which are all laid out in DALI's
// own way.
func TestVectorValues(t *testing.T) {
	for _, dir := range graphs(t) {
		var fields [][]any
		d := json.NewDecoder(bytes.NewReader(read(t, dir, "pipe.json")))
		d.UseNumber()
		if err := d.Decode(&fields); err != nil {
			t.Fatal(err)
		}
		var want pipeproto.Pipeline
		fill(t, reflect.ValueOf(&want).Elem(), fields)
		got, err := pipeproto.Parse(read(t, dir, "pipe.bin"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got); diff != "" {
			t.Error(dir, diff)
		}
		for i, op := range got.Ops {
			for j := range op.Args {
				if _, ok := op.Args[j].Value(); !ok {
					t.Errorf("%s: operator %d has no %s", dir, i, op.Args[j].Name)
				}
			}
			if a := op.Argument("device"); a == nil || a.Strings[0] != "cpu" || op.Argument("no such") != nil {
				t.Errorf("%s: operator %d: device is %v", dir, i, a)
			}
		}
	}
}

// fill sets the fields of a message from a list of names and values.
func fill(t *testing.T, v reflect.Value, fields [][]any) {
	t.Helper()
	for _, f := range fields {
		name := f[0].(string)
		i := 0
		for i < v.NumField() && strings.Split(v.Type().Field(i).Tag.Get("dali")+",,", ",")[1] != name {
			i++
		}
		if i == v.NumField() {
			t.Fatalf("no field %q", name)
		}
		set(t, v.Field(i), f[1])
	}
}

func set(t *testing.T, v reflect.Value, value any) {
	t.Helper()
	switch v.Kind() {
	case reflect.Slice:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		set(t, v.Index(v.Len()-1), value)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		set(t, v.Elem(), value)
	case reflect.Struct:
		fields := [][]any{}
		for _, f := range value.([]any) {
			fields = append(fields, f.([]any))
		}
		fill(t, v, fields)
	case reflect.String:
		v.SetString(value.(string))
	case reflect.Bool:
		v.SetBool(value.(json.Number).String() != "0")
	case reflect.Float32:
		f, err := value.(json.Number).Float64()
		if err != nil {
			t.Fatal(err)
		}
		v.SetFloat(f)
	default:
		n, err := value.(json.Number).Int64()
		if err != nil {
			t.Fatal(err)
		}
		v.SetInt(n)
	}
}
