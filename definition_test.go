package bivouac_test

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// A run keeps the data.yaml of its data, each version of it, and the journal names it.
func TestRunKeepsTheDefinitionOfItsData(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		at := filepath.Join(dir, name)
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return at
	}
	write("rows.jsonl", "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")
	run := filepath.Join(dir, "run")
	texts := []string{"path: rows.jsonl\n", "path: rows.jsonl\n", "# a note\npath: rows.jsonl\n"}
	for i, text := range texts {
		data, err := dataset.Open(t.Context(), write("data.yaml", text), dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer data.Close() //nolint:errcheck // only read
		l, err := loader.New(data, data.Options())
		if err != nil {
			t.Fatal(err)
		}
		m := newModel()
		job, err := bivouac.Open[reader.Fields](t.Context(), run, l, bivouac.Options{State: &m, Steps: int64(i + 1),
			Grace: bivouac.Never})
		if err != nil {
			t.Fatal(err)
		}
		trainToEnd(t, job)
	}
	list := attempts(t, run)
	if len(list) != len(texts) {
		t.Fatalf("%d attempts", len(list))
	}
	for i, a := range list {
		if a.Start.Data == nil || a.Start.Data.Base != dir {
			t.Fatalf("attempt %d: %+v", i+1, a.Start.Data)
		}
		b, err := os.ReadFile(filepath.Join(run, "metadata", a.Start.Data.Definition))
		if err != nil || string(b) != texts[i] {
			t.Errorf("attempt %d: %q %v", i+1, b, err)
		}
	}
	kept, err := filepath.Glob(filepath.Join(run, "metadata", "data-*.yaml"))
	if err != nil || len(kept) != 2 {
		t.Errorf("%v %v", kept, err)
	}
}

// A run whose definition cannot be kept says so: nothing is committed that could not be explained.
func TestDefinitionThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "rows.jsonl"), []byte("{\"a\":1}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := dataset.Open(t.Context(), filepath.Join(dir, "rows.jsonl"), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close() //nolint:errcheck // only read
	l, err := loader.New(data, data.Options())
	if err != nil {
		t.Fatal(err)
	}
	st, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := newModel()
	job, err := bivouac.Open[reader.Fields](t.Context(), "run", l, bivouac.Options{State: &m, Steps: 1,
		Grace: bivouac.Never, Store: unnoted{st}})
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	for _, err := range job.Steps(t.Context()) {
		failed = err
	}
	if !errors.Is(failed, errFull) {
		t.Errorf("the loop ended with %v", failed)
	}
	if _, ok := job.Latest(); ok {
		t.Error("a step is committed")
	}
	if err := job.Close(); err != nil {
		t.Error(err)
	}
}

// unnoted is a store that takes no definitions of data.
type unnoted struct{ store.Store }

// Put implements store.Store.
func (u unnoted) Put(ctx context.Context, name string, b []byte, o store.PutOptions) error {
	if strings.HasPrefix(path.Base(name), "data-") {
		return errFull
	}
	return u.Store.Put(ctx, name, b, o)
}
