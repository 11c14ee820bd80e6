package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Numpy makes arrays of 3 columns and 1 to 4 rows, filled with their numbers. Every third is in
// Fortran order.
func Numpy(dir string, n int) (name string, args op.Args, err error) {
	for i := range n {
		values := make([]int32, 3*(1+i%4))
		for j := range values {
			values[j] = int32(i)
		}
		b, err := npy.Encode(tensor.FromSlice(values, 1+i%4, 3), &npy.WriteOptions{Fortran: i%3 == 2})
		if err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.npy", i)), b, 0o666); err != nil {
			return "", nil, err
		}
	}
	return "readers.numpy", op.Args{"file_root": dir}, nil
}
