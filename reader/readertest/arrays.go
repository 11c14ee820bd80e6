package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// parts returns the arrays of two files with n rows.
func parts(n int) (files []map[string]tensor.Tensor) {
	for _, r := range [][2]int{{0, n / 2}, {n / 2, n}} {
		rows := r[1] - r[0]
		number, pairs := make([]int64, rows), make([]float32, 2*rows)
		for i := range rows {
			number[i], pairs[2*i], pairs[2*i+1] = int64(r[0]+i), float32(r[0]+i), 0.5
		}
		files = append(files, map[string]tensor.Tensor{"number": tensor.FromSlice(number, rows),
			"pair": tensor.FromSlice(pairs, rows, 2)})
	}
	return files
}

// Safetensors makes two files of tensors.
func Safetensors(dir string, n int) (name string, args op.Args, err error) {
	var paths []string
	for i, arrays := range parts(n) {
		path := filepath.Join(dir, fmt.Sprintf("part-%d.safetensors", i))
		f, err := os.Create(path)
		if err != nil {
			return "", nil, err
		}
		defer f.Close()
		if err := safetensors.Write(f, arrays, nil); err != nil {
			return "", nil, err
		}
		paths = append(paths, path)
	}
	return "readers.safetensors", op.Args{"path": paths}, nil
}

// Npz makes two archives of arrays, of which the second is compressed.
func Npz(dir string, n int) (name string, args op.Args, err error) {
	var paths []string
	for i, arrays := range parts(n) {
		path := filepath.Join(dir, fmt.Sprintf("part-%d.npz", i))
		f, err := os.Create(path)
		if err != nil {
			return "", nil, err
		}
		defer f.Close()
		w := npy.NewArchiveWriter(f, i == 1)
		for _, column := range []string{"number", "pair"} {
			if err := w.Write(column, arrays[column]); err != nil {
				return "", nil, err
			}
		}
		if err := w.Close(); err != nil {
			return "", nil, err
		}
		paths = append(paths, path)
	}
	return "readers.npz", op.Args{"path": paths}, nil
}
