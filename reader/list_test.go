package reader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
)

// openRoot opens the files below a folder.
func openRoot(t *testing.T, root string) (reader.Source, error) {
	t.Helper()
	s, err := op.Lookup("readers.file")
	if err != nil {
		t.Fatal(err)
	}
	o, err := reader.Lookup(s)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := op.Resolve(s, "r", 0, map[string]op.Argument{"file_root": {Const: root}})
	if err != nil {
		t.Fatal(err)
	}
	return o.Open(t.Context(), c)
}

// TestManyFolders opens more folders and files than one piece of a listing has, with entries among
// them that are not files. The names come in byte order, the sizes match the files, and links count
// as their targets.
func TestManyFolders(t *testing.T) {
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var want []string
	for c := range 40 {
		dir := filepath.Join(root, fmt.Sprintf("c%02d", c))
		must(os.Mkdir(dir, 0o777))
		must(os.Mkdir(filepath.Join(dir, "folder.jpg"), 0o777))
		must(os.Symlink("folder.jpg", filepath.Join(dir, "to folder.jpg")))
		must(os.WriteFile(filepath.Join(dir, "text.txt"), nil, 0o666))
		n := 30
		if c == 7 {
			n = 2500 // more than a goroutine measures at a time, and more than a read of the folder gives
		}
		for i := range n {
			name := fmt.Sprintf("%06d.JPG", i)
			must(os.WriteFile(filepath.Join(dir, name), make([]byte, i%5), 0o666))
			want = append(want, fmt.Sprintf("c%02d/%s %d", c, name, i%5))
		}
		must(os.Symlink("000003.JPG", filepath.Join(dir, "a link.jpeg")))
		want = append(want, fmt.Sprintf("c%02d/a link.jpeg 3", c))
	}
	f, err := openRoot(t, root)
	must(err)
	if n := f.Info().Samples; n != int64(len(want)) {
		t.Fatalf("%d files, want %d", n, len(want))
	}
	for i, w := range want {
		if got := fmt.Sprintf("%s %d", f.(reader.Named).Name(int64(i)), f.Size(int64(i))); got != w {
			t.Fatalf("sample %d is %s, want %s", i, got, w)
		}
	}
	// Several folders have an error: the first error is returned.
	for _, c := range []string{"c31", "c05", "c22"} {
		must(os.Symlink("nothing", filepath.Join(root, c, "broken.png")))
	}
	for range 20 {
		if _, err := openRoot(t, root); !errors.Is(err, errs.NotFound) || !strings.Contains(fmt.Sprint(err), filepath.Join("c05", "broken.png")) {
			t.Fatalf("a link to nothing: %v", err)
		}
	}
}

// TestOpeningAllocatesLittle counts: what opening a data set allocates is a part of a file, not
// several.
func TestOpeningAllocatesLittle(t *testing.T) {
	root := t.TempDir()
	const files = 4000
	for c := range 4 {
		dir := filepath.Join(root, fmt.Sprint(c))
		if err := os.Mkdir(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range files / 4 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.png", i)), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := testing.AllocsPerRun(2, func() {
		if _, err := openRoot(t, root); err != nil {
			t.Fatal(err)
		}
	})
	if got > 1.5*files {
		t.Errorf("%.0f allocations for %d files, want at most one and a half a file", got, files)
	}
}

// TestPathsOfOtherPlaces refuses a storage that the program does not know, and a home directory.
func TestPathsOfOtherPlaces(t *testing.T) {
	for root, want := range map[string]string{"gs://bucket/train": "gs://bucket", "s3://bucket/train": "s3://bucket",
		"abfss://c@a.example/train": "az://account/container", "file://host/train": "file://host/train", "~/train": "~/train",
		"~someone/train": "~someone/train"} {
		if _, err := openRoot(t, root); !errors.Is(err, errs.Unsupported) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", root, err)
		}
	}
	if _, err := openRoot(t, "file:///no/such/train"); !errors.Is(err, errs.NotFound) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
