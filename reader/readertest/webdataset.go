package readertest

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/op"
)

// Webdataset makes archives of at most 5 samples each: a text "i " and a longer component.
func Webdataset(dir string, n int) (name string, args op.Args, err error) {
	const perArchive = 5
	var paths []string
	for first := 0; first < n; first += perArchive {
		var members []Member
		for i := first; i < min(first+perArchive, n); i++ {
			members = append(members, Member{fmt.Sprintf("d/%06d.txt", i), fmt.Appendf(nil, "%d ", i)},
				Member{fmt.Sprintf("d/%06d.bin", i), bytes.Repeat([]byte{byte(i)}, 700)})
		}
		path := filepath.Join(dir, fmt.Sprintf("shard-%03d.tar", len(paths)))
		if err := Tar(path, members...); err != nil {
			return "", nil, err
		}
		paths = append(paths, path)
	}
	return "readers.webdataset", op.Args{"paths": paths, "ext": []string{"txt", "bin"}}, nil
}

// Member is a file of an archive.
type Member struct {
	Name string
	Data []byte
}

// Tar writes an archive.
func Tar(path string, members ...Member) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.Name, Size: int64(len(m.Data)), Mode: 0o644,
			Typeflag: tar.TypeReg}); err != nil {
			return err
		}
		if _, err := w.Write(m.Data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}
