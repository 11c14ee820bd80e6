package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/arrayrecord"
	"github.com/bivouac-ml/bivouac/op"
)

// ArrayRecord makes a data set of n records in dir: two files, the second with 4 records a chunk.
func ArrayRecord(dir string, n int) (name string, args op.Args, err error) {
	paths := []string{filepath.Join(dir, "a.array_record"), filepath.Join(dir, "b.array_record")}
	for i, part := range [][2]int{{0, n / 2}, {n / 2, n}} {
		var records [][]byte
		for j := part[0]; j < part[1]; j++ {
			records = append(records, fmt.Appendf(nil, "record %d, %0*d", j, 1+j%50, j))
		}
		if err := ArrayRecordOf(paths[i], 1+3*i, records); err != nil {
			return "", nil, err
		}
	}
	return "readers.array_record", op.Args{"paths": paths}, nil
}

// ArrayRecordOf makes a file with group records a chunk.
func ArrayRecordOf(path string, group int, records [][]byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := arrayrecord.NewWriter(f, group)
	for _, r := range records {
		if err := w.Write(r); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}
