package safetensors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// create is for WriteParts: a file counts when it is closed.
func (m *memory) create(name string) (io.WriteCloser, error) { return &file{m: m, name: name}, nil }

type file struct {
	bytes.Buffer
	m    *memory
	name string
}

func (f *file) Close() error {
	f.m.files[f.name] = f.Bytes()
	return nil
}

func TestPartsAreOneModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tensors := drawTensors(t)
		limit := int64(rapid.IntRange(1, 400).Draw(t, "limit"))
		files := &memory{files: map[string][]byte{}}
		if err := WriteParts(files.create, tensors, nil, limit); err != nil {
			t.Fatal(err)
		}
		open, name := OpenIndex, IndexName
		if len(files.files) == 1 {
			open, name = Open, SingleName
		}
		m, err := open(context.Background(), files, name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Entries()) != len(tensors) {
			t.Fatalf("%d tensors, want %d", len(m.Entries()), len(tensors))
		}
		for name, want := range tensors {
			if got, err := m.Tensor(context.Background(), name); err != nil || !got.Equal(want) {
				t.Fatalf("%q: %v", name, err)
			}
		}
		for _, p := range m.Parts() {
			if data := p.Header.FileSize() - p.Header.DataStart; data > limit && len(p.Header.Tensors) > 1 {
				full := 0
				for _, x := range p.Header.Tensors {
					if x.Size() > 0 {
						full++
					}
				}
				if full > 1 {
					t.Fatalf("%s has %d bytes in %d tensors, limit %d", p.File, data, full, limit)
				}
			}
		}
	})
}

func TestIndexJSON(t *testing.T) {
	x := Index{TotalSize: 24, Files: map[string]string{"b": PartName(1, 2), "a\"é": PartName(0, 2)}}
	const want = `{
  "metadata": {
    "total_size": 24
  },
  "weight_map": {
    "a\"é": "model-00001-of-00002.safetensors",
    "b": "model-00002-of-00002.safetensors"
  }
}
`
	if diff := cmp.Diff(want, string(x.JSON())); diff != "" {
		t.Error(diff)
	}
	got, err := ParseIndex(x.JSON(), "i")
	if err != nil || got.TotalSize != 24 || !cmp.Equal(got.Files, x.Files) {
		t.Errorf("%+v, %v", got, err)
	}
	if diff := cmp.Diff(want, string(got.JSON())); diff != "" {
		t.Error(diff)
	}
	empty, err := ParseIndex((&Index{}).JSON(), "i")
	if err != nil || len(empty.Files) != 0 {
		t.Errorf("empty: %+v, %v", empty, err)
	}
}

func TestIndexThatIsRefused(t *testing.T) {
	for _, b := range []string{
		``, `[]`, `{}`, `{"weight_map":[]}`, `{"weight_map":{"a":1}}`, `{"weight_map":{}}x`, "{\"weight_map\":{}}\xff",
		`{"weight_map":{"a":"f","a":"f"}}`,
		`{"weight_map":{},"weight_map":{}}`,
		`{"metadata":{},"metadata":{},"weight_map":{}}`,
		`{"weight_map":{"a":"../f"}}`, `{"weight_map":{"a":"/f"}}`, `{"weight_map":{"a":"x/../../f"}}`, `{"weight_map":{"a":""}}`,
		`{"weight_map":{"a":"."}}`, `{"weight_map":{"a":"x\\f"}}`, `{"weight_map":{"a":"f\u0000"}}`,
	} {
		if _, err := ParseIndex([]byte(b), "i"); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: %v", b, err)
		}
	}
	x, err := ParseIndex([]byte(`{"metadata":{"total_size":1.5e9,"x":[]},"weight_map":{"a":"d/f"},"more":1}`), "i")
	if err != nil || x.Files["a"] != "d/f" || x.TotalSize != 0 {
		t.Errorf("%+v, %v", x, err)
	}
}

func TestIndexAndHeadersMustAgree(t *testing.T) {
	one := mustWrite(t, map[string]tensor.Tensor{"a": tensor.New(tensor.Int8, 1), "b": tensor.New(tensor.Int8, 1)}, nil)
	two := mustWrite(t, map[string]tensor.Tensor{"c": tensor.New(tensor.Int8, 1)}, nil)
	again := mustWrite(t, map[string]tensor.Tensor{"b": tensor.New(tensor.Int8, 1)}, nil)
	for weights, want := range map[string]error{
		`"a":"one","b":"one","c":"two"`:             nil,
		`"a":"one","b":"one","c":"none"`:            errs.NotFound,
		`"a":"one","b":"two","c":"two"`:             errs.Mismatch, // is elsewhere
		`"a":"one","c":"two"`:                       errs.Mismatch, // is not listed
		`"a":"one","b":"one","c":"two","d":"two"`:   errs.Mismatch, // is not there
		`"a":"one","b":"again","c":"two"`:           errs.Mismatch, // is in two files
		`"a":"one","b":"one","c":"two","e":"short"`: errs.Corrupt,
	} {
		files := &memory{files: map[string][]byte{
			"m/one": one, "m/two": two, "m/again": again, "m/short": one[:20],
			"m/i": fmt.Appendf(nil, `{"weight_map":{%s}}`, weights),
		}}
		m, err := OpenIndex(t.Context(), files, "m/i", Options{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", weights, err, want)
		}
		if want == nil {
			if e, err := m.Lookup("c"); err != nil || e.File != "m/two" {
				t.Errorf("c: %+v, %v", e, err)
			}
		}
	}
}
