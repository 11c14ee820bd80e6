package readertest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// Fits makes files with an image of two numbers i.
func Fits(dir string, n int) (name string, args op.Args, err error) {
	for i := range n {
		var b bytes.Buffer
		for _, line := range []string{"SIMPLE  =                    T", "BITPIX  =                   32",
			"NAXIS   =                    1",
			"NAXIS1  =                    2", "END"} {
			fmt.Fprintf(&b, "%-80s", line)
		}
		fill := func(c string) { b.WriteString(string(bytes.Repeat([]byte(c), (2880-b.Len()%2880)%2880))) }
		fill(" ")
		b.Write(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(i)), uint32(i)))
		fill("\x00")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%06d.fits", i)), b.Bytes(), 0o666); err != nil {
			return "", nil, err
		}
	}
	return "experimental.readers.fits", op.Args{"file_root": dir, "hdu_indices": []int{1}}, nil
}
