package readertest

import (
	"fmt"
	"os"
	"path/filepath"

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
