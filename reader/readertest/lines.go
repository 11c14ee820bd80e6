package readertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// JSONL makes a data set of JSON Lines in two files.
func JSONL(dir string, n int) (name string, args op.Args, err error) {
	paths, err := halves(dir, "lines-%d.jsonl", n, "", func(i int) string {
		return fmt.Sprintf("{\"text\":\"sample %d\",\"number\":%d,\"list\":[%d,0.5]}\n", i, i, i)
	})
	return "readers.jsonl", op.Args{"path": paths, "fields": []string{"number", "text", "list"},
		"dtypes": []tensor.DType{tensor.Int64, tensor.Uint8, tensor.Float32}}, err
}

// CSV makes a data set of CSV in two files.
func CSV(dir string, n int) (name string, args op.Args, err error) {
	paths, err := halves(dir, "rows-%d.csv", n, "number,text\n", func(i int) string {
		return fmt.Sprintf("%d,\"sample, \n\"\"%d\"\"\"\n", i, i)
	})
	return "readers.csv", op.Args{"path": paths, "dtypes": []tensor.DType{tensor.Int64, tensor.Uint8}}, err
}

// halves writes n records to two files.
func halves(dir, pattern string, n int, head string, record func(i int) string) (paths []string, err error) {
	for f, from := range []int{0, n / 2} {
		to := n / 2
		if f == 1 {
			to = n
		}
		text := head
		for i := from; i < to; i++ {
			text += record(i)
		}
		path := filepath.Join(dir, fmt.Sprintf(pattern, f))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// GzipJSONL works like JSONL for files that are compressed in two members each.
func GzipJSONL(dir string, n int) (name string, args op.Args, err error) {
	return compressed(dir, n, ".gz", func(b []byte) ([]byte, error) {
		var out bytes.Buffer
		for _, part := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
			w := gzip.NewWriter(&out)
			if _, err := w.Write(part); err != nil {
				return nil, err
			}
			if err := w.Close(); err != nil {
				return nil, err
			}
		}
		return out.Bytes(), nil
	})
}

// ZstdJSONL works like JSONL for files that are compressed in frames of 100 bytes.
func ZstdJSONL(dir string, n int) (name string, args op.Args, err error) {
	return compressed(dir, n, ".zst", func(b []byte) ([]byte, error) { return seekable.AppendZstd(nil, b, 100), nil })
}

// compressed makes JSON Lines and compresses each file.
func compressed(dir string, n int, suffix string, compress func(b []byte) ([]byte, error)) (
	name string, args op.Args, err error) {
	name, args, err = JSONL(dir, n)
	if err != nil {
		return "", nil, err
	}
	paths := args["path"].([]string)
	for i, path := range paths {
		b, err := os.ReadFile(path)
		if err == nil {
			b, err = compress(b)
		}
		if err == nil {
			paths[i] += suffix
			err = os.WriteFile(paths[i], b, 0o666)
		}
		if err != nil {
			return "", nil, err
		}
	}
	return name, args, nil
}
