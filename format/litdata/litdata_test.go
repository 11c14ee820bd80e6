package litdata

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
)

// recorded has data sets that litdata wrote.
const recorded = "../../testdata/litdata"

// Names of leaves are their paths in the sample. Without a data_spec that tells them they are
// numbers.
func TestLeafNames(t *testing.T) {
	for spec, want := range map[string]string{
		`"[1, {\"type\": null, \"context\": null, \"children_spec\": []}]"`: "[value]",
		`"[1, {\"type\": \"builtins.dict\", \"context\": \"[\\\"a\\\", 3]\", \"children_spec\": [{\"type\": \"builtins.list\", ` +
			`\"context\": \"null\", \"children_spec\": [{\"type\": null}, {\"type\": null}]}, {\"type\": null}]}]"`: "[a.0 a.1 3]",
		`"nonsense"`: "[]", `null`: "[]", `7`: "[]", `"[1]"`: "[]",
	} {
		if got := fmt.Sprint(leafNames([]byte(spec))); got != want {
			t.Errorf("%s: %s, want %s", spec, got, want)
		}
	}
	x := &Index{}
	if err := x.addFields([]string{"int", "no_header_numpy:3"}, nil); err != nil || x.Fields[1] != (Field{"1",
		"no_header_numpy", 3}) {
		t.Errorf("%v %v", x.Fields, err)
	}
	if err := x.addFields([]string{"no_header_numpy"}, nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a leaf without the number of its dtype: %v", err)
	}
}

// Images of PIL whose pixels have no bytes of their own are refused by their mode.
func TestPictures(t *testing.T) {
	f := Field{Kind: "pil"}
	for text, kind := range map[string]errs.Kind{
		"\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00Lab":           errs.Other,
		"\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00La":            errs.Corrupt,
		"\x01\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x001a":            errs.Unsupported,
		"\x01\x00\x00\x00\x02\x00\x00\x00\xff\x00\x00\x00Lab":           errs.Corrupt,
		"\xff\xff\xff\xff\xff\xff\xff\xff\x04\x00\x00\x00RGBAabcdabcde": errs.Corrupt,
		"\x01\x00": errs.Corrupt,
	} {
		v, err := f.Decode([]byte(text))
		if kind == errs.Other && (err != nil || v.String() == "") || kind != errs.Other && !errors.Is(err, kind) {
			t.Errorf("%q: %v %v, want %v", text, v, err, kind)
		}
	}
}

// An index of very many chunks is read about as fast as its JSON, and a chunk that comes twice is
// found.
func TestManyChunks(t *testing.T) {
	const chunks = 300_000
	var b strings.Builder
	b.WriteString(`{"config": {"data_format": ["int"]}, "chunks": [`)
	for i := range chunks {
		fmt.Fprintf(&b, `{"chunk_bytes": 24, "chunk_size": 1, "filename": "chunk-0-%06d.bin"},`, i)
	}
	text := strings.TrimSuffix(b.String(), ",")
	start := time.Now()
	x, err := ParseIndex([]byte(text + "]}"))
	if err != nil || len(x.Chunks) != chunks {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 20*time.Second { // each chunk was compared with all before: minutes
		t.Errorf("an index of %d chunks took %v", chunks, d)
	}
	text += `,{"chunk_bytes": 24, "chunk_size": 1, "filename": "chunk-0-000007.bin"}]}`
	if _, err := ParseIndex([]byte(text)); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a chunk that comes twice: %v", err)
	}
}

// FuzzIndex reads any index.
func FuzzIndex(f *testing.F) {
	list, err := filepath.Glob(recorded + "/*/index.json")
	if err != nil || len(list) < 10 {
		f.Fatal(list, err)
	}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := ParseIndex(b)
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported {
				t.Errorf("%v", err)
			}
			return
		}
		for i := range x.Fields {
			x.Fields[i].Spec() //nolint:errcheck // it may not panic
		}
		for _, c := range x.Chunks {
			if c.Samples < 0 || TableSize(c.Samples) > c.Bytes || filepath.Base(c.Filename) != c.Filename {
				t.Errorf("%+v", c)
			}
		}
	})
}

// FuzzChunk reads the samples of any chunk with any leaf.
func FuzzChunk(f *testing.F) {
	list, err := filepath.Glob(recorded + "/*/chunk-0-0*.bin")
	if err != nil || len(list) < 10 {
		f.Fatal(list, err)
	}
	kinds := []string{"str", "int", "float", "bool", "json", "pil", "tensor", "numpy", "no_header_tensor",
		"no_header_numpy"}
	for i, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(i))
	}
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		if x, err := Expand(b, 1<<16); err == nil {
			b = x
		}
		if len(b) < 4 {
			return
		}
		samples := int64(b[0])
		table, err := ParseTable(b, samples, int64(len(b)))
		if err != nil {
			return
		}
		field := Field{Kind: kinds[int(kind)%len(kinds)], Type: int(kind) % 22}
		for i := range samples {
			leaves, err := Split(nil, b[table[i]:table[i+1]], 1+int(kind)%4)
			if err != nil {
				continue
			}
			for _, leaf := range leaves {
				v, err := field.Decode(leaf)
				if err != nil {
					continue
				}
				if n, err := v.Shape.Bytes(v.DType); err != nil || n != len(v.Data) {
					t.Errorf("%s: %v has %d bytes", field.Kind, v, len(v.Data))
				}
			}
		}
	})
}
