package arrow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

const name = "readers.arrow"

// pyarrowFile was written by pyarrow with 40 rows; proof/interop/testdata says how.
const pyarrowFile = "../../proof/interop/testdata/datafiles/0005/data.arrow"

// Nulls are refused by the name of their column, and become what nulls says.
func TestNulls(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		column string
		row    int64
		nulls  any // nil: not given
		want   string
	}{
		{"int16_null", 0, nil, `"int16_null": mismatch: want a value, got null`},
		{"int16_null", 0, -2, "int16[] [254 255]"},
		{"float_null", 3, 0.5, "float32[] [0 0 0 63]"},
		{"double_null", 3, 1, "float64[] [0 0 0 0 0 0 240 63]"},
		{"bool_null", 1, 1, "bool[] [1]"},
		{"string_null", 1, 0, "uint8[0] []"},
		{"dictionary_null", 5, nil, "got null"},
		{"dictionary_null", 5, 0, "uint8[0] []"},
		{"list_null", 3, 0, "int32[0] []"},
		{"list_element_null", 3, nil, "got a list with a null"},
		{"list_element_null", 3, 9, "int32[2] [9 0 0 0 3 0 0 0]"},
		{"uint64_null", 0, 255, "uint64[] [255 0 0 0 0 0 0 0]"},
	} {
		args := op.Args{"paths": []string{pyarrowFile}, "columns": []string{c.column}}
		if c.nulls != nil {
			args["nulls"] = c.nulls
		}
		d, err := readertest.Open(ctx, name, args)
		if err != nil {
			t.Errorf("%s: %v", c.column, err)
			continue
		}
		v, err := d.Values(ctx, c.row)
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprintf("%s%v %v", v[0][0].DType, []int(v[0][0].Shape), v[0][0].Data)
		}
		if err == nil && got != c.want || !strings.Contains(got, c.want) {
			t.Errorf("%s, nulls %v: %s, want %s", c.column, c.nulls, got, c.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Columns that are no tensors, nulls of the wrong kind and files that do not fit each other are
// refused when the data set is opened.
func TestOpenRefuses(t *testing.T) {
	ctx := context.Background()
	other, empty := filepath.Join(t.TempDir(), "other.arrow"), filepath.Join(t.TempDir(), "empty.arrow")
	for path, texts := range map[string][][]byte{other: {[]byte("a")}, empty: nil} {
		if err := os.WriteFile(path, readertest.ArrowOf(5, texts), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		args op.Args
		kind errs.Kind
		says string
	}{
		{op.Args{"paths": []string{empty}}, errs.Invalid, "no row"},
		{op.Args{"paths": []string{pyarrowFile}, "columns": []string{"uint8"}, "nulls": -1}, errs.Invalid,
			"uint8 can hold"},
		{op.Args{"paths": []string{pyarrowFile}, "columns": []string{"struct"}}, errs.Invalid, "struct.bytes"},
		{op.Args{"paths": []string{pyarrowFile, other}, "columns": []string{"string"}}, errs.Mismatch,
			"columns id, text, list"},
		{op.Args{"paths": []string{other}, "columns": []string{"id"}, "cache_bytes": -1}, errs.Invalid, "cache_bytes"},
	} {
		if _, err := readertest.Open(ctx, name, c.args); !errors.Is(err, c.kind) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v; want %v with %s", c.args, err, c.kind, c.says)
		}
	}
}

// A damaged file never gives more than an error: Arrow has no checksums, so values may differ.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	whole, err := os.ReadFile(pyarrowFile)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.arrow")
	for i := 0; i < len(whole); i += 211 {
		b := bytes.Clone(whole)
		b[i] ^= 0x81
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := readertest.Open(ctx, name, op.Args{"paths": []string{path},
			"columns": []string{"id", "list_int16", "string_null", "nested", "dictionary", "struct.path"}})
		if err != nil {
			if k := errs.KindOf(err); k == errs.Other || k == errs.IO {
				t.Errorf("byte %d: %v", i, err)
			}
			continue
		}
		for id := range d.Info().Samples {
			if _, err := d.Values(ctx, id); err != nil &&
				(errs.KindOf(err) == errs.Other || errs.KindOf(err) == errs.IO) {
				t.Errorf("byte %d, row %d: %v", i, id, err)
			}
			if id > 20 {
				break
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
