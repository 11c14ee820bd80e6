package readertest

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/tokens"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Tokens makes a pair of .bin and .idx with n documents of 1 to 5 tokens.
func Tokens(dir string, n int) (name string, args op.Args, err error) {
	var bin []byte
	lengths, ends := make([]int32, n), []int64{0}
	for i := range n {
		lengths[i] = int32(i%5 + 1)
		ends = append(ends, int64(i)+1)
		for t := range lengths[i] {
			bin = binary.LittleEndian.AppendUint16(bin, uint16(100*i)+uint16(t))
		}
	}
	idx, err := tokens.AppendIndex(nil, tensor.Uint16, lengths, ends)
	if err != nil {
		return "", nil, err
	}
	base := filepath.Join(dir, "tokens")
	if err := os.WriteFile(base+".idx", idx, 0o666); err != nil {
		return "", nil, err
	}
	return "readers.tokens", op.Args{"path": base, "output_dtype": tensor.Int32,
		"boundaries": true}, os.WriteFile(base+".bin", bin, 0o666)
}

// TokenArray makes two plain arrays with n windows that overlap. A fifth of the windows is in the
// first array.
func TokenArray(dir string, n int) (name string, args op.Args, err error) {
	const window, stride = 4, 3
	var paths []string
	next := uint32(0)
	for i, windows := range []int{n / 5, n - n/5} {
		var array []byte
		for range stride*windows + window - stride {
			array = binary.LittleEndian.AppendUint32(array, next)
			next++
		}
		path := filepath.Join(dir, fmt.Sprint("array-", i))
		if err := os.WriteFile(path, array, 0o666); err != nil {
			return "", nil, err
		}
		paths = append(paths, path)
	}
	return "readers.tokens", op.Args{"path": paths, "dtype": tensor.Uint32, "window": window, "stride": stride}, nil
}
