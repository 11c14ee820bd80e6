// Package readertest makes small data sets for the tests of all readers, and reads them.
package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// Maker writes a data set of n samples into a directory and returns the reader of it with its
// arguments. All samples differ.
type Maker func(dir string, n int) (reader string, args op.Args, err error)

// All has a Maker for each reader and each form of data that it reads in another way.
var All = map[string]Maker{
	"array_record":     ArrayRecord,
	"arrow":            Arrow,
	"caffe":            Caffe,
	"caffe2":           Caffe2,
	"coco":             COCO,
	"coco masks":       COCOMasks,
	"nemo_asr":         Nemo,
	"csv":              CSV,
	"file":             Files,
	"folder":           Folder,
	"folder of rows":   FolderOfRows,
	"fits":             Fits,
	"jsonl gzip":       GzipJSONL,
	"jsonl zstd":       ZstdJSONL,
	"jsonl":            JSONL,
	"litdata":          Litdata,
	"mds":              MDS,
	"mxnet":            RecordIO,
	"npz":              Npz,
	"numpy":            Numpy,
	"safetensors":      Safetensors,
	"sequence":         Sequence,
	"tfrecord indexed": IndexedTFRecords,
	"tfrecord":         TFRecords,
	"tokens array":     TokenArray,
	"tokens":           Tokens,
	"video":            Video,
	"webdataset":       Webdataset,
}

// Files makes files in three folders.
func Files(dir string, n int) (string, op.Args, error) {
	for i := range n {
		class := filepath.Join(dir, fmt.Sprint("class", i*3/n))
		if err := os.MkdirAll(class, 0o777); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%05d.jpg", i)), fmt.Append(nil, "sample ", i),
			0o666); err != nil {
			return "", nil, err
		}
	}
	return "readers.file", op.Args{"file_root": dir}, nil
}
