package reader_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/webdataset"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// pack writes an archive of files whose contents are their names.
func pack(t testing.TB, path string, names ...string) {
	t.Helper()
	var members []readertest.Member
	for _, n := range names {
		members = append(members, readertest.Member{Name: n, Data: []byte(n)})
	}
	if err := readertest.Tar(path, members...); err != nil {
		t.Fatal(err)
	}
}

// indexText writes the index of wds2idx beside an archive and returns its path.
func indexText(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := webdataset.WriteIndex(&text, bytes.NewReader(b), int64(len(b))); err != nil {
		t.Fatal(err)
	}
	idx := strings.TrimSuffix(path, ".tar") + ".idx"
	if err := os.WriteFile(idx, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return idx
}

// The samples are the same with an index of any kind, in any order, and so is the fingerprint.
func TestWebdatasetIndexes(t *testing.T) {
	dir := t.TempDir()
	name, args, err := readertest.Webdataset(dir, 23)
	if err != nil {
		t.Fatal(err)
	}
	paths := args["paths"].([]string)
	var indexes []string
	for _, p := range paths {
		indexes = append(indexes, indexText(t, p))
	}
	print := ""
	check := func(kind string, args op.Args) {
		t.Helper()
		src, specs, err := openAs(name, args)
		if err != nil {
			t.Fatal(kind, err)
		}
		defer src.Close()
		if print == "" {
			print = src.Info().Fingerprint
		}
		if n := src.Info().Samples; n != 23 || src.Info().Fingerprint != print {
			t.Errorf("%s: %d samples, %s, want %s", kind, n, src.Info().Fingerprint, print)
		}
		ids := allIDs(src)
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		got, err := take(src, specs, ids...)
		if err != nil {
			t.Fatal(kind, err)
		}
		for i, id := range ids {
			if string(got[i][0].Data) != fmt.Sprintf("%d ",
				id) || len(got[i][1].Data) != 700 || got[i][1].Data[699] != byte(id) {
				t.Errorf("%s: sample %d is %q", kind, id, got[i][0].Data)
			}
			if n := src.Size(id); n != int64(len(got[i][0].Data))+700 {
				t.Errorf("%s: sample %d has size %d", kind, id, n)
			}
		}
	}
	with := func(more op.Args) op.Args {
		all := op.Args{"paths": paths, "ext": []string{"txt", "bin"}}
		for k, v := range more {
			all[k] = v
		}
		return all
	}
	check("without an index", with(nil))
	check("with index_paths", with(op.Args{"index_paths": indexes}))
	check("an archive twice", with(op.Args{"paths": paths}))
	set, err := shards.Open(context.Background(), "test", paths)
	if err != nil {
		t.Fatal(err)
	}
	x, err := index.Build(context.Background(), "test", set, reader.WebdatasetFormat, index.BuildOptions{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := index.Write(filepath.Join(dir, index.Name), x); err != nil {
		t.Fatal(err)
	}
	check("with bivouac.index", with(nil))
}

// Each fault is an error that names the file, and where it knows them sample, component, what was
// wanted and found, and the remedy.
func TestWebdatasetFaults(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, b []byte) string {
		if err := os.WriteFile(at(name), b, 0o666); err != nil {
			t.Fatal(err)
		}
		return at(name)
	}
	pack(t, at("good.tar"), "a.jpg", "a.cls", "b.jpg", "b.cls")
	pack(t, at("other.tar"), "long-name.jpg", "long-name.cls", "c.jpg", "c.cls")
	pack(t, at("twice.tar"), "a.jpg", "a.cls", "a.jpg", "b.jpg", "b.cls")
	pack(t, at("none.tar"), ".hidden")
	pack(t, at("text.tar"), "a.txt")
	good, err := os.ReadFile(at("good.tar"))
	if err != nil {
		t.Fatal(err)
	}
	huge := bytes.Clone(good)
	copy(huge[124:136], "77777777777\x00") // and the checksum of the header
	copy(huge[148:], "        ")
	sum := 0
	for _, c := range huge[:512] {
		sum += int(c)
	}
	copy(huge[148:], fmt.Sprintf("%06o\x00 ", sum))
	otherIndex := indexText(t, at("other.tar"))
	ext := []string{"jpg", "cls"}
	for _, c := range []struct {
		name string
		args op.Args
		kind errs.Kind
		says []string
	}{
		{"missing", op.Args{"paths": at("absent.tar")}, errs.NotFound, []string{at("absent.tar")}},
		{"a folder", op.Args{"paths": dir}, errs.Invalid, []string{dir, "a directory"}},
		{"a URL", op.Args{"paths": "s3://bucket/a.tar"}, errs.Unsupported, []string{"s3"}},
		{"empty", op.Args{"paths": write("zero.tar", nil)}, errs.Corrupt,
			[]string{"zero.tar", "member 0", "copy or write it again"}},
		{"cut in data", op.Args{"paths": write("cut.tar", good[:515])}, errs.Corrupt,
			[]string{"cut.tar", `"a.jpg"`, "5 bytes", "copy or write it again"}},
		{"cut in a header", op.Args{"paths": write("cut-header.tar", good[:1100])}, errs.Corrupt,
			[]string{"member 1, offset 1024", "76 bytes"}},
		{"a member beyond the archive", op.Args{"paths": write("huge.tar", huge)}, errs.Corrupt,
			[]string{"huge.tar", "8589934591 bytes", `"a.jpg"`}},
		{"no archive", op.Args{"paths": write("text.txt", []byte(strings.Repeat("text ", 300)))}, errs.Corrupt,
			[]string{"text.txt", "checksum"}},
		{"gzip that is damaged", op.Args{"paths": write("z.tar.gz", []byte("\x1f\x8b\x08\x00 and so on"))}, errs.Corrupt,
			[]string{"z.tar.gz", "deflate"}},
		{"no samples", op.Args{"paths": []string{at("good.tar"), at("none.tar")}}, errs.Invalid,
			[]string{"none.tar", "000001.jpg"}},
		{"missing component",
			op.Args{"paths": []string{at("good.tar"), at("text.tar")},
				"missing_component_behavior": "error"}, errs.Invalid,
			[]string{"text.tar", `sample "a"`, "component jpg", "components txt", "skip"}},
		{"missing component everywhere", op.Args{"paths": at("text.tar"), "missing_component_behavior": "skip"},
			errs.Invalid, []string{"jpg, cls", "txt"}},
		{"index of another archive", op.Args{"paths": at("good.tar"), "index_paths": otherIndex}, errs.Mismatch,
			[]string{"good.tar", "other.idx", "long-name.jpg", "a.jpg", "wds2idx"}},
		{"index that is missing", op.Args{"paths": at("good.tar"), "index_paths": at("absent.idx")}, errs.NotFound,
			[]string{"absent.idx"}},
		{"damaged index",
			op.Args{"paths": at("good.tar"),
				"index_paths": write("bad.idx", []byte("v1.2 1\njpg 512\n"))}, errs.Corrupt,
			[]string{"bad.idx", "line 2", "wds2idx"}},
		{"elements", op.Args{"paths": at("good.tar"), "dtypes": specTypes("int16", "uint8")}, errs.Invalid,
			[]string{"good.tar", `sample "a"`, `"jpg"`, "multiple of 2", "got 5"}},
	} {
		if c.args["ext"] == nil {
			c.args["ext"] = ext
		}
		src, _, err := openAs("readers.webdataset", c.args)
		if err == nil {
			src.Close()
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.kind)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v, want %q in it", c.name, err, s)
			}
		}
	}

	// A component that comes twice is an error of its sample, and of no other.
	src, specs, err := openAs("readers.webdataset", op.Args{"paths": at("twice.tar"), "ext": ext})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	if _, err := take(src, specs, 0); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), `"jpg"`) {
		t.Errorf("twice: %v", err)
	}
	if got, err := take(src, specs, 1); err != nil || string(got[0][0].Data) != "b.jpg" {
		t.Errorf("behind it: %v", err)
	}
	if d := src.Describe(0); !strings.Contains(d, "twice.tar") || !strings.Contains(d, `"a"`) {
		t.Error(d)
	}
}

