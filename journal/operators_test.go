package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/stream"
)

// operatorsOf returns a document with n operators in a chain.
func operatorsOf(n int) journal.Operators {
	o := journal.Operators{Attempt: "0123456789abcdef", Step: 7, World: 2,
		Time: time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC), Profile: stream.Profile{Batches: 9, Samples: 36, Queue: 1, Depth: 3, ReadAhead: 10, ReadAheadPeak: 20, Timed: true,
			Waited: 5, Starved: 2, Measured: true}}
	for i := range n {
		op := stream.Operator{Name: fmt.Sprint("op", i), Kind: "resize", Samples: 36, Time: 1000, Largest: 5, Held: 8}
		if i > 0 {
			op.Inputs = []string{fmt.Sprint("op", i-1)}
		}
		o.Operators = append(o.Operators, op)
	}
	return o
}

func runStore(t *testing.T) (store.Store, string) {
	t.Helper()
	top := t.TempDir()
	st, err := local.Open(top, nil)
	if err != nil {
		t.Fatal(err)
	}
	return st, top
}

// What is put is read, and the next document replaces it.
func TestOperatorsAreReplaced(t *testing.T) {
	st, top := runStore(t)
	if _, err := journal.ReadOperators(t.Context(), st, "run"); !errors.Is(err, errs.NotFound) {
		t.Errorf("without a document: %v", err)
	}
	for _, n := range []int{3, 0, 2} {
		want := operatorsOf(n)
		want.Step = int64(n)
		if err := journal.PutOperators(t.Context(), st, "run", want); err != nil {
			t.Fatal(err)
		}
		got, err := journal.ReadOperators(t.Context(), st, "run")
		if err != nil {
			t.Fatal(err)
		}
		want.Version = journal.OperatorsVersion
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%d operators (-want +got):\n%s", n, d)
		}
	}
	list, err := os.ReadDir(filepath.Join(top, "run", "metadata"))
	if err != nil || len(list) != 1 {
		t.Errorf("%d files, %v", len(list), err)
	}
}

// Of very many operators the first ones are listed, and the others are counted.
func TestManyOperators(t *testing.T) {
	st, _ := runStore(t)
	if err := journal.PutOperators(t.Context(), st, "", operatorsOf(journal.MostOperators+11)); err != nil {
		t.Fatal(err)
	}
	got, err := journal.ReadOperators(t.Context(), st, "")
	if err != nil || len(got.Operators) != journal.MostOperators || got.Left != 11 {
		t.Errorf("%d operators, %d left, %v", len(got.Operators), got.Left, err)
	}
}

// A document that is damaged, cut off, of another kind or of a newer version is an error that says
// so.
func TestBadOperators(t *testing.T) {
	whole, err := json.Marshal(operatorsOf(2))
	if err != nil {
		t.Fatal(err)
	}
	good := bytes.Replace(whole, []byte(`"version":0`), []byte(`"version":1`), 1)
	change := func(from, to string) string {
		b := bytes.Replace(good, []byte(from), []byte(to), 1)
		if bytes.Equal(b, good) {
			t.Fatalf("%s is not in %s", from, good)
		}
		return string(b)
	}
	if _, err := journal.ParseOperators(good); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]errs.Kind{
		"":                                     errs.Corrupt,
		"[]":                                   errs.Corrupt,
		"{}":                                   errs.Corrupt,
		string(good[:len(good)/2]):             errs.Corrupt,
		change(`"version":1`, `"version":2`):   errs.Unsupported,
		change(`"version":1`, `"version":-1`):  errs.Corrupt,
		change(`2026-01-02`, `0001-13-02`):     errs.Corrupt,
		change(`"name":"op1"`, `"name":"op0"`): errs.Corrupt,
		change(`"name":"op1"`, `"name":""`):    errs.Corrupt,
		change(`"inputs":["op0"]`, `"inputs":["op1"]`): errs.Corrupt,
		change(`"batches":9`, `"batches":"9"`):         errs.Corrupt,
	} {
		if _, err := journal.ParseOperators([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.60q: %v, want %v", text, err, want)
		}
	}
	st, top := runStore(t)
	at := filepath.Join(top, "metadata")
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(at, "operators.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(1<<40), f.Close()); err != nil {
		t.Skip(err) // the file system has no such files
	}
	if _, err := journal.ReadOperators(t.Context(), st, ""); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzParseOperators(f *testing.F) {
	whole, err := json.Marshal(operatorsOf(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Replace(whole, []byte(`"version":0`), []byte(`"version":1`), 1))
	f.Add([]byte(`{"version":1,"time":"2026-01-02T03:04:05Z","operators":[{"name":"a"},{"name":"b","inputs":["a","a"]}]}`))
	f.Add([]byte(`{"version":9}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := journal.ParseOperators(b)
		if err != nil {
			if !errors.Is(err, errs.Corrupt) && !errors.Is(err, errs.Unsupported) {
				t.Errorf("%v has another kind", err)
			}
			return
		}
		again, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.ParseOperators(again); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}
