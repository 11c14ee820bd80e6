// Package parquettest makes small Parquet files for tests, suites and benchmarks.
package parquettest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"github.com/bivouac-ml/bivouac/op"
)

// Row is a row of the files.
type Row struct {
	ID   int64   `parquet:"id"`
	Text []byte  `parquet:"text"`
	List []int16 `parquet:"list,list"`
}

// Parquet makes a data set of n rows in dir, in row groups of 5.
func Parquet(dir string, n int) (name string, args op.Args, err error) {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{ID: int64(i), Text: fmt.Appendf(nil, "row %d, %0*d", i, 1+i%50, i), List: []int16{}}
		for k := range i % 4 {
			rows[i].List = append(rows[i].List, int16(100*i+k))
		}
	}
	path := filepath.Join(dir, "data.parquet")
	return "readers.parquet", op.Args{"paths": []string{path}}, Write(path, 5, rows)
}

// Write writes rows to a file.
func Write[T any](path string, perGroup int, rows []T, options ...parquet.WriterOption) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := parquet.NewGenericWriter[T](f, append(options, parquet.MaxRowsPerRowGroup(int64(perGroup)))...)
	if _, err := w.Write(rows); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
