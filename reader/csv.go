package reader

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lines"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/internal/loaderargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

const csvName = "readers.csv"

// CSVFormat finds the rows of CSV with commas, the header among them.
var CSVFormat = csvFormat(lines.Dialect{Delimiter: ',', Quote: '"'})

// csvFormat finds the rows of CSV.
func csvFormat(d lines.Dialect) index.Format {
	name := "csv"
	switch {
	case d == lines.Dialect{Delimiter: '\t', Quote: '"'}:
		name = "tsv"
	case d != lines.Dialect{Delimiter: ',', Quote: '"'}:
		name = fmt.Sprintf("csv %q %q", d.Delimiter, d.Quote)
	}
	return index.Format{
		Name: name,
		Scan: func(_ context.Context, r *io.SectionReader, add func(index.Record) error) error {
			return d.Scan(r, recordsTo(add))
		},
		Verify: func(record []byte) error {
			if err := lines.CheckText(record); err != nil {
				return err
			}
			_, err := d.Split(record, nil)
			return err
		},
	}
}

func init() {
	Register(op.Schema{
		Name: "csv", Module: []string{"readers"},
		Doc: "Reads CSV: each row is a sample, and each column is an output of shape [n]. A column of text gives the bytes of a field in " +
			"UTF-8, and a column of numbers or bools one element. Empty rows are skipped, and fields in quotes may have line ends.",
		Outputs: []op.Port{{Name: "columns", Doc: "one output for each of columns, in their order"}},
		Params: lineParams(
			op.Parameter{Name: "columns", Type: op.Strings, Doc: "Names of the columns to read; by default all."},
			op.Parameter{Name: "dtypes", Type: op.DTypes, Doc: "Type of each column, or one for all; text is uint8, the default."},
			op.Parameter{Name: "header", Type: op.Bool, Default: true, Doc: "Whether the first row of each file has the names of its columns."},
			op.Parameter{Name: "names", Type: op.Strings, Doc: "Names of all columns in the order of the files, instead of the header; without both, columns are 0, 1, …."},
			op.Parameter{Name: "delimiter", Type: op.String,
				Doc: "The character between fields; by default a tab if the first file is called .tsv, and a comma otherwise."},
			op.Parameter{Name: "quote", Type: op.String, Default: `"`, Doc: "The character around fields that have delimiters or line ends; an empty text: none."},
		),
		OutputCount: func(c *op.Config) (int, error) {
			t, err := newTable(context.Background(), c)
			return len(t.fields), err
		},
	}, Opener{
		Outputs: func(c *op.Config) ([]tensor.Spec, error) {
			t, err := newTable(context.Background(), c)
			return specsOf(t.fields), err
		},
		Open: openCSV,
	})
}

// csvTable says where the columns are.
type csvTable struct {
	dialect lines.Dialect
	names   []string // of all columns
	fields  []lineField
	places  [][]int // for each file, the column of each field
	counts  []int   // for each file, the number of its columns
}

// newTable returns what the arguments and the first file tell.
func newTable(ctx context.Context, c *op.Config) (t csvTable, err error) {
	if err := loaderargs.Check(c); err != nil {
		return t, err
	}
	for _, a := range []struct {
		name string
		to   *byte
	}{{"delimiter", &t.dialect.Delimiter}, {"quote", &t.dialect.Quote}} {
		switch s := op.Get[string](c, a.name); {
		case !c.Has(a.name):
			if *a.to, err = delimiterOf(ctx, c); err != nil {
				return t, err
			}
		case len(s) == 1:
			*a.to = s[0]
		case s != "" || a.name == "delimiter":
			return t, c.Invalid(a.name, "one ASCII character", fmt.Sprintf("%q", s), "")
		}
	}
	if err := t.dialect.Check(); err != nil {
		return t, c.Invalid("delimiter", "a delimiter and a quote that can be told apart", err.Error(), "")
	}
	if t.names = op.Get[[]string](c, "names"); len(t.names) == 0 {
		if t.names, err = firstRow(ctx, c, t.dialect); err != nil {
			return t, err
		}
		if !op.Get[bool](c, "header") {
			for i := range t.names {
				t.names[i] = strconv.Itoa(i)
			}
		}
	}
	columns := op.Get[[]string](c, "columns")
	if len(columns) == 0 {
		columns = t.names
	}
	if _, err := placesOf(t.names, columns); err != nil {
		return t, errs.Wrap(csvName, "", err)
	}
	t.fields = make([]lineField, len(columns))
	for i, name := range columns {
		t.fields[i] = lineField{name: name, dtype: tensor.Uint8}
	}
	if _, err := setDTypes(c, t.fields); err != nil {
		return t, err
	}
	for i := range t.fields {
		t.fields[i].text = t.fields[i].dtype == tensor.Uint8
	}
	return t, setFallbacks(c, t.fields, func(text string) (lines.Value, error) {
		return lines.Value{Kind: lines.Bare,
			Raw: []byte(text)}, nil
	})
}

