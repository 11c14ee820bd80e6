package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
)

// listed returns the format lines, and the contents that were scanned, sorted.
func listed() (Format, func() []string) {
	var mu sync.Mutex
	var list []string
	f := lines
	f.Scan = func(ctx context.Context, r *io.SectionReader, add func(Record) error) error {
		b, err := io.ReadAll(io.NewSectionReader(r, 0, r.Size()))
		if err != nil {
			return err
		}
		mu.Lock()
		list = append(list, string(b))
		mu.Unlock()
		return lines.Scan(ctx, r, add)
	}
	return f, func() []string {
		slices.Sort(list)
		out := list
		list = nil
		return out
	}
}

// A file that the index beside the data lacks is scanned alone, wherever it stands among the
// others. Records, names and fingerprint are as in an index of all files.
func TestNewFilesAreScannedAlone(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\ncd\n", "ef\n", "", "xa\nyb\nzc\n", "ba\n", "q\nrs\n")
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := io.WriteString(w, "gzip\nfile\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"06.txt.gz", "07.txt.gz"} {
		paths = append(paths, filepath.Join(dir, name))
		if err := os.WriteFile(paths[len(paths)-1], packed.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	whole, err := Build(t.Context(), "test", open(t, paths), lines, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string][]int{
		"one new": {0, 1, 2, 4, 5, 6, 7}, "the first is new": {1, 2, 3, 4, 5, 6, 7},
		"few old": {7, 3}, "another order": {5, 4, 3, 0},
	} {
		var known, want []string
		for _, i := range old {
			known = append(known, paths[i])
		}
		for i := range paths {
			if !slices.Contains(old, i) {
				text := []string{"ab\ncd\n", "ef\n", "", "xa\nyb\nzc\n", "ba\n", "q\nrs\n", "gzip\nfile\n", "gzip\nfile\n"}[i]
				want = append(want, text)
			}
		}
		slices.Sort(want)
		x, err := Build(t.Context(), "test", open(t, known), lines, BuildOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(filepath.Join(dir, Name), x); err != nil {
			t.Fatal(err)
		}
		f, scanned := listed()
		set := open(t, paths)
		got, err := Find(t.Context(), "test", set, f, "")
		if err != nil {
			t.Fatal(name, err)
		}
		if d := cmp.Diff(want, scanned()); d != "" {
			t.Errorf("%s: scanned (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(all(t, whole), all(t, got)); d != "" {
			t.Errorf("%s: records (-want +got):\n%s", name, d)
		}
		if got.Fingerprint() != whole.Fingerprint() || !got.HasKeys() || !got.HasParts() || got.Records() != whole.Records() {
			t.Errorf("%s: another fingerprint, or no names", name)
		}
		names := slices.Sorted(slices.Values(got.PartNames()))
		if d := cmp.Diff(slices.Sorted(slices.Values(whole.PartNames())), names); d != "" {
			t.Errorf("%s: names of parts: %s", name, d)
		}
		for i := range paths {
			from, to := got.In(i)
			if f, e := whole.In(i); f != from || e != to {
				t.Errorf("%s: file %d has %d to %d, want %d to %d", name, i, from, to, f, e)
			}
		}
		for _, i := range []int{6, 7} { // both the old and the new one are read decompressed
			b := make([]byte, 4)
			if err := set.ReadAt(t.Context(), i, b, 5); err != nil || string(b) != "file" {
				t.Errorf("%s: file %d: %q %v", name, i, b, err)
			}
		}
		if _, err := got.Span(got.Records()); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: a record behind the last: %v", name, err)
		}
		if err := errors.Join(got.Close(), set.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A file that changed is refused by its name, whether or not others are new. A new file that is
// damaged is refused by its name. Without any file that the index has, all files are scanned.
func TestNewFilesBesideChangedFiles(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\n", "cd\n", "ef\n", "gh\n")
	x, err := Build(t.Context(), "test", open(t, paths[1:3]), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, Name), x); err != nil {
		t.Fatal(err)
	}
	f, scanned := listed()
	got, err := Find(t.Context(), "test", open(t, []string{paths[3], paths[0]}), f, "")
	if err != nil || got.Records() != 2 || len(scanned()) != 2 {
		t.Errorf("other files only: %v", err)
	}
	if err := os.WriteFile(paths[3], []byte("cut"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), "test", open(t, paths), f, ""); !errors.Is(err, errs.Corrupt) ||
		!strings.Contains(fmt.Sprint(err), paths[3]) {
		t.Errorf("a damaged new file: %v", err)
	}
	scanned()
	if err := os.WriteFile(paths[2], []byte("longer\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(t.Context(), "test", open(t, paths), f, ""); !errors.Is(err, errs.Mismatch) ||
		!strings.Contains(fmt.Sprint(err), paths[2]) || len(scanned()) != 0 {
		t.Errorf("a changed file among new ones: %v", err)
	}
	// A named index must have all files.
	if _, err := Find(t.Context(), "test", open(t, paths[:2]), f, filepath.Join(dir, Name)); !errors.Is(err,
		errs.Mismatch) {
		t.Errorf("a named index: %v", err)
	}
}

// What a joined index says of a record takes the same time for any number of files, also if no
// record has a key, and its names are each there once.
func TestJoinOfManyFiles(t *testing.T) {
	const files = 40_000
	one := &Index{header: header{Format: "lines"}, columns: map[string]*Column{}, names: []string{"a", "b"}}
	var pieces []piece
	for i := range files {
		one.files = append(one.files, File{First: int64(i)})
		one.under = append(one.under, int64(i))
		pieces = append(pieces, piece{one, files - 1 - i})
	}
	one.records = files
	x := join(one, pieces)
	if d := cmp.Diff([]string{"a", "b"}, x.PartNames()); d != "" {
		t.Error(d)
	}
	if x.Records() != files || x.HasKeys() {
		t.Errorf("%d records, keys %v", x.Records(), x.HasKeys())
	}
	start := time.Now()
	for id := range x.Records() {
		if key, err := x.Key(id); key != "" || err != nil {
			t.Fatal(key, err)
		}
	}
	if d := time.Since(start); d > 3*time.Second { // each record asked all files: 10 s
		t.Errorf("keys of %d records took %v", files, d)
	}
}
