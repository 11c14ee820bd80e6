package parquet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/parquet/parquettest"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

type nested struct {
	ID    int64     `parquet:"id"`
	Maybe *float32  `parquet:"maybe,optional"`
	Small *int32    `parquet:"small,optional"`
	Name  *string   `parquet:"name,optional"`
	Grid  [][]int32 `parquet:"grid,list"`
	Image struct {
		Bytes []byte `parquet:"bytes"`
		Path  string `parquet:"path"`
	} `parquet:"image"`
	Words []string `parquet:"words,list"`
}

func write(t testing.TB, rows ...nested) string {
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := parquettest.Write(path, 3, rows); err != nil {
		t.Fatal(err)
	}
	return path
}

func ptr[T any](v T) *T { return &v }

// Nulls are refused by the name of their column, and become what nulls says. Rows whose inner lists
// differ are refused. Other rows of the same file are read.
func TestNullsAndLists(t *testing.T) {
	ctx := context.Background()
	a := nested{ID: 1, Grid: [][]int32{{1, 2}, {3, 4}}}
	a.Image.Path = "a"
	path := write(t, a, nested{ID: 2, Maybe: ptr(float32(2.5)), Small: ptr(int32(3)), Name: ptr("x"),
		Grid: [][]int32{{1}, {2, 3}}}, nested{ID: 3})
	for _, c := range []struct {
		column string
		nulls  any // nil: not given
		want   [3]string
	}{
		{"id", nil, [3]string{"int64[] [1 0 0 0 0 0 0 0]", "int64[] [2 0 0 0 0 0 0 0]", "int64[] [3 0 0 0 0 0 0 0]"}},
		{"maybe", nil, [3]string{`"maybe": mismatch: want a value, got null`, "float32[] [0 0 32 64]", "got null"}},
		{"maybe", -1, [3]string{"float32[] [0 0 128 191]", "float32[] [0 0 32 64]", "float32[] [0 0 128 191]"}},
		{"small", 7, [3]string{"int32[] [7 0 0 0]", "int32[] [3 0 0 0]", "int32[] [7 0 0 0]"}},
		{"name", 0, [3]string{"uint8[0] []", "uint8[1] [120]", "uint8[0] []"}},
		{"grid", nil, [3]string{"int32[2 2] [1 0 0 0 2 0 0 0 3 0 0 0 4 0 0 0]", "want inner lists of one length",
			"int32[0 0] []"}},
		{"image.path", nil, [3]string{"uint8[1] [97]", "uint8[0] []", "uint8[0] []"}},
	} {
		args := op.Args{"paths": []string{path}, "columns": []string{c.column}}
		if c.nulls != nil {
			args["nulls"] = c.nulls
		}
		d, err := readertest.Open(ctx, name, args)
		if err != nil {
			t.Errorf("%s: %v", c.column, err)
			continue
		}
		for id, want := range c.want {
			v, err := d.Values(ctx, int64(id))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprintf("%s%v %v", v[0][0].DType, []int(v[0][0].Shape), v[0][0].Data)
			}
			if err == nil && got != want || !strings.Contains(got, want) {
				t.Errorf("%s, nulls %v, row %d: %s, want %s", c.column, c.nulls, id, got, want)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Columns that are no tensors, files without rows, nulls of the wrong kind and files that do not
// fit each other are refused when the data set is opened.
func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	path, empty := write(t, nested{ID: 1}), write(t)
	other := filepath.Join(t.TempDir(), "other.parquet")
	if err := parquettest.Write(other, 3, []struct {
		ID int32 `parquet:"id"`
	}{{1}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args op.Args
		kind errs.Kind
		says string
	}{
		{op.Args{"paths": []string{path}}, errs.Unsupported, `"words"`},
		{op.Args{"paths": []string{empty}, "columns": []string{"id"}}, errs.Invalid, "no row"},
		{op.Args{"paths": []string{path}, "columns": []string{"small"}, "nulls": 0.5}, errs.Invalid, "int32 can hold"},
		{op.Args{"paths": []string{path, other}, "columns": []string{"id"}}, errs.Mismatch, other},
		{op.Args{"paths": []string{path, other}, "columns": []string{"name"}}, errs.Mismatch, "columns id"},
		{op.Args{"paths": []string{path}, "columns": []string{"image"}}, errs.Invalid, "image.bytes"},
		{op.Args{"paths": []string{path}, "columns": []string{"id"}, "cache_bytes": -1}, errs.Invalid, "cache_bytes"},
	} {
		if _, err := readertest.Open(ctx, name, c.args); !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v; want %v with %s", c.args, err, c.kind, c.says)
		}
	}
}

// All codecs and page versions of the library are read, with an offset index and without.
func TestCodecs(t *testing.T) {
	ctx := context.Background()
	rows := make([]parquettest.Row, 200)
	for i := range rows {
		rows[i] = parquettest.Row{ID: int64(i), Text: bytes.Repeat([]byte{byte(i)}, i), List: make([]int16, i%5)}
	}
	for _, codec := range []parquet.WriterOption{
		parquet.Compression(&parquet.Uncompressed), parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Gzip),
		parquet.Compression(&parquet.Zstd), parquet.Compression(&parquet.Brotli), parquet.Compression(&parquet.Lz4Raw),
	} {
		for version := 1; version <= 2; version++ {
			path := filepath.Join(t.TempDir(), "x.parquet")
			if err := parquettest.Write(path, 70, rows, codec, parquet.DataPageVersion(version),
				parquet.PageBufferSize(512)); err != nil {
				t.Fatal(err)
			}
			d, err := readertest.Open(ctx, name, op.Args{"paths": []string{path}, "cache_bytes": 0})
			if err != nil {
				t.Fatal(err)
			}
			for i := range rows {
				id := i * 61 % len(rows)
				v, err := d.Values(ctx, int64(id))
				if err != nil {
					t.Fatalf("row %d: %v", id, err)
				}
				if !bytes.Equal(v[0][1].Data, rows[id].Text) || v[0][2].Shape[0] != id%5 ||
					v[0][0].Data[0] != byte(id) {
					t.Errorf("page version %d, row %d: %v", version, id, v)
				}
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// Files that lie in any way give errors: the reader takes no more memory than the limit of a sample
// allows, and does not panic.
func FuzzFile(f *testing.F) {
	for _, options := range [][]parquet.WriterOption{nil, {parquet.DataPageVersion(1)},
		{parquet.Compression(&parquet.Snappy)}} {
		path := filepath.Join(f.TempDir(), "x.parquet")
		rows := []nested{{ID: 1, Maybe: ptr(float32(1)), Grid: [][]int32{{1}, {2}}}, {ID: 2, Name: ptr("b")}}
		if err := parquettest.Write(path, 2, rows, options...); err != nil {
			f.Fatal(err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		x, err := openFile(r, int64(len(b)))
		if err != nil {
			if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported {
				t.Errorf("%v of kind %v", err, k)
			}
			return
		}
		const limit = 1 << 16
		for g := range x.groups[:len(x.groups)-1] {
			for _, c := range x.columns {
				if c.err != nil {
					continue
				}
				k, err := x.readChunk(r, g, c, limit)
				if err != nil {
					continue
				}
				d := &dictionary{}
				if k.dictionary[0] < k.dictionary[1] {
					if d, err = x.readDictionary(r, g, c, k, limit); err != nil {
						continue
					}
				}
				for _, p := range k.parts[:min(len(k.parts), 4)] {
					v, err := x.readPart(r, g, c, d, p, limit)
					if err != nil {
						continue
					}
					n := int64(len(v.from))
					if len(c.lists) > 0 {
						n = int64(len(v.faults))
					} else if !c.isBytes() {
						n = int64(len(v.data) / c.width())
					}
					if n != p.rows {
						t.Errorf("%d rows, want %d", n, p.rows)
					}
				}
			}
		}
	})
}
