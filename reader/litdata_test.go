package reader_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
)

// litdataFolder has data sets that litdata wrote, with the samples that it reads.
const litdataFolder = "../testdata/litdata"

// The data sets that litdata wrote have the same samples here.
func TestLitdata(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(litdataFolder, "expect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Args   map[string]any
		Fields []string
		Rows   [][]struct {
			DType string
			Shape []int
			Hex   string
		}
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 15 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		dir := filepath.Join(litdataFolder, c.Name)
		name, args, err := reader.Detect(t.Context(), []string{dir})
		if err != nil || name != "readers.litdata" {
			t.Errorf("%s: %s %v", c.Name, name, err)
			continue
		}
		for k, v := range c.Args {
			args[k] = int(v.(float64))
		}
		d, err := reader.Open(t.Context(), name, args)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if !slices.Equal(d.Names(), c.Fields) || d.Len() != int64(len(c.Rows)) {
			t.Errorf("%s: %d samples of %v, want %d of %v", c.Name, d.Len(), d.Names(), len(c.Rows), c.Fields)
		}
		for id := d.Len() - 1; id >= 0; id-- {
			f, err := d.Sample(t.Context(), id)
			if err != nil {
				t.Errorf("%s: %v", c.Name, err)
				continue
			}
			for i, want := range c.Rows[id] {
				v := f.Values[i]
				if hex.EncodeToString(v.Data) != want.Hex || v.DType.String() != want.DType || !slices.Equal(v.Shape, want.Shape) {
					t.Errorf("%s, sample %d, %s: %v, want %v", c.Name, id, c.Fields[i], v, want)
				}
			}
		}
		d.Close()
	}
}

