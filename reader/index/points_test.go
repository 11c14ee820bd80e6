package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// words is a format of lines without parts, which are cheap for files of many lines.
var words = Format{
	Name: "words",
	Scan: func(_ context.Context, r *io.SectionReader, add func(Record) error) error {
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		at := int64(0)
		for line := range bytes.Lines(b) {
			if err := add(Record{Offset: at, Length: int64(len(line))}); err != nil {
				return err
			}
			at += int64(len(line))
		}
		return nil
	},
}

// pack compresses a text as the end of a name says.
func pack(t testing.TB, name, text string) string {
	t.Helper()
	switch filepath.Ext(name) {
	case ".gz":
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		io.WriteString(w, text) //nolint:errcheck // a Buffer takes everything
		w.Close()               //nolint:errcheck // a Buffer takes everything
		return b.String()
	case ".zst":
		e, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		for len(text) > 0 {
			n := min(len(text), 500_000)
			b, text = e.EncodeAll([]byte(text[:n]), b), text[n:]
		}
		return string(b)
	}
	return text
}

// mixed makes files of the same texts, compressed and not, and returns their paths and all lines.
func mixed(t testing.TB, dir string, names ...string) (paths []string, want []string) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	for _, name := range names {
		var text strings.Builder
		for text.Len() < 5<<19 { // more than two blocks
			fmt.Fprintf(&text, "%d %x %x %x %x\n", text.Len(), r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64())
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(pack(t, name, text.String())), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
		for line := range strings.Lines(text.String()) {
			want = append(want, line)
		}
	}
	return paths, want
}

// checkLines reads records in any order and compares them.
func checkLines(t testing.TB, set *shards.Set, x *Index, want []string) {
	t.Helper()
	if x.Records() != int64(len(want)) {
		t.Fatalf("%d records, want %d", x.Records(), len(want))
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		id := r.IntN(len(want))
		s, err := x.Span(int64(id))
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, s.Length)
		if err := set.ReadAt(context.Background(), s.File, b, s.Offset); err != nil || string(b) != want[id] {
			t.Fatalf("record %d: %q, %v; want %q", id, b, err, want[id])
		}
	}
}

