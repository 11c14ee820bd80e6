package reader_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lines"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Each sample has the fields of its line, in any number of files, with and without an index, for
// any line ends.
func TestJSONLHasTheFieldsOfLines(t *testing.T) {
	root := t.TempDir()
	type record struct {
		Text  string    `json:"text"`
		N     int32     `json:"n"`
		List  []float64 `json:"list"`
		Inner struct {
			Flag bool `json:"flag"`
		} `json:"inner"`
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		end := rapid.SampledFrom([]string{"\n", "\r\n", "\n\n"}).Draw(t, "end")
		var want []record
		var paths []string
		for f := range rapid.IntRange(1, 3).Draw(t, "files") {
			text := rapid.SampledFrom([]string{"", "\xef\xbb\xbf", "\n"}).Draw(t, "start")
			n := rapid.IntRange(0, 5).Draw(t, "lines")
			for i := range n {
				r := record{Text: rapid.String().Draw(t, "text"), N: rapid.Int32().Draw(t, "n"),
					List: rapid.SliceOfN(rapid.Float64(), 0, 4).Draw(t, "list")}
				r.Inner.Flag = rapid.Bool().Draw(t, "flag")
				r.Text = strings.ToValidUTF8(r.Text, "?")
				b, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				text += string(b)
				if i < n-1 || rapid.Bool().Draw(t, "last") {
					text += end
				}
				want = append(want, r)
			}
			paths = append(paths, putText(t, dir, fmt.Sprintf("%d.jsonl", f), text))
		}
		args := op.Args{"path": paths, "fields": []string{"inner.flag", "text", "list", "n"},
			"dtypes": []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Float64, tensor.Int32}}
		src, err := try(t, "readers.jsonl", args)
		if len(want) == 0 {
			if !errors.Is(err, errs.Invalid) {
				t.Fatalf("no record: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		print := src.Info().Fingerprint
		if rapid.Bool().Draw(t, "index") {
			writeIndex(t, reader.JSONLFormat, dir, paths)
			if src, err = try(t, "readers.jsonl", args); err != nil {
				t.Fatal(err)
			}
		}
		if src.Info().Samples != int64(len(want)) || src.Info().Fingerprint != print {
			t.Fatalf("%+v, want %d samples", src.Info(), len(want))
		}
		for id, w := range want {
			got := src.get(t, int64(id))
			flag, _ := tensor.Of[bool](got[0])
			list, _ := tensor.Of[float64](got[2])
			n, _ := tensor.Of[int32](got[3])
			if len(flag) != 1 || flag[0] != w.Inner.Flag || string(got[1].Data) != w.Text || !slices.Equal(list, w.List) ||
				len(n) != 1 || n[0] != w.N {
				t.Fatalf("sample %d: %v, want %+v", id, got, w)
			}
		}
	})
}

// writeIndex makes the index of files beside them.
func writeIndex(t caller, f index.Format, dir string, paths []string) {
	t.Helper()
	ctx := context.Background()
	set, err := shards.Open(ctx, "test", paths)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	x, err := index.Build(ctx, "test", set, f, index.BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Write(filepath.Join(dir, index.Name), x); err != nil {
		t.Fatal(err)
	}
}

// Without dtypes the first value of each field tells, null and empty lists aside.
func TestJSONLGuessesTypes(t *testing.T) {
	path := putText(t, t.TempDir(), "x.jsonl",
		`{"a":null,"b":"x","c":[],"d":true,"e":1}`+"\n"+`{"a":1.5,"b":"yz","c":[1,2],"d":false,"e":2.5}`+"\n")
	src := must(t, "readers.jsonl", op.Args{"path": path, "fields": []string{"a", "b", "c", "d", "e"}, "missing": "empty"})
	var got []tensor.DType
	for _, s := range src.specs {
		got = append(got, s.DType)
	}
	if !slices.Equal(got, []tensor.DType{tensor.Float64, tensor.Uint8, tensor.Int64, tensor.Bool, tensor.Int64}) {
		t.Errorf("%v", got)
	}
	if out := src.get(t, 0); out[0].Shape[0] != 0 || out[2].Shape[0] != 0 || string(out[1].Data) != "x" {
		t.Errorf("%v", out)
	}
	_, err := src.sample(1)
	for _, says := range []string{"x.jsonl, line 2", "field e", "2.5", "set dtypes"} {
		if !errors.Is(err, errs.Mismatch) || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
}

// A missing field fails the sample, or is empty, or gets its default.
func TestMissingFields(t *testing.T) {
	dir := t.TempDir()
	path := putText(t, dir, "x.jsonl", `{"a":[1,2],"t":"x"}`+"\n{}\n"+`{"a":null,"t":null}`+"\n")
	args := func(more op.Args) op.Args {
		a := op.Args{"path": path, "fields": []string{"a", "t"}, "dtypes": []tensor.DType{tensor.Int32, tensor.Uint8}}
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	src := must(t, "readers.jsonl", args(nil))
	for id := range int64(2) {
		if _, err := src.sample(id + 1); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "field a") ||
			!strings.Contains(err.Error(), fmt.Sprintf("line %d", id+2)) {
			t.Errorf("%v", err)
		}
	}
	empty := must(t, "readers.jsonl", args(op.Args{"missing": "empty"}))
	filled := must(t, "readers.jsonl", args(op.Args{"missing": "default", "defaults": []string{"[7,8,9]", `"no"`}}))
	for id := range int64(2) {
		if got := empty.get(t, id+1); len(got[0].Data) != 0 || len(got[1].Data) != 0 {
			t.Errorf("%v", got)
		}
		if got := filled.get(t, id+1); !slices.Equal(ints(t, got[0]), []int64{7, 8, 9}) || string(got[1].Data) != "no" {
			t.Errorf("%v", got)
		}
	}
	if empty.Info().Fingerprint == filled.Info().Fingerprint {
		t.Error("other defaults, the same fingerprint")
	}
	path2 := putText(t, dir, "x.csv", "a,t\n,\n5,x\n")
	csv := op.Args{"path": path2, "dtypes": []tensor.DType{tensor.Int32, tensor.Uint8}}
	src = must(t, "readers.csv", csv)
	if _, err := src.sample(0); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "line 2, field a") {
		t.Errorf("%v", err)
	}
	csv["missing"], csv["defaults"] = "default", []string{"-1", "none"}
	if got := must(t, "readers.csv", csv).get(t, 0); ints(t, got[0])[0] != -1 || string(got[1].Data) != "none" {
		t.Errorf("%v", got)
	}
}

// Each row has the fields of its columns, in any number of files, with columns in another order,
// with and without header and index.
func TestCSVHasTheFieldsOfRows(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		d := lines.Dialect{Delimiter: rapid.SampledFrom([]byte(",;\t")).Draw(t, "delimiter"), Quote: '"'}
		header := rapid.Bool().Draw(t, "header")
		var want []string
		var numbers []int64
		var paths []string
		for f := range rapid.IntRange(1, 3).Draw(t, "files") {
			swapped := header && f > 0 && rapid.Bool().Draw(t, "swapped")
			row := func(dst []byte, a, b, c string) []byte {
				if swapped {
					return d.AppendRow(dst, c, a, b)
				}
				return d.AppendRow(dst, a, b, c)
			}
			var text []byte
			if header {
				text = row(text, "a", "b \"x\"", "c")
			}
			for range rapid.IntRange(0, 4).Draw(t, "rows") {
				w, n := rapid.StringMatching("[a,;\t\"\n ü]{0,6}").Draw(t, "text"), rapid.Int64().Draw(t, "n")
				text = row(text, "other", w, fmt.Sprint(n))
				want, numbers = append(want, w), append(numbers, n)
			}
			if !header && len(text) == 0 && f == 0 {
				text = row(text, "", "y", "3")
				want, numbers = append(want, "y"), append(numbers, 3)
			}
			paths = append(paths, putText(t, dir, fmt.Sprintf("%d.csv", f), string(text)))
		}
		args := op.Args{"path": paths, "columns": []string{"c", "b \"x\""}, "dtypes": []tensor.DType{tensor.Int64,
			tensor.Uint8}, "delimiter": string(d.Delimiter)}
		if !header {
			args["header"] = false
			if rapid.Bool().Draw(t, "names") {
				args["names"] = []string{"a", "b \"x\"", "c"}
			} else {
				args["columns"] = []string{"2", "1"}
			}
		}
		if rapid.Bool().Draw(t, "index") && d.Delimiter == ',' {
			writeIndex(t, reader.CSVFormat, dir, paths)
		}
		src, err := try(t, "readers.csv", args)
		if len(want) == 0 {
			if !errors.Is(err, errs.Invalid) {
				t.Fatalf("no record: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if src.Info().Samples != int64(len(want)) {
			t.Fatalf("%d samples, want %d", src.Info().Samples, len(want))
		}
		for id := range want {
			got := src.get(t, int64(id))
			if string(got[1].Data) != want[id] || ints(t, got[0])[0] != numbers[id] {
				t.Fatalf("sample %d: %v, want %q and %d", id, got, want[id], numbers[id])
			}
		}
	})
}

// What is wrong with one line fails its sample alone, and says file and line.
func TestBrokenLinesFailAlone(t *testing.T) {
	dir := t.TempDir()
	path := putText(t, dir, "x.jsonl",
		"{\"a\":1}\n\n{\"a\":\n{\"a\":\"x\"}\n{\"a\x00\":1}\n{\"a\":1,\"b\":\"\xff\"}\n[1]\n{\"a\":2}")
	src := must(t, "readers.jsonl", op.Args{"path": path, "fields": "a", "dtypes": tensor.Int32})
	for id, want := range []struct {
		kind errs.Kind
		says string
	}{{}, {errs.Corrupt, "line 3"}, {errs.Mismatch, "line 4, field a"}, {errs.Corrupt, "line 5"}, {errs.Corrupt,
		"line 6"}, {errs.Corrupt, "line 7"}, {}} {
		out, err := src.sample(int64(id))
		if want.kind == errs.Other {
			if err != nil || len(out) != 1 {
				t.Errorf("sample %d: %v", id, err)
			}
			continue
		}
		if !errors.Is(err, want.kind) || !strings.Contains(err.Error(), "x.jsonl, "+want.says) {
			t.Errorf("sample %d: %v, want %v that says %s", id, err, want.kind, want.says)
		}
	}
	if got := src.Describe(1); !strings.Contains(got, "record 1 at byte 9") {
		t.Error(got)
	}
	path = putText(t, dir, "x.csv", "a,b\n1,2\n3\n\"x\"y,4\n5,6,7\n8,9\n")
	src = must(t, "readers.csv", op.Args{"path": path, "columns": "b", "dtypes": tensor.Int32})
	for id, says := range []string{"", "line 3", "line 4", "line 5", ""} {
		_, err := src.sample(int64(id))
		if says == "" && err != nil || says != "" && (!errors.Is(err, errs.Corrupt) ||
			!strings.Contains(err.Error(), "x.csv, "+says)) {
			t.Errorf("row %d: %v", id, err)
		}
	}
}

// Each mistake is an error that names what is wrong.
func TestLineMistakes(t *testing.T) {
	dir := t.TempDir()
	jsonl := putText(t, dir, "x.jsonl", `{"text":"a","o":{"x":1},"many":[{}]}`+"\n")
	csv := putText(t, dir, "x.csv", "name,size,size\na,1,2\n")
	empty := putText(t, dir, "empty", "")
	for _, c := range []struct {
		reader string
		args   op.Args
		kind   errs.Kind
		says   string
	}{
		{"jsonl", op.Args{"path": jsonl, "fields": []string{}}, errs.Invalid, "at least one field"},
		{"jsonl", op.Args{"path": jsonl}, errs.Invalid, "fields"},
		{"jsonl", op.Args{"path": jsonl, "fields": []string{"text", "text"}}, errs.Invalid, "text"},
		{"jsonl", op.Args{"path": jsonl, "fields": "txt"}, errs.NotFound, `did you mean "text"?`},
		{"jsonl", op.Args{"path": jsonl, "fields": "zzz"}, errs.NotFound, "the first record has text, o, many"},
		{"jsonl", op.Args{"path": jsonl, "fields": "o"}, errs.Mismatch, "field o"},
		{"jsonl", op.Args{"path": jsonl, "fields": "many"}, errs.Mismatch, "field many"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "dtypes": []tensor.DType{tensor.Uint8, tensor.Int8}}, errs.Invalid, "dtypes"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "dtypes": tensor.Complex64}, errs.Invalid, "complex64"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "missing": "defualt"}, errs.Invalid, "default"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "missing": "default"}, errs.Invalid, "1 values"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "missing": "default", "defaults": "}"}, errs.Invalid, "a value of JSON"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "missing": "default", "defaults": "[300]"}, errs.Invalid, "300"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "defaults": "1"}, errs.Invalid, "missing=error"},
		{"jsonl", op.Args{"path": empty, "fields": "text", "dtypes": tensor.Uint8}, errs.Invalid, "at least one record"},
		{"jsonl", op.Args{"path": filepath.Join(dir, "none"), "fields": "text"}, errs.NotFound, "none"},
		{"jsonl", op.Args{"path": putText(t, dir, "16", "\xff\xfe{\x00"), "fields": "text"}, errs.Unsupported, "UTF-16"},
		{"jsonl", op.Args{"path": jsonl, "fields": "text", "index_path": csv}, errs.Corrupt, "BIVINDX1"},
		{"csv", op.Args{"path": csv, "columns": "nmae"}, errs.NotFound, `did you mean "name"?`},
		{"csv", op.Args{"path": csv, "columns": "zzzz"}, errs.NotFound, "name, size, size"},
		{"csv", op.Args{"path": csv, "columns": "size"}, errs.Invalid, "more than one"},
		{"csv", op.Args{"path": csv}, errs.Invalid, "more than one"},
		{"csv", op.Args{"path": csv, "columns": []string{"name", "name"}}, errs.Invalid, "twice"},
		{"csv", op.Args{"path": csv, "delimiter": ""}, errs.Invalid, "delimiter"},
		{"csv", op.Args{"path": csv, "delimiter": "ab"}, errs.Invalid, "delimiter"},
		{"csv", op.Args{"path": csv, "delimiter": `"`}, errs.Invalid, "told apart"},
		{"csv", op.Args{"path": csv, "quote": "ä"}, errs.Invalid, "quote"},
		{"csv", op.Args{"path": empty}, errs.Invalid, "no row"},
		{"csv", op.Args{"path": []string{csv, empty}, "columns": "name"}, errs.Invalid, "a header"},
		{"csv", op.Args{"path": putText(t, dir, "h.csv", "a,b\n")}, errs.Invalid, "at least one record"},
		{"csv", op.Args{"path": []string{csv, putText(t, dir, "other.csv", "x,y\n1,2\n")}, "columns": "name"}, errs.NotFound, "other.csv, header"},
		{"csv", op.Args{"path": putText(t, dir, "open.csv", "a,b\n1,\"2\n3,4\n")}, errs.Corrupt, "line 2"},
	} {
		_, err := try(t, "readers."+c.reader, c.args)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s %v: %v, want %v that says %q", c.reader, c.args, err, c.kind, c.says)
		}
	}
}

