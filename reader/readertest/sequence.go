package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
	_ "github.com/bivouac-ml/bivouac/reader/frames" // readers.sequence
)

// Sequence makes n+1 images of 2 x 2 gray pixels in one folder, so that there are n sequences of
// two frames. The first pixel of sequence i is i modulo 256.
func Sequence(dir string, n int) (name string, args op.Args, err error) {
	folder := filepath.Join(dir, "stream")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", nil, err
	}
	for i := range n + 1 {
		image := append([]byte("P5 2 2 255\n"), byte(i), byte(i), byte(i), byte(i))
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%06d.pgm", i)), image, 0o666); err != nil {
			return "", nil, err
		}
	}
	return "readers.sequence", op.Args{"file_root": dir, "sequence_length": 2, "image_type": op.Gray}, nil
}