// An archive that changes after the data set was opened is noticed.
func TestWebdatasetReplaced(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tar")
	pack(t, path, "a.jpg", "b.jpg")
	src, specs, err := openAs("readers.webdataset",
		op.Args{"paths": path, "ext": "jpg", "index_paths": indexText(t, path)})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	other, specs2, err := openAs("readers.webdataset", op.Args{"paths": path, "ext": "jpg"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := take(other, specs2, 1); err != nil || string(got[0][0].Data) != "b.jpg" {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := take(other, specs2, 1); !errors.Is(err, errs.Closed) {
		t.Errorf("after Close: %v", err)
	}
	if err := os.Truncate(path, 600); err != nil {
		t.Fatal(err)
	}
	if _, err := take(src, specs, 1); err == nil {
		t.Error("a cut archive was read")
	}
	// A data set that is opened again with the old index is refused.
	if _, _, err := openAs("readers.webdataset",
		op.Args{"paths": path, "ext": "jpg",
			"index_paths": filepath.Join(dir, "a.idx")}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("with the old index: %v", err)
	}
}

func specTypes(names ...string) (list []any) {
	for _, n := range names {
		list = append(list, dtypeNames[strings.ToUpper(n)])
	}
	return list
}

// A million tiny files take about as much memory as their names.
func TestWebdatasetManyFiles(t *testing.T) {
	if testing.Short() {
		t.Skip("writes an archive of a gigabyte")
	}
	const n = 1_000_000
	path := filepath.Join(t.TempDir(), "many.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 1024)
	buffer := make([]byte, 0, 1<<20)
	for i := range n {
		clear(block)
		copy(block, fmt.Sprintf("%08d.cls", i))
		copy(block[124:], "00000000001\x00")
		block[156] = '0'
		copy(block[257:], "ustar\x0000")
		copy(block[148:], "        ")
		sum := 0
		for _, c := range block[:512] {
			sum += int(c)
		}
		copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
		block[512] = byte('0' + i%10)
		if buffer = append(buffer, block...); len(buffer) == cap(buffer) || i == n-1 {
			if _, err := f.Write(buffer); err != nil {
				t.Fatal(err)
			}
			buffer = buffer[:0]
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	src, specs, err := openAs("readers.webdataset", op.Args{"paths": path, "ext": "cls"})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > 64<<20 {
		t.Errorf("%d samples hold %d bytes", n, held)
	}
	got, err := take(src, specs, 0, n-1)
	if err != nil || src.Info().Samples != n || string(got[1][0].Data) != "9" {
		t.Errorf("%d samples: %v", src.Info().Samples, err)
	}
}

// Several goroutines fetch from one source.
func TestReadersFromManyGoroutines(t *testing.T) {
	for _, make := range []func(string, int) (string, op.Args, error){readertest.Webdataset, readertest.Numpy,
		readertest.Sequence, readertest.Fits} {
		name, args, err := make(t.TempDir(), 40)
		if err != nil {
			t.Fatal(err)
		}
		src, specs, err := openAs(name, args)
		if err != nil {
			t.Fatal(name, err)
		}
		want, err := take(src, specs, allIDs(src)...)
		if err != nil || len(want) != 40 {
			t.Fatalf("%s: %d samples, %v", name, len(want), err)
		}
		done := chanOf(4, func(g int) error {
			for round := range 5 {
				ids := allIDs(src)
				rand.New(rand.NewPCG(uint64(g), uint64(round))).Shuffle(len(ids),
					func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
				got, err := take(src, specs, ids...)
				if err != nil {
					return err
				}
				for i, id := range ids {
					if !slices.Equal(got[i][0].Data, want[id][0].Data) {
						return fmt.Errorf("sample %d differs", id)
					}
				}
			}
			return nil
		})
		for range 4 {
			if err := <-done; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

func chanOf(n int, f func(i int) error) chan error {
	c := make(chan error, n)
	for i := range n {
		go func() { c <- f(i) }()
	}
	return c
}

// Samples of many components, of which some differ in the case of their names only.
func TestWebdatasetManyComponents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.tar")
	var names, ext []string
	for i := range 40 {
		ext = append(ext, fmt.Sprintf("c%d", i))
		names = append(names, fmt.Sprintf("k/s.c%d", i))
	}
	pack(t, path, append(names, "k/s.C7", "k/t.C9")...)
	for _, n := range []int{3, 40} {
		for _, exact := range []bool{true, false} {
			src, specs, err := openAs("readers.webdataset",
				op.Args{"paths": path, "ext": ext[:n], "case_sensitive_extensions": exact})
			if err != nil {
				t.Fatal(err)
			}
			got, err := take(src, specs, 0, 1)
			if err != nil {
				t.Fatal(err)
			}
			for o := range n {
				if string(got[0][o].Data) != names[o] {
					t.Errorf("%d names: output %d is %q", n, o, got[0][o].Data)
				}
			}
			if n == 40 && (string(got[1][9].Data) == "k/t.C9") == exact {
				t.Errorf("case %t: %q", exact, got[1][9].Data)
			}
			if err := src.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