func TestDetectText(t *testing.T) {
	detect := map[string]func(string, []byte) bool{}
	for _, f := range reader.FormatList() {
		detect[f.Name] = f.Detect
	}
	long := `{"text":"` + strings.Repeat("x", 5000)
	for _, c := range []struct {
		name, head string
		jsonl, csv bool
	}{
		{"a.jsonl", `{"a":1}` + "\n" + `{"a":2`, true, false}, {"a", "\xef\xbb\xbf\n{}\n", true, false}, {"a", long[:4096], true, false},
		{"a.json", "{\n\"a\": 1}", false, false}, {"a", "[1]\n", false, false}, {"a", "", false, false}, {"a", "{\"a\":1}\nx", false, false},
		{"a.csv", "a,b\n1,2\n", false, true}, {"dir/A.CSV", "a", false, true}, {"a.txt", "a,b\n", false, false}, {"a.csv", "\x00\x01", false, false},
	} {
		if got := detect["jsonl"](c.name, []byte(c.head)); got != c.jsonl {
			t.Errorf("%s %.20q: jsonl %t", c.name, c.head, got)
		}
		if got := detect["csv"](c.name, []byte(c.head)); got != c.csv {
			t.Errorf("%s %.20q: csv %t", c.name, c.head, got)
		}
	}
	if err := reader.JSONLFormat.Verify([]byte(`{"a":}`)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("%v", err)
	}
	if err := reader.CSVFormat.Verify([]byte(`"a"b`)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("%v", err)
	}
}

