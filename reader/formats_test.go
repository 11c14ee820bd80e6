package reader_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// An index is made of the format that the contents tell, then of the one that the name tells.
func TestDetectRecords(t *testing.T) {
	dir := t.TempDir()
	record := string(tfrecord.Append(nil, []byte("x")))
	for _, c := range []struct{ name, content, want string }{
		{"a.csv", record, "tfrecord"}, {"b.CSV", "x", "csv"}, {"c.tfrecord", "", "tfrecord"},
		{"d", `{"a":1}`, "jsonl"},
		{"e.tsv", "a\tb\n", "tsv"}, {"f.txt", "MAGI", ""}, {"g.parquet", "PAR1", ""},
	} {
		path := filepath.Join(dir, c.name)
		writeText(t, path, c.content)
		set, err := shards.Open(t.Context(), "test", []string{path})
		if err != nil {
			t.Fatal(err)
		}
		f, err := reader.DetectRecords(t.Context(), "test", set, 0)
		if f.Name != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", c.name, f.Name, err)
		}
		if c.want == "" && (!errors.Is(err, errs.Unsupported) || !strings.Contains(err.Error(), "csv or jsonl") ||
			!strings.Contains(err.Error(), `"`+c.content[:4]+`"`)) {
			t.Errorf("%s: %v", c.name, err)
		}
		set.Close()
	}
}

// All formats are in one list. Each has a name of its own, and a reader.
func TestFormats(t *testing.T) {
	_, err := reader.RecordFormat("jsonk")
	if !errors.Is(err, errs.NotFound) || !strings.Contains(err.Error(), `"jsonl"`) {
		t.Error(err)
	}
	list := reader.RecordFormatList()
	if !slices.IsSortedFunc(list, func(a, b index.Format) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("formats are not sorted")
	}
	for _, f := range list {
		if f.Scan == nil {
			t.Errorf("%s: no Scan", f.Name)
		}
	}
	names := map[string]bool{}
	for _, f := range reader.FormatList() {
		if names[f.Name] {
			t.Errorf("%s twice", f.Name)
		}
		names[f.Name] = true
		if f.Records != nil && f.Records.Name != f.Name {
			t.Errorf("%s: its records are %s", f.Name, f.Records.Name)
		}
		if f.Import == "" && f.Reader != "readers.rows_of_a_test" && !slices.Contains(reader.Names(), f.Reader) {
			t.Errorf("%s: no reader %s", f.Name, f.Reader)
		}
	}
}

// A compressed file is known by its name without the end that says how it is compressed, and the
// fields come from its contents.
func TestDetectCompressed(t *testing.T) {
	for _, make := range []readertest.Maker{readertest.GzipJSONL, readertest.ZstdJSONL} {
		_, args, err := make(t.TempDir(), 3)
		if err != nil {
			t.Fatal(err)
		}
		paths, _ := args["path"].([]string)
		if len(paths) == 0 {
			t.Fatalf("no path in %v", args)
		}
		plain := filepath.Join(t.TempDir(), "unnamed")
		b, err := os.ReadFile(paths[0])
		if err != nil {
			t.Fatal(err)
		}
		writeText(t, plain, string(b))
		for _, path := range []string{paths[0], plain} {
			name, got, err := reader.Detect(context.Background(), []string{path})
			if err != nil || name != "readers.jsonl" || got["fields"] == nil {
				t.Errorf("%s: %s %v %v", path, name, got, err)
			}
		}
	}
}