// Damage and mistakes are errors that name the file. Pickles are refused, and other leaves beside
// them are read.
func TestLitdataDamage(t *testing.T) {
	set := func(at int, v uint32) func(b []byte) []byte {
		return func(b []byte) []byte { binary.LittleEndian.PutUint32(b[at:], v); return b }
	}
	text := func(old, new string) func(b []byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, new, 1)) }
	}
	for name, c := range map[string]struct {
		from, file string
		change     func(b []byte) []byte // nil: the file is removed
		args       op.Args
		kind       errs.Kind
		says       string
	}{
		"no index":    {"dict", "index.json", nil, nil, errs.NotFound, "index.json"},
		"empty index": {"dict", "index.json", func([]byte) []byte { return nil }, nil, errs.Corrupt, "index.json"},
		"cut index": {"dict", "index.json", func(b []byte) []byte { return b[:99] }, nil, errs.Corrupt,
			"index.json"},
		"index without data": {"dict", "index.json", func([]byte) []byte { return []byte("{}") }, nil, errs.Corrupt,
			"data_format"},
		"a chunk twice": {"dict", "index.json", text("chunk-0-1.bin", "chunk-0-0.bin"), nil, errs.Corrupt, "twice"},
		"a chunk elsewhere": {"dict", "index.json", text("chunk-0-1.bin", "../chunk-0-1.bin"), nil, errs.Corrupt,
			"chunk-0-1.bin"},
		"encrypted": {"dict", "index.json", text(`"encryption": null`, `"encryption": {"a": 1}`), nil,
			errs.Unsupported, "encryption"},
		"another compression": {"zstd", "index.json", text(`"compression": "zstd"`, `"compression": "lz4"`), nil,
			errs.Unsupported, "lz4"},
		"compressed in batches": {"zstd", "index.json", text(`"compression_level": null`, `"compression_level": "batch"`),
			nil,
			errs.Unsupported, "batch"},
		"another loader": {"dict", "index.json", text("PyTreeLoader", "ParquetLoader"), nil, errs.Unsupported,
			"ParquetLoader"},
		"chunk missing": {"dict", "chunk-0-1.bin", nil, nil, errs.NotFound, "chunk-0-1.bin"},
		"chunk empty":   {"dict", "chunk-0-1.bin", func([]byte) []byte { return nil }, nil, errs.Corrupt, "chunk-0-1.bin"},
		"chunk cut": {"dict", "chunk-0-1.bin", func(b []byte) []byte { return b[:len(b)-1] }, nil, errs.Corrupt,
			"chunk-0-1.bin"},
		"chunk longer": {"dict", "chunk-0-1.bin", func(b []byte) []byte { return append(b, 0) }, nil, errs.Corrupt,
			"chunk-0-1.bin"},
		"other samples":  {"dict", "chunk-0-1.bin", set(0, 4), nil, errs.Corrupt, "chunk-0-1.bin"},
		"an offset back": {"dict", "chunk-0-1.bin", set(8, 1), nil, errs.Corrupt, "chunk-0-1.bin"},
		"a large offset": {"dict", "chunk-0-1.bin", set(8, 1<<31), nil, errs.Corrupt, "chunk-0-1.bin"},
		"a large leaf":   {"dict", "chunk-0-1.bin", set(20, 1<<31), nil, errs.Corrupt, "chunk-0-1.bin"},
		"an int of 7":    {"dict", "chunk-0-1.bin", set(20, 7), nil, errs.Corrupt, "chunk-0-1.bin"},
		"zstd cut": {"zstd", "chunk-0-1.zstd.bin", func(b []byte) []byte { return b[:20] }, nil, errs.Corrupt,
			"chunk-0-1.zstd.bin"},
		"zstd of others": {"zstd", "index.json", text(`"chunk_bytes": 3`, `"chunk_bytes": 4`), nil, errs.Corrupt,
			"as index.json says"},
		"axes":           {"scalars", "chunk-0-0.bin", set(24, 99<<24), nil, errs.Corrupt, "chunk-0-0.bin"},
		"a dtype":        {"scalars", "chunk-0-0.bin", set(20, 99<<24), nil, errs.Unsupported, "number 99"},
		"a table":        {"table", "", nil, nil, errs.Unsupported, "a table of Arrow"},
		"a pickle":       {"pickles", "", nil, nil, errs.Unsupported, "set"},
		"unknown leaf":   {"dict", "index.json", text(`"str"`, `"graph"`), nil, errs.Unsupported, "graph"},
		"unknown column": {"dict", "", nil, op.Args{"columns": []string{"ii"}}, errs.Invalid, "ii"},
		"no block size":  {"tokens", "", nil, nil, errs.Invalid, "block_size"},
		"block size 0":   {"tokens", "", nil, op.Args{"block_size": 0}, errs.Invalid, "block_size"},
		"a block size":   {"dict", "", nil, op.Args{"block_size": 3}, errs.Invalid, "block_size"},
		"long blocks":    {"tokens", "", nil, op.Args{"block_size": 99}, errs.Invalid, "at least one sample"},
		"other tokens": {"tokens", "index.json", text(`"dim": 12`, `"dim": 11`), op.Args{"block_size": 4}, errs.Corrupt,
			"tokens"},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(litdataFolder, c.from))); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.file)
		b, err := os.ReadFile(path)
		switch {
		case c.file == "":
		case c.change == nil:
			err = os.Remove(path)
		case err == nil:
			err = os.WriteFile(path, c.change(b), 0o666)
		}
		if c.file != "" && err != nil {
			t.Fatal(err)
		}
		args := op.Args{"path": dir}
		maps.Copy(args, c.args)
		d, err := reader.Open(t.Context(), "litdata", args)
		if err == nil {
			for id := range d.Len() {
				if _, e := d.Sample(t.Context(), id); e != nil && err == nil {
					err = e
				}
			}
			d.Close()
		}
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %v that says %q", name, err, c.kind, c.says)
		}
	}
	d, err := reader.Open(t.Context(), "litdata", op.Args{"path": filepath.Join(litdataFolder, "pickles"),
		"columns": []string{"i"}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if f, err := d.Sample(t.Context(), 2); err != nil || fmt.Sprint(f.Values) != "[int64[] 2]" {
		t.Errorf("a leaf beside a pickle: %v %v", f.Values, err)
	}
}