// delimiterOf returns the delimiter that the name of the first file suggests.
func delimiterOf(ctx context.Context, c *op.Config) (byte, error) {
	paths, err := pathsOf(ctx, c)
	if err == nil && hasSuffix(seekable.Plain(paths[0]), ".tsv") {
		return '\t', nil
	}
	return ',', err
}

// firstRow returns the fields of the first row of the first file.
func firstRow(ctx context.Context, c *op.Config, d lines.Dialect) ([]string, error) {
	path, records, err := headRecords(ctx, c, d.Scan)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, &errs.Error{Kind: errs.Invalid, Op: csvName, Subject: path, Want: "a first row of less than 1 MiB",
			Got: "no row"}
	}
	list, err := texts(d, records[0])
	return list, errs.Wrap(csvName, path, err)
}

// texts returns the fields of a row.
func texts(d lines.Dialect, row []byte) ([]string, error) {
	if err := lines.CheckText(row); err != nil {
		return nil, err
	}
	values, err := d.Split(row, nil)
	if err != nil {
		return nil, err
	}
	list := make([]string, len(values))
	for i, v := range values {
		b, err := v.Append(nil, tensor.Uint8, true)
		if err != nil {
			return nil, err
		}
		list[i] = string(b)
	}
	return list, nil
}

// placesOf returns where the wanted columns are among all.
func placesOf(all, wanted []string) ([]int, error) {
	places := make([]int, len(wanted))
	for i, name := range wanted {
		at := slices.Index(all, name)
		if at < 0 {
			remedy := errs.DidYouMean(name, all)
			if remedy == "" {
				remedy = "the columns are " + strings.Join(all[:min(len(all), 20)], ", ")
			}
			return nil, &errs.Error{Kind: errs.NotFound, Want: "column " + name, Got: fmt.Sprintf("%d other columns",
				len(all)), Remedy: remedy}
		}
		if slices.Contains(all[at+1:], name) {
			return nil, &errs.Error{Kind: errs.Invalid, Want: "one column " + name, Got: "more than one", Remedy: "set names"}
		}
		if slices.Contains(wanted[:i], name) {
			return nil, &errs.Error{Kind: errs.Invalid, Want: "each column once", Got: name + " twice"}
		}
		places[i] = at
	}
	return places, nil
}

func openCSV(ctx context.Context, c *op.Config) (Source, error) {
	t, err := newTable(ctx, c)
	if err != nil {
		return nil, err
	}
	s := &lineSource{name: csvName, fields: t.fields, split: t.split}
	if op.Get[bool](c, "header") {
		s.header = 1
	}
	if err := s.open(ctx, c, csvFormat(t.dialect)); err != nil {
		return nil, err
	}
	if err := t.locate(ctx, c, s); err != nil {
		s.Close() //nolint:errcheck // the other error says more
		return nil, err
	}
	s.split = t.split
	return s, nil
}

// locate finds the columns in each file.
func (t *csvTable) locate(ctx context.Context, c *op.Config, s *lineSource) error {
	wanted := make([]string, len(t.fields))
	for i, f := range t.fields {
		wanted[i] = f.name
	}
	places, err := placesOf(t.names, wanted)
	if err != nil {
		return errs.Wrap(csvName, "", err)
	}
	last := t.names
	for i, f := range s.x.Files() {
		if s.header > 0 && len(op.Get[[]string](c, "names")) == 0 {
			at, err := s.x.Span(f.First)
			if err != nil {
				return errs.Wrap(csvName, "", err)
			}
			row := make([]byte, at.Length)
			if err := s.set.ReadAt(ctx, i, row, at.Offset); err != nil {
				return errs.Wrap(csvName, "", err)
			}
			names, err := texts(t.dialect, row)
			if err == nil && !slices.Equal(names, last) {
				places, err = placesOf(names, wanted)
				last = names
			}
			if err != nil {
				return errs.Wrap(csvName, s.set.Path(i)+", header", err)
			}
		}
		t.places, t.counts = append(t.places, places), append(t.counts, len(last))
	}
	return nil
}

// split appends the fields of a row to list, and then the fields of the columns.
func (t *csvTable) split(file int, row []byte, list []lines.Value) ([]lines.Value, error) {
	list, err := t.dialect.Split(row, list)
	if err != nil {
		return nil, err
	}
	n := len(list)
	if n != t.counts[file] {
		return nil, &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("%d fields as in the header", t.counts[file]),
			Got:    fmt.Sprint(n),
			Remedy: "quote fields that have delimiters"}
	}
	for _, at := range t.places[file] {
		list = append(list, list[at])
	}
	return list, nil
}
