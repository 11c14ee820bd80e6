package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// appendTo adds sample i of n to one of three files.
func appendTo(files *[3][]byte, i, n int, add func(dst []byte) []byte) {
	k := i * 3 / n
	files[k] = add(files[k])
}

// TFRecords makes three TFRecord files of examples with an image and a label.
func TFRecords(dir string, n int) (string, op.Args, error) {
	var files [3][]byte
	for i := range n {
		message, err := tfrecord.EncodeExample(map[string]any{"image": fmt.Sprint("sample ", i), "label": []int64{int64(i)}})
		if err != nil {
			return "", nil, err
		}
		appendTo(&files, i, n, func(dst []byte) []byte { return tfrecord.Append(dst, message) })
	}
	paths, err := writeFiles(dir, ".tfrecord", files[:])
	return "readers.tfrecord", op.Args{"path": paths, "features": []op.Feature{
		op.FixedLen("image", nil, tensor.Uint8, nil), op.FixedLen("label", []int{1}, tensor.Int64, nil),
	}}, err
}

// IndexedTFRecords makes the files of TFRecords with an index of each.
func IndexedTFRecords(dir string, n int) (string, op.Args, error) {
	reader, args, err := TFRecords(dir, n)
	if err != nil {
		return "", nil, err
	}
	var indexes []string
	for _, path := range args["path"].([]string) {
		b, err := os.ReadFile(path)
		if err != nil {
			return "", nil, err
		}
		var lines []byte
		for at := int64(0); at < int64(len(b)); {
			size, err := tfrecord.RecordSize(b[at : at+tfrecord.HeaderSize])
			if err != nil {
				return "", nil, err
			}
			lines = tfrecord.AppendIndex(lines, at, size)
			at += size
		}
		indexes = append(indexes, path+".idx")
		if err := os.WriteFile(path+".idx", lines, 0o666); err != nil {
			return "", nil, err
		}
	}
	args["index_path"] = indexes
	return reader, args, nil
}

// RecordIO makes three RecordIO files of images with labels, and one index of all.
func RecordIO(dir string, n int) (string, op.Args, error) {
	var files [3][]byte
	var lines []byte
	for i := range n {
		image := recordio.Image{Label: float32(i), ID: uint64(i), Data: fmt.Append(nil, "sample ", i)}
		at := len(files[0]) + len(files[1]) + len(files[2])
		lines = recordio.AppendIndex(lines, fmt.Sprint(i), int64(at))
		appendTo(&files, i, n, func(dst []byte) []byte { return recordio.Append(dst, recordio.AppendImage(nil, image)) })
	}
	paths, err := writeFiles(dir, ".rec", files[:])
	if err != nil {
		return "", nil, err
	}
	index := filepath.Join(dir, "all.idx")
	return "readers.mxnet", op.Args{"path": paths, "index_path": index}, os.WriteFile(index, lines, 0o666)
}

// writeFiles writes files into a directory and returns their paths.
func writeFiles(dir, suffix string, files [][]byte) (paths []string, err error) {
	for i, b := range files {
		path := filepath.Join(dir, fmt.Sprintf("part-%02d%s", i, suffix))
		if err := os.WriteFile(path, b, 0o666); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
