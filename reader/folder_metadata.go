package reader

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// metadata is what the metadata of a folder says: a table that another reader reads.
type metadata struct {
	paths   []string
	kind    string   // .csv, .jsonl or .parquet
	columns []string // in the order of the first file
	dtypes  []tensor.DType
}

// readMetadata finds the columns of the metadata, and of CSV their types: it reads the whole table.
func readMetadata(ctx context.Context, paths []string) (*metadata, error) {
	m := &metadata{paths: paths, kind: datafs.Ext(paths[0])}
	switch m.kind {
	case ".jsonl":
		head, err := headOf(ctx, paths[0], mostHead)
		if err != nil {
			return nil, err
		}
		line, _, _ := bytes.Cut(head, []byte{'\n'})
		for _, name := range jsonFieldsOf(line) {
			m.columns = append(m.columns, strings.ReplaceAll(name, `\.`, "."))
		}
		if len(m.columns) == 0 {
			return nil, &errs.Error{Kind: errs.Invalid, Subject: paths[0],
				Want: "a first line that is an object, of less than 1 MiB",
				Got:  "no object with texts, numbers, bools, or lists of numbers"}
		}
		return m, nil
	case ".parquet":
		data, err := Open(ctx, "readers.parquet", op.Args{"paths": paths[:1]})
		if err != nil {
			return nil, err
		}
		m.columns = slices.Clone(data.Names())
		return m, data.Close()
	}
	data, err := Open(ctx, csvName, op.Args{"path": paths})
	if err != nil {
		return nil, err
	}
	m.columns = slices.Clone(data.Names())
	err = m.guess(ctx, data)
	return m, errors.Join(err, data.Close())
}

// args returns the reader of some columns, and its arguments.
func (m *metadata) args(columns []string) (string, op.Args, error) {
	switch m.kind {
	case ".jsonl":
		fields := make([]string, len(columns))
		for i, name := range columns {
			fields[i] = strings.ReplaceAll(name, ".", `\.`)
		}
		return jsonlName, op.Args{"path": m.paths, "fields": fields}, nil
	case ".parquet":
		return "readers.parquet", op.Args{"paths": m.paths, "columns": columns}, nil
	}
	dtypes := make([]tensor.DType, len(columns))
	for i, name := range columns {
		dtypes[i] = m.dtypes[slices.Index(m.columns, name)]
	}
	return csvName, op.Args{"path": m.paths, "columns": columns, "dtypes": dtypes}, nil
}

// guess finds the types of the columns of CSV: int64, float64 or bool if all values are of the
// type, else text. A column with a value that is missing is text.
func (m *metadata) guess(ctx context.Context, data *Data) error {
	list := []tensor.DType{tensor.Int64, tensor.Float64, tensor.Bool, tensor.Uint8}
	may := make([]int, len(m.columns)) // places in list
	if at := slices.Index(m.columns, fileColumn); at >= 0 {
		may[at] = len(list) - 1
	}
	var row [1]Fields
	for id := range data.Len() {
		if err := data.Read(ctx, []int64{id}, row[:]); err != nil {
			return err
		}
		for i, v := range row[0].Values {
			for may[i] < len(list)-1 && !isValue(list[may[i]], string(v.Data)) {
				if may[i]++; list[may[i]] == tensor.Bool && id > 0 {
					may[i]++ // the values before were numbers
				}
			}
		}
	}
	for i := range may {
		m.dtypes = append(m.dtypes, list[may[i]])
	}
	return nil
}

// isValue reports whether a text is a value of a type.
func isValue(d tensor.DType, text string) bool {
	var err error
	switch d {
	case tensor.Int64:
		_, err = strconv.ParseInt(text, 10, 64)
	case tensor.Float64:
		_, err = strconv.ParseFloat(text, 64)
		if err == nil && strings.ContainsAny(text, "xX_pP") {
			return false
		}
	case tensor.Bool:
		return text == "True" || text == "False" || text == "TRUE" || text == "FALSE" || text == "true" || text == "false"
	}
	return err == nil
}
