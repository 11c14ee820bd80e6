package index

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// lines is a format of lines: the key is the first letter, and each letter is a part.
var lines = Format{
	Name: "lines",
	Scan: func(_ context.Context, r *io.SectionReader, add func(Record) error) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		for at := 0; at < len(b); {
			n := bytes.IndexByte(b[at:], '\n')
			if n < 0 {
				return &errs.Error{Kind: errs.Corrupt, Want: "a line", Got: "a cut line"}
			}
			rec := Record{Offset: int64(at), Length: int64(n)}
			for i := range n {
				rec.Parts = append(rec.Parts, Part{string(b[at+i]), int64(at + i), 1})
			}
			if n > 0 {
				rec.Key = string(b[at])
			}
			if err := add(rec); err != nil {
				return err
			}
			at += n + 1
		}
		return nil
	},
}

// write makes files with the given contents and returns their paths.
func write(t interface{ Fatal(...any) }, dir string, contents ...string) []string {
	var paths []string
	for i, c := range contents {
		path := filepath.Join(dir, fmt.Sprintf("%02d.txt", i))
		if err := os.WriteFile(path, []byte(c), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func open(t interface{ Fatal(...any) }, paths []string) *shards.Set {
	set, err := shards.Open(context.Background(), "test", paths)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// all returns everything that an index says about its records.
func all(t interface{ Fatal(...any) }, x *Index) (list []string) {
	for id := range x.Records() {
		s, err := x.Span(id)
		if err != nil {
			t.Fatal(err)
		}
		key, err := x.Key(id)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := x.Parts(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(filepath.Base(x.Files()[s.File].Name), s.Offset, s.Length, x.Length(id), key, parts))
	}
	return list
}

// An index has the records of its files in their order, in memory and in a file, for any number of
// workers, and for any choice of files.
func TestIndexHasRecords(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		var contents []string
		for range rapid.IntRange(1, 5).Draw(t, "files") {
			var b strings.Builder
			for range rapid.IntRange(0, 4).Draw(t, "lines") {
				b.WriteString(rapid.StringMatching(`[a-z]{0,6}`).Draw(t, "line") + "\n")
			}
			contents = append(contents, b.String())
		}
		paths := write(t, dir, contents...)
		order := rapid.Permutation(paths).Draw(t, "order")
		order = order[:rapid.IntRange(1, len(order)).Draw(t, "taken")]
		made, err := Build(context.Background(), "test", open(t, order), lines,
			BuildOptions{Workers: rapid.IntRange(1, 3).Draw(t, "workers")})
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, p := range order {
			b, _ := os.ReadFile(p)
			at := 0
			for _, line := range strings.SplitAfter(string(b), "\n") {
				if line == "" {
					continue
				}
				key, parts := "", []Part(nil)
				for i, c := range line[:len(line)-1] {
					if i == 0 {
						key = string(c)
					}
					parts = append(parts, Part{string(c), int64(at + i), 1})
				}
				want = append(want, fmt.Sprint(filepath.Base(p), at, len(line)-1, len(line)-1, key, parts))
				at += len(line)
			}
		}
		if got := all(t, made); !reflect.DeepEqual(got, want) {
			t.Fatalf("built:\n got %q\nwant %q", got, want)
		}
		whole, err := Build(context.Background(), "test", open(t, paths), lines, BuildOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := Write(filepath.Join(dir, Name), whole); err != nil {
			t.Fatal(err)
		}
		found, err := Find(context.Background(), "test", open(t, order), lines, "")
		if err != nil {
			t.Fatal(err)
		}
		defer found.Close()
		if got := all(t, found); !reflect.DeepEqual(got, want) {
			t.Fatalf("found:\n got %q\nwant %q", got, want)
		}
		if found.Fingerprint() != made.Fingerprint() {
			t.Fatal("another fingerprint")
		}
	})
}

// A file that changed is refused by name. A copy with another time is accepted, and so is a folder
// that was moved.
func TestFindRefusesChangedFiles(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\ncd\n", "ef\n")
	x, err := Build(context.Background(), "test", open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, Name), x); err != nil {
		t.Fatal(err)
	}
	find := func(paths []string, f Format) error {
		x, err := Find(context.Background(), "test", open(t, paths), f, "")
		if err == nil {
			return x.Close()
		}
		return err
	}
	if err := os.Chtimes(paths[0], time.Time{}, time.Unix(1, 2)); err != nil {
		t.Fatal(err)
	}
	if err := find(paths, lines); err != nil {
		t.Errorf("a copy with another time: %v", err)
	}
	if err := os.WriteFile(paths[0], []byte("ab\ncx\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := find(paths, lines); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), paths[0]) {
		t.Errorf("other contents of the same size: %v", err)
	}
	if err := os.WriteFile(paths[0], []byte("ab\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := find(paths, lines); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), "3 bytes") {
		t.Errorf("a shorter file: %v", err)
	}
	if err := find(paths[1:], lines); err != nil {
		t.Errorf("only the file that did not change: %v", err)
	}
	other := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(dir, other); err != nil {
		t.Fatal(err)
	}
	if err := find([]string{filepath.Join(other, "01.txt")}, lines); err != nil {
		t.Errorf("a folder that was moved: %v", err)
	}
	// An index of other data beside the file is no reason to refuse it: the records are found again.
	extra := write(t, t.TempDir(), "a\n")
	if err := os.Rename(extra[0], filepath.Join(other, "new.txt")); err != nil {
		t.Fatal(err)
	}
	if err := find([]string{filepath.Join(other, "new.txt")}, lines); err != nil {
		t.Errorf("a file that the index beside it lacks: %v", err)
	}
	// But an index that was named must have it.
	_, err = Find(context.Background(), "test", open(t, []string{filepath.Join(other, "new.txt")}), lines,
		filepath.Join(other, Name))
	if !errors.Is(err, errs.Mismatch) {
		t.Errorf("a named index of other data: %v", err)
	}
}

// Every flipped bit is noticed or changes nothing, and no damage panics or takes memory.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	paths := write(t, dir, "ab\ncd\n\n", "efg\n")
	x, err := Build(context.Background(), "test", open(t, paths), lines, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, Name)
	if err := Write(path, x); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := all(t, x)
	read := func(b []byte) (list []string, err error) {
		x, err := newIndex(b, "damaged", nil)
		if err != nil {
			return nil, err
		}
		for id := range x.Records() {
			s, err := x.Span(id)
			if err != nil {
				return nil, err
			}
			key, err := x.Key(id)
			if err != nil {
				return nil, err
			}
			parts, err := x.Parts(id, nil)
			if err != nil {
				return nil, err
			}
			list = append(list, fmt.Sprint(filepath.Base(x.Files()[s.File].Name), s.Offset, s.Length, x.Length(id), key, parts))
		}
		return list, nil
	}
	refused := 0
	for i := range good {
		for bit := range 8 {
			b := bytes.Clone(good)
			b[i] ^= 1 << bit
			got, err := read(b)
			switch {
			case err != nil:
				refused++
			case !reflect.DeepEqual(got, want):
				t.Fatalf("bit %d of byte %d: got %q, want %q or an error", bit, i, got, want)
			}
		}
	}
	if refused < len(good)*7 { // all but the bytes between columns
		t.Errorf("%d of %d flipped bits refused", refused, len(good)*8)
	}
	for n := range good {
		if _, err := read(good[:n]); err == nil {
			t.Errorf("an index of %d of %d bytes was accepted", n, len(good))
		}
	}
}

func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	x, err := Build(context.Background(), "test", open(f, write(f, dir, "ab\ncd\n", "e\n")), lines, BuildOptions{})
	if err != nil {
		f.Fatal(err)
	}
	var b bytes.Buffer
	if err := merge(&b, "lines", []*Index{x}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(_ *testing.T, b []byte) {
		x, err := newIndex(b, "fuzzed", nil)
		if err != nil {
			return
		}
		for id := range min(x.Records(), 100) {
			x.Span(id)       //nolint:errcheck // only panics count
			x.Key(id)        //nolint:errcheck // only panics count
			x.Parts(id, nil) //nolint:errcheck // only panics count
		}
	})
}

// BenchmarkOpen opens an index of ten million records. BenchmarkSpan looks one up.
func BenchmarkOpen(b *testing.B) {
	path := tenMillion(b)
	for b.Loop() {
		x, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		x.Close() //nolint:errcheck // only read
	}
}

func BenchmarkSpan(b *testing.B) {
	x, err := Open(tenMillion(b))
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	id := int64(0)
	for b.Loop() {
		id = (id*6364136223846793005 + 1442695040888963407) & (1<<23 - 1)
		if _, err := x.Span(id); err != nil {
			b.Fatal(err)
		}
	}
}

// tenMillion makes an index of 100 files with 10^5 records each.
func tenMillion(b *testing.B) string {
	dir := b.TempDir()
	path := filepath.Join(dir, Name)
	var parts []*Index
	var t table
	for i := range 100_000 {
		t.offset, t.length = append(t.offset, uint64(i)*1000), append(t.length, 1000)
	}
	for i := range 100 {
		x, err := bytesOf("", func(w *bytes.Buffer) error {
			return t.write(w, "lines", File{Name: fmt.Sprint(i), Size: 1e8})
		})
		if err != nil {
			b.Fatal(err)
		}
		parts = append(parts, x)
	}
	x, err := bytesOf("", func(w *bytes.Buffer) error { return merge(w, "lines", parts) })
	if err != nil {
		b.Fatal(err)
	}
	if err := Write(path, x); err != nil {
		b.Fatal(err)
	}
	return path
}
