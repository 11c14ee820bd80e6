package formats

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	_ "github.com/bivouac-ml/bivouac/reader/arrow"   // readers.arrow
	_ "github.com/bivouac-ml/bivouac/reader/parquet" // readers.parquet
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// columnarFamily compares Parquet and Arrow files, which all have the same rows.
func columnarFamily(top *suite.Object) func(context.Context, *suite.Report, *suite.Object, []byte) {
	rows := top.List("rows")
	top.Str("schema") // in words
	return func(ctx context.Context, r *suite.Report, o *suite.Object, content []byte) {
		file := o.Str("file")
		accepted, refused := o.Boolean("accepted"), o.Has("error")
		ending := filepath.Ext(file)
		groups := slices.Concat(o.Ints("row_groups"), o.Ints("batches"))
		same, count := true, int64(len(rows))
		if accepted {
			same, count = o.Boolean("same"), o.Integer("num_rows")
		}
		err := withFile(content, ending, func(path string) error {
			reader := "readers.arrow"
			if ending == ".parquet" {
				reader = "readers.parquet"
			}
			if !same { // the library read other rows, which the case does not have
				return countRows(ctx, r, reader, path, count)
			}
			return compareRows(ctx, r, reader, path, rows, groups)
		})
		switch {
		case refused && err == nil:
			r.Fail("read, want it refused: %v", o.Get("error"))
		case refused, accepted && err != nil && errs.KindOf(err) != errs.Other:
			r.Failures = nil // it is refused, which is right
		case err != nil:
			r.Fail("%v", err)
		}
	}
}

// countRows opens a file and compares its number of rows.
func countRows(ctx context.Context, r *suite.Report, reader, path string, want int64) error {
	data, err := readertest.Open(ctx, reader, op.Args{"paths": []string{path}})
	if err != nil {
		return err
	}
	defer data.Close()
	if got := data.Info().Samples; got != want {
		r.Fail("%d rows, want %d", got, want)
	}
	return nil
}

// compareRows reads all rows, column by column, because a null is an error.
func compareRows(ctx context.Context, r *suite.Report, reader, path string, rows []any, groups []int) error {
	for _, column := range []string{"id", "f", "s", "b", "l", "fl", "bo", "d"} {
		data, err := readertest.Open(ctx, reader, op.Args{"paths": []string{path}, "columns": []string{column}})
		if err != nil {
			return err
		}
		defer data.Close()
		if got := data.Info().Samples; got != int64(len(rows)) {
			r.Fail("%d rows, want %d", got, len(rows))
			return nil
		}
		id := int64(0)
		for group, n := range groups {
			for row := range n {
				if text := data.Describe(id); !strings.HasPrefix(text, "row "+strconv.Itoa(row)+" ") ||
					!strings.Contains(text, " "+strconv.Itoa(group)+" ") {
					r.Fail("row %d is %q, want row %d of group %d", id, text, row, group)
				}
				id++
			}
		}
		for id, row := range rows {
			want := row.(map[string]any)[column]
			values, err := data.Values(ctx, int64(id))
			var got any
			switch {
			case errors.Is(err, errs.Mismatch) && strings.Contains(err.Error(), "null"):
			case err != nil:
				return err
			default:
				got = columnarValue(column, values[0][0])
			}
			if !suite.SameJSON(got, want) {
				r.Fail("row %d, column %s: got %v, want %v", id, column, got, want)
			}
		}
	}
	return nil
}

// columnarValue returns a value as the cases write it.
func columnarValue(column string, t tensor.Tensor) any {
	switch {
	case column == "s" || column == "d":
		return string(t.Data)
	case column == "b":
		return hex.EncodeToString(t.Data)
	case t.DType == tensor.Bool:
		return t.Data[0] != 0
	}
	list := []any{}
	for i := range t.Shape.Len() {
		v, _ := op.Number(t, i)
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if v == math.Trunc(v) {
			text = strconv.FormatInt(int64(v), 10)
		}
		list = append(list, json.Number(text))
	}
	if len(t.Shape) == 0 {
		return list[0]
	}
	return list
}