// Compressed files have the samples and the fingerprint of the same files uncompressed.
func TestCompressedText(t *testing.T) {
	dir := t.TempDir()
	var text, table strings.Builder
	table.WriteString("a,b\n")
	for i := range 60_000 {
		fmt.Fprintf(&text, `{"text":"line %d","n":%d}`+"\n", i, i*i)
		fmt.Fprintf(&table, "\"row\n%d\",%d\n", i, i*i)
	}
	for name, data := range map[string]string{"x.jsonl": text.String(), "x.csv": table.String()} {
		args := op.Args{"dtypes": []tensor.DType{tensor.Uint8, tensor.Int64}}
		kind := "readers.csv"
		if name == "x.jsonl" {
			kind, args["fields"] = "readers.jsonl", []string{"text", "n"}
		}
		args["path"] = putText(t, dir, name, data)
		plain := must(t, kind, args)
		for _, ext := range []string{".gz", ".zst"} {
			args["path"] = putText(t, dir, name+ext, compress(t, ext, data))
			packed := must(t, kind, args)
			if a, b := plain.Info(), packed.Info(); a.Samples != b.Samples || a.Fingerprint != b.Fingerprint {
				t.Errorf("%s%s: %+v, want %+v", name, ext, b, a)
			}
			for id := int64(0); id < plain.Info().Samples; id += 997 {
				a, b := plain.get(t, id), packed.get(t, id)
				if !a[0].Equal(b[0]) || !a[1].Equal(b[1]) {
					t.Fatalf("%s%s, sample %d: %v, want %v", name, ext, id, b, a)
				}
			}
		}
	}
}

