package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/caffe"
	"github.com/bivouac-ml/bivouac/format/lmdb"
	"github.com/bivouac-ml/bivouac/op"
)

// Caffe makes two LMDB databases of Caffe's records. Some have pages of their own.
func Caffe(dir string, n int) (string, op.Args, error) {
	return databases(dir, n, "readers.caffe", func(i int) []byte {
		return caffe.AppendDatum(nil, caffe.Datum{Data: payload(i), Label: int32(i), HasLabel: true, Encoded: true,
			HasEncoded: true})
	})
}

// Caffe2 makes two LMDB databases of Caffe2's records.
func Caffe2(dir string, n int) (string, op.Args, error) {
	return databases(dir, n, "readers.caffe2", func(i int) []byte {
		return caffe.AppendTensors(nil, caffe.Tensor{Type: caffe.String, Dims: []int64{1}, Strings: [][]byte{payload(i)}},
			caffe.Tensor{Type: caffe.Int32, Dims: []int64{1}, Ints: []int32{int32(i)}})
	})
}

// payload is the image of record i.
func payload(i int) []byte {
	b := fmt.Append(nil, "record ", i)
	if i%7 == 3 {
		b = append(b, make([]byte, 5000)...)
	}
	return b
}

// databases writes the records 0 to n-1 into two databases.
func databases(dir string, n int, reader string, record func(i int) []byte) (string, op.Args, error) {
	var paths []string
	for k := range 2 {
		path := filepath.Join(dir, fmt.Sprint("db", k))
		if err := writeLMDB(path, k*n/2, (k+1)*n/2, record); err != nil {
			return "", nil, err
		}
		paths = append(paths, path)
	}
	return reader, op.Args{"path": paths}, nil
}

func writeLMDB(path string, first, end int, record func(i int) []byte) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(path, "data.mdb"))
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := lmdb.NewWriter(f, 4096)
	if err != nil {
		return err
	}
	for i := first; i < end; i++ {
		if err := w.Add(fmt.Appendf(nil, "%08d", i), record(i)); err != nil {
			return err
		}
	}
	return w.Close()
}
