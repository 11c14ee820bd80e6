package dataset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/op"
)

// What Definition returns opens the same data, also when they were moved and base says so.
func TestDefinition(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return at
	}
	rows := write("rows.jsonl", `{"a":1}`+"\n"+`{"a":2}`+"\n")
	table := write("table.csv", "x;y\n1;2\n3;4\n")
	for name, c := range map[string]struct {
		path string
		o    dataset.OpenOptions
	}{
		"a path":         {path: rows},
		"with arguments": {path: table, o: dataset.OpenOptions{Args: op.Args{"delimiter": ";"}}},
		"with a reader":  {path: rows, o: dataset.OpenOptions{Reader: "jsonl"}},
		"a data.yaml":    {path: write("data.yaml", "# mine\npath: rows.jsonl\nshuffle: true\nseed: 3\n")},
	} {
		t.Run(name, func(t *testing.T) {
			want := openData(t, c.path, c.o)
			text, base := want.Definition()
			if len(text) == 0 || base != dir {
				t.Fatalf("%q in %s", text, base)
			}
			moved := t.TempDir()
			if err := os.CopyFS(moved, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			for _, base := range []string{base, moved} {
				got, err := dataset.OpenText(t.Context(), "the run", text, base, dataset.OpenOptions{Inspect: true})
				if err != nil {
					t.Fatal(err)
				}
				defer got.Close() //nolint:errcheck // only read
				if got.Len() != want.Len() || got.Order().String() != want.Order().String() {
					t.Errorf("%d samples in the order %s", got.Len(), got.Order())
				}
				for id := range want.Len() {
					a, err := want.At(t.Context(), id, loader.Random{})
					if err != nil {
						t.Fatal(err)
					}
					b, err := got.At(t.Context(), id, loader.Random{})
					if err != nil || fmt.Sprint(a.Names, a.Values) != fmt.Sprint(b.Names, b.Values) {
						t.Errorf("%v %v, want %v", b, err, a)
					}
				}
			}
			again, err := dataset.OpenText(t.Context(), "the run", text, base, dataset.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close() //nolint:errcheck // only read
			if again.Fingerprint() != want.Fingerprint() {
				t.Error("the data have another fingerprint")
			}
		})
	}
}

// A mistake in a text is an error that names it.
func TestOpenTextErrors(t *testing.T) {
	for text, kind := range map[string]errs.Kind{
		"":                       errs.Invalid,
		"path: [":                errs.Invalid,
		"path: none.jsonl\n":     errs.NotFound,
		"pathh: rows.jsonl\n":    errs.Invalid,
		"shuffle: true\nseed: 1": errs.Invalid,
	} {
		d, err := dataset.OpenText(t.Context(), "run/metadata/data.yaml", []byte(text), t.TempDir(),
			dataset.OpenOptions{})
		if errs.KindOf(err) != kind {
			t.Errorf("%q: %v", text, err)
		}
		if d != nil {
			d.Close() //nolint:errcheck // only read
		}
	}
}
