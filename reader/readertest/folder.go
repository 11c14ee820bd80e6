package readertest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// Folder makes a folder of n files with labels: two classes in the split train.
func Folder(dir string, n int) (name string, args op.Args, err error) {
	for i := range n {
		class := filepath.Join(dir, "train", fmt.Sprint("class", i%2))
		if err := os.MkdirAll(class, 0o777); err != nil {
			return "", nil, err
		}
		if err := os.WriteFile(filepath.Join(class, fmt.Sprintf("%05d.png", i)), fmt.Append(nil, "sample ", i),
			0o666); err != nil {
			return "", nil, err
		}
	}
	return "readers.folder", op.Args{"path": dir, "split": "train"}, nil
}

// FolderOfRows makes a folder of n files with metadata, whose rows come in another order than the
// files.
func FolderOfRows(dir string, n int) (name string, args op.Args, err error) {
	table := "file_name,text,number\n"
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%05d.wav", i)), fmt.Append(nil, "sound ", i),
			0o666); err != nil {
			return "", nil, err
		}
		table += fmt.Sprintf("%05d.wav,\"text, %d\",%d\n", n-1-i, i, i)
	}
	return "readers.folder", op.Args{"path": dir}, os.WriteFile(filepath.Join(dir, "metadata.csv"), []byte(table), 0o666)
}