// Records of compressed files are read like other records: with an index in memory, with one in a
// file, with a choice of its files in another order, and with indexes of single files.
func TestCompressedFiles(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	paths, want := mixed(t, dir, "a.gz", "b", "c.zst", "d.gz")
	set := open(t, paths)
	kept := map[string]*Index{}
	var done int64
	made, err := Build(ctx, "test", set, words, BuildOptions{Root: dir, Workers: 1,
		OnFile: func(_ int, n int64) { done = n },
		Keep:   func(x *Index) error { kept[x.Files()[0].Name] = x; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, set, made, want)
	size := int64(0)
	for i := range set.Len() {
		size += set.File(i).Size
	}
	if done != size {
		t.Errorf("progress of %d bytes, want %d", done, size)
	}
	if err := Write(filepath.Join(dir, Name), made); err != nil {
		t.Fatal(err)
	}
	set = open(t, paths)
	found, err := Find(ctx, "test", set, words, "")
	if err != nil {
		t.Fatal(err)
	}
	checkLines(t, set, found, want)
	if found.Fingerprint() != made.Fingerprint() {
		t.Error("another fingerprint")
	}
	again, err := Build(ctx, "test", open(t, paths), words, BuildOptions{Root: dir,
		Done: func(f File) *Index { return kept[f.Name] }})
	if err != nil || !reflect.DeepEqual(all(t, again)[:100], all(t, made)[:100]) {
		t.Fatalf("from kept indexes: %v", err)
	}
	set = open(t, paths)
	again.show(set)
	checkLines(t, set, again, want)

	chosen := []string{paths[3], paths[1], paths[0]}
	set = open(t, chosen)
	found, err = Find(ctx, "test", set, words, "")
	if err != nil {
		t.Fatal(err)
	}
	other, err := Build(ctx, "test", open(t, chosen), words, BuildOptions{})
	if err != nil || other.Fingerprint() != found.Fingerprint() {
		t.Fatalf("another fingerprint, %v", err)
	}
	set2 := open(t, chosen[:1])
	if found, err = Find(ctx, "test", set2, words, ""); err != nil {
		t.Fatal(err)
	}
	perFile := len(want) / 4
	checkLines(t, set2, found, want[len(want)-int(found.Records()):])
	if perFile == 0 {
		t.Fatal("no lines")
	}

	// Contents decide the fingerprint, not how they are compressed.
	text := "x\ny\n"
	var prints []string
	for _, name := range []string{"e", "e.gz", "e.zst"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(pack(t, name, text)), 0o666); err != nil {
			t.Fatal(err)
		}
		x, err := Build(ctx, "test", open(t, []string{path}), words, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		prints = append(prints, x.Fingerprint())
		head, whole, err := Head(ctx, open(t, []string{path}), 0, 3)
		if err != nil || string(head) != text[:3] || whole {
			t.Errorf("%s: %q, %t, %v", name, head, whole, err)
		}
	}
	if prints[0] != prints[1] || prints[0] != prints[2] {
		t.Errorf("fingerprints %q", prints)
	}
}

// Every changed byte of an index of compressed files is noticed or changes nothing.
func TestDamagedPoints(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	path := filepath.Join(dir, "a.gz")
	text := strings.Repeat("some words\n", 20)
	if err := os.WriteFile(path, []byte(pack(t, path, text)), 0o666); err != nil {
		t.Fatal(err)
	}
	set := open(t, []string{path})
	x, err := Build(ctx, "test", set, words, BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	indexPath := filepath.Join(dir, Name)
	if err := Write(indexPath, x); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(indexPath)
	if err != nil {
		t.Fatal(err)
	}
	read := func(b []byte) (string, error) {
		x, err := newIndex(b, "damaged", nil)
		if err != nil {
			return "", err
		}
		set := open(t, []string{path})
		defer set.Close()
		x.show(set)
		var all strings.Builder
		for id := range x.Records() {
			s, err := x.Span(id)
			if err != nil {
				return "", err
			}
			p := make([]byte, s.Length)
			if err := set.ReadAt(ctx, s.File, p, s.Offset); err != nil {
				return "", err
			}
			all.Write(p)
		}
		return all.String(), nil
	}
	refused := 0
	for i := range good {
		b := bytes.Clone(good)
		b[i] ^= 0x21
		got, err := read(b)
		if err != nil {
			refused++
		} else if got != text {
			t.Fatalf("byte %d: other records", i)
		}
	}
	if refused < len(good)*3/4 {
		t.Errorf("%d of %d changed bytes were refused", refused, len(good))
	}
}

// A damaged compressed file is refused by name, and so is one that changed since.
func TestDamagedCompressedFiles(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	path := filepath.Join(dir, "a.gz")
	good := pack(t, path, strings.Repeat("some words\n", 1000))
	for name, data := range map[string]string{"cut": good[:len(good)-5], "changed": good[:len(good)/2] + "xxxx" +
		good[len(good)/2+4:], "head": good[:12]} {
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Build(ctx, "test", open(t, []string{path}), words, BuildOptions{})
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if name == "head" {
			if _, _, err := Head(ctx, open(t, []string{path}), 0, 10); !errors.Is(err, errs.Corrupt) {
				t.Errorf("the head of a cut file: %v", err)
			}
		}
	}
}

// FuzzPoints shows a file by an index with any numbers about its blocks. For all numbers, reading
// gives the contents or an error.
func FuzzPoints(f *testing.F) {
	text := strings.Repeat("some words\n", 3)
	path := filepath.Join(f.TempDir(), "a.gz")
	file := pack(f, path, text)
	if err := os.WriteFile(path, []byte(file), 0o666); err != nil {
		f.Fatal(err)
	}
	size := uint64(len(file))
	f.Add(uint64(1), uint64(len(text)), uint64(0), uint64(1), uint64(0), uint64(1), size, uint64(0), []byte{})
	f.Fuzz(func(t *testing.T, kind, content, from, to, out, in, length, sum uint64, window []byte) {
		var names, prints, windows texts
		names.add(path)
		prints.add("print")
		windows.add(string(window))
		one := func(name string, v ...uint64) source { return numbers(name, v) }
		columns := append(names.columns("file.name"), prints.columns("file.print")...)
		columns = append(columns, one("file.size", size), one("file.time", 0), one("file.probe", 0), one("file.first", 0, 1),
			one("offset", 0), one("length", 5), one("file.kind", kind), one("file.content", content), one("file.points", from,
				to),
			one("point.out", out), one("point.in", in), one("point.length", length), one("point.sum", sum))
		columns = append(columns, windows.columns("point.window")...)
		x, err := bytesOf("fuzzed", func(b *bytes.Buffer) error {
			return writeContainer(b, header{Format: "words"},
				columns)
		})
		if err != nil {
			return
		}
		set := open(t, []string{path})
		defer set.Close()
		x.show(set)
		n := min(set.Size(0), int64(len(text)))
		b := make([]byte, n)
		if err := set.ReadAt(context.Background(), 0, b, 0); err == nil && kind != 0 && string(b) != text[:n] {
			t.Fatalf("%q", b)
		}
		x.Span(0) //nolint:errcheck // only panics count
	})
}
