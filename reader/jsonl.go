package reader

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lines"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const jsonlName = "readers.jsonl"

// JSONLFormat finds the lines of JSON Lines.
var JSONLFormat = index.Format{
	Name: "jsonl",
	Scan: func(_ context.Context, r *io.SectionReader, add func(index.Record) error) error {
		return lines.Scan(r, recordsTo(add))
	},
	Verify: func(record []byte) error {
		if err := lines.CheckText(record); err != nil {
			return err
		}
		_, _, err := lines.Members(record)
		return err
	},
}

// recordsTo adds places as records.
func recordsTo(add func(index.Record) error) lines.Add {
	return func(offset, length int64) error { return add(index.Record{Offset: offset, Length: length}) }
}

func init() {
	Register(op.Schema{
		Name: "jsonl", Module: []string{"readers"},
		Doc: "Reads JSON Lines: each line is an object and a sample, and each field is an output of shape [n]. A text gives its bytes in " +
			"UTF-8, a number or bool gives one element, and a list of them all its elements. Blank lines are skipped.",
		Outputs: []op.Port{{Name: "fields", Doc: "one output for each of fields, in their order"}},
		Params: lineParams(
			op.Parameter{Name: "fields", Type: op.Strings, Required: true,
				Doc: "Names of members, with dots for members of members: meta.length. A backslash makes a dot part of a name."},
			op.Parameter{Name: "dtypes", Type: op.DTypes,
				Doc: "Type of each field, or one for all; text is uint8. By default the first value of a field tells: uint8, bool, int64 or float64."},
		),
		OutputCount: func(c *op.Config) (int, error) { return len(op.Get[[]string](c, "fields")), nil },
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			fields, _, err := jsonFields(context.Background(), c)
			return specsOf(fields), err
		},
		Open: func(ctx context.Context, c *op.Config) (Source, error) {
			fields, paths, err := jsonFields(ctx, c)
			if err != nil {
				return nil, err
			}
			s := &lineSource{name: jsonlName, fields: fields,
				split: func(_ int, line []byte, list []lines.Value) ([]lines.Value, error) { return paths.Parse(line, list) }}
			if err := s.open(ctx, c, JSONLFormat); err != nil {
				return nil, err
			}
			return s, nil
		},
	})
}

// jsonFields returns the fields that the arguments name.
func jsonFields(ctx context.Context, c *op.Config) ([]lineField, *lines.Paths, error) {
	if err := loaderargs.Check(c); err != nil {
		return nil, nil, err
	}
	names := op.Get[[]string](c, "fields")
	if len(names) == 0 {
		return nil, nil, c.Invalid("fields", "at least one field", "none", "")
	}
	paths, err := lines.NewPaths(names...)
	if err != nil {
		return nil, nil, c.Invalid("fields", "each field once", err.Error(), "")
	}
	fields := make([]lineField, len(names))
	for i, name := range names {
		fields[i].name = name
	}
	given, err := setDTypes(c, fields)
	if err == nil && !given {
		err = guessFields(ctx, c, fields, paths)
	}
	if err == nil {
		one, _ := lines.NewPaths("x")
		err = setFallbacks(c, fields, func(text string) (lines.Value, error) {
			list, err := one.Parse([]byte(`{"x":`+text+`}`), nil)
			if err != nil {
				return lines.Value{}, &errs.Error{Kind: errs.Invalid, Want: `a value of JSON, such as 0 or "text"`,
					Got: "another text"}
			}
			return list[0], nil
		})
	}
	return fields, paths, err
}

// guessFields takes dtypes from the first values in the data set.
func guessFields(ctx context.Context, c *op.Config, fields []lineField, paths *lines.Paths) error {
	path, records, err := headRecords(ctx, c, lines.Scan)
	if err != nil {
		return err
	}
	var list []lines.Value
	left := len(fields)
	for r := 0; r < len(records) && left > 0; r++ {
		if list, err = paths.Parse(records[r], list[:0]); err != nil {
			return errs.Wrap(jsonlName, fmt.Sprintf("%s, record %d", path, r), err)
		}
		for i := range fields {
			f := &fields[i]
			if f.dtype != tensor.Invalid || list[i].Empty() {
				continue
			}
			if f.dtype, err = list[i].DType(); err != nil {
				return errs.Wrap(jsonlName, fmt.Sprintf("%s, record %d, field %s", path, r, f.name), err)
			}
			if f.dtype != tensor.Invalid {
				f.guessed = true
				left--
			}
		}
	}
	if left == 0 {
		return nil
	}
	at := slices.IndexFunc(fields, func(f lineField) bool { return f.dtype == tensor.Invalid })
	remedy := "set dtypes, if the field comes later"
	if len(records) > 0 {
		if names, _, err := lines.Members(records[0]); err == nil {
			if like := errs.DidYouMean(fields[at].name, names); like != "" {
				remedy = like
			} else {
				remedy += "; the first record has " + strings.Join(names, ", ")
			}
		}
	}
	return &errs.Error{Kind: errs.NotFound, Op: jsonlName, Subject: path, Want: "a value of field " + fields[at].name,
		Got: fmt.Sprintf("none in the first %d records", len(records)), Remedy: remedy}
}

// hasSuffix reports whether the name of a file ends with one of some suffixes, in any case.
func hasSuffix(name string, suffixes ...string) bool {
	name = strings.ToLower(datafs.Base(name))
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