func compress(t caller, ext, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if ext == ".zst" {
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	io.WriteString(w, text) //nolint:errcheck // a Buffer takes everything
	w.Close()               //nolint:errcheck // a Buffer takes everything
	return b.String()
}

// Files that Python's csv, json and pandas wrote have the values that were written.
func TestTextOfOtherPrograms(t *testing.T) {
	const dir = "../testdata/formats/text"
	b, err := os.ReadFile(filepath.Join(dir, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Rows []struct {
			ID    int64
			Text  string
			Score float64
			Flag  bool
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	names := []string{"text", "flag", "score", "id"}
	dtypes := []tensor.DType{tensor.Uint8, tensor.Bool, tensor.Float64, tensor.Int64}
	for name, more := range map[string]op.Args{
		"excel.csv": nil, "unix.csv": nil, "tabs.tsv": nil, "numbers.csv": nil,
		"semicolons.csv": {"delimiter": ";", "quote": "'"}, "pandas.csv": nil, "pandas.csv.gz": nil, "pandas.jsonl": nil,
		"ascii.jsonl": nil, "utf8.jsonl": nil, "dense.jsonl": nil,
	} {
		kind, args := "readers.csv", op.Args{"path": filepath.Join(dir, name), "dtypes": dtypes, "columns": names}
		if strings.HasSuffix(name, ".jsonl") {
			kind = "readers.jsonl"
			delete(args, "columns")
			args["fields"] = names
			if name != "pandas.jsonl" {
				args["fields"] = append(names, "nested.list")
				args["dtypes"] = append(dtypes, tensor.Float32)
			}
		}
		for k, v := range more {
			args[k] = v
		}
		src := must(t, kind, args)
		if src.Info().Samples != int64(len(want.Rows)) {
			t.Errorf("%s: %d samples, want %d", name, src.Info().Samples, len(want.Rows))
			continue
		}
		for i, w := range want.Rows {
			got := src.get(t, int64(i))
			flag, _ := tensor.Of[bool](got[1])
			score, _ := tensor.Of[float64](got[2])
			if string(got[0].Data) != w.Text || flag[0] != w.Flag || score[0] != w.Score || ints(t, got[3])[0] != w.ID {
				t.Errorf("%s, row %d: %q %v, want %+v", name, i, got[0].Data, got[1:], w)
			}
			if len(got) > 4 {
				if list, _ := tensor.Of[float32](got[4]); len(list) != 2 || list[0] != float32(i) || list[1] == list[1] {
					t.Errorf("%s, row %d: %v", name, i, list)
				}
			}
		}
	}
}

// BenchmarkJSONL reads lines of 1 kB with two fields at places that jump.
func BenchmarkJSONL(b *testing.B) {
	var text bytes.Buffer
	filler := strings.Repeat("some words, ", 80)
	for i := range 50_000 {
		fmt.Fprintf(&text, `{"id":%d,"text":"%s","meta":{"url":"https://example.org/%d","score":0.%d}}`+"\n", i, filler, i, i)
	}
	src := must(b, "readers.jsonl", op.Args{"path": putText(b, b.TempDir(), "x.jsonl", text.String()),
		"fields": []string{"text", "meta.score"}})
	var block op.Block
	var local any
	x := block.Binding()
	x.Memory, x.Positions, x.Specs, x.Local = fixed(make([]byte, 1<<12)), []int64{0}, src.specs, &local
	x.Out = [][]tensor.Tensor{make([]tensor.Tensor, 1), make([]tensor.Tensor, 1)}
	ids := []int64{0}
	b.SetBytes(int64(text.Len()) / 50_000)
	b.ReportAllocs()
	for b.Loop() {
		ids[0] = (ids[0] + 7919) % src.Info().Samples
		if err := src.Fetch(b.Context(), ids, &block); err != nil || len(x.Errors) > 0 {
			b.Fatal(err, x.Errors)
		}
	}
}
