package reader_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// write makes files with their own path as content.
func write(t testing.TB, dir string, paths ...string) {
	t.Helper()
	for _, p := range paths {
		full := filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(p), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t testing.TB, args op.Args) (reader.Source, error) {
	t.Helper()
	s, err := op.Lookup("readers.file")
	if err != nil {
		t.Fatal(err)
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := op.Resolve(s, "test", 0, set)
	if err != nil {
		return nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Outputs(c); err != nil {
		return nil, err
	}
	return o.Open(context.Background(), c)
}

type memory struct{}

func (memory) Output(_, _, size int) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(make([]uint64, size/8+1)))), size)
}
func (memory) Scratch(size int) []byte { return make([]byte, size) }

// fetch reads samples and returns contents and labels.
func fetch(src reader.Source, ids ...int64) (contents []string, labels []int32, failed map[int]error, err error) {
	n := len(ids)
	var b op.Block
	x := b.Binding()
	x.Memory, x.Positions = memory{}, make([]int64, n)
	x.Specs = []tensor.Spec{{DType: tensor.Uint8}, {DType: tensor.Int32}}
	x.Out = [][]tensor.Tensor{make([]tensor.Tensor, n), make([]tensor.Tensor, n)}
	err = src.Fetch(context.Background(), ids, &b)
	for s := range ids {
		if x.Errors[s] != nil || err != nil {
			continue
		}
		contents = append(contents, string(x.Out[0][s].Data))
		l, e := tensor.Of[int32](x.Out[1][s])
		err = errors.Join(err, e)
		labels = append(labels, l[0])
	}
	return contents, labels, x.Errors, err
}

func all(src reader.Source) []int64 {
	ids := make([]int64, src.Info().Samples)
	for i := range ids {
		ids[i] = int64(i)
	}
	return ids
}

func TestFileOrderAndLabels(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b/2.jpg", "b/10.jpg", "b/1.JPG", "b/notes.txt", "a/x.png", "a/deep/y.jpg", "a-b/z.jpg", "C/q.jpeg", "top.jpg")
	if err := os.Mkdir(filepath.Join(dir, "aa"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   op.Args
		want   []string
		labels []int32
	}{
		{"default", op.Args{}, []string{"C/q.jpeg", "a/x.png", "a-b/z.jpg", "b/1.JPG", "b/10.jpg", "b/2.jpg"}, []int32{0, 1, 2, 4, 4, 4}},
		{"case", op.Args{"case_sensitive_filter": true, "file_filters": "*.jpg"}, []string{"a-b/z.jpg", "b/10.jpg", "b/2.jpg"}, []int32{2, 4, 4}},
		{"dirs", op.Args{"dir_filters": []string{"a*", "c"}}, []string{"C/q.jpeg", "a/x.png", "a-b/z.jpg"}, []int32{0, 1, 2}},
		{"all", op.Args{"file_filters": []string{"*"}, "dir_filters": "b"}, []string{"b/1.JPG", "b/10.jpg", "b/2.jpg", "b/notes.txt"}, []int32{0, 0, 0, 0}},
		{"list", op.Args{"files": []string{"top.jpg", "b/notes.txt"}}, []string{"top.jpg", "b/notes.txt"}, []int32{0, 1}},
		{"labelled list", op.Args{"files": []string{"top.jpg", "b/2.jpg"}, "labels": []int{-7, 9}}, []string{"top.jpg", "b/2.jpg"}, []int32{-7, 9}},
	} {
		c.args["file_root"] = dir
		src, err := open(t, c.args)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got, labels, failed, err := fetch(src, all(src)...)
		if err != nil || len(failed) > 0 {
			t.Errorf("%s: %v %v", c.name, err, failed)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: files (-want +got):\n%s", c.name, d)
		}
		if d := cmp.Diff(c.labels, labels); d != "" {
			t.Errorf("%s: labels (-want +got):\n%s", c.name, d)
		}
	}
}

func TestFileFingerprint(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	write(t, a, "x/1.jpg", "y/2.jpg")
	write(t, b, "x/1.jpg", "y/2.jpg")
	print := func(dir string) string {
		src, err := open(t, op.Args{"file_root": dir})
		if err != nil {
			t.Fatal(err)
		}
		return src.Info().Fingerprint
	}
	first := print(a)
	if first != print(b) || len(first) != 32 {
		t.Errorf("equal data sets at two places: %q, %q", first, print(b))
	}
	seen := map[string]string{first: "the original"}
	for what, change := range map[string]func() error{
		"a longer file": func() error { return os.WriteFile(filepath.Join(b, "x/1.jpg"), []byte("longer than before"), 0o666) },
		"another name":  func() error { return os.Rename(filepath.Join(b, "y/2.jpg"), filepath.Join(b, "y/3.jpg")) },
		"a new class":   func() error { return os.Mkdir(filepath.Join(b, "a"), 0o777) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		now := print(b)
		if was, ok := seen[now]; ok {
			t.Errorf("%s: the fingerprint is that of %s", what, was)
		}
		seen[now] = what
	}
}

func TestFileList(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a/1.jpg", "sp ace/x 1.jpg", "b.png")
	for _, c := range []struct {
		lines  string
		labels []int32
		says   string
	}{
		{lines: "a/1.jpg 7\n\nsp ace/x 1.jpg\t3  \r\nb.png 0", labels: []int32{7, 3, 0}},
		{lines: filepath.Join(dir, "a/1.jpg") + " 1\n", labels: []int32{1}},
		{lines: "", says: "one line with a path"},
		{lines: "a/1.jpg 1\na/1.jpg\n", says: "line 2"},
		{lines: "a/1.jpg -5\n", says: "line 1"},
		{lines: "a/1.jpg 1.5\n", says: "line 1"},
		{lines: "a/1.jpg 2147483648\n", says: "line 1"},
		{lines: "7\n", says: "line 1"},
		{lines: "none.jpg 7\n", says: "none.jpg"},
		{lines: strings.Repeat("a", 1<<17) + " 7\n", says: "longer"},
	} {
		list := filepath.Join(dir, "list.txt")
		if err := os.WriteFile(list, []byte(c.lines), 0o666); err != nil {
			t.Fatal(err)
		}
		src, err := open(t, op.Args{"file_list": list, "file_filters": "*.none"})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%.40q: got %v, want %q", c.lines, err, c.says)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]int64, src.Info().Samples)
		for i := range ids {
			ids[i] = int64(i)
		}
		_, labels, _, err := fetch(src, ids...)
		if err != nil || !slices.Equal(labels, c.labels) {
			t.Errorf("%q: labels %v, %v; want %v", c.lines, labels, err, c.labels)
		}
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "flat/1.jpg", "other/c/readme.txt", "ok/c/1.jpg")
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	in := func(p string) string { return filepath.Join(dir, p) }
	for _, c := range []struct {
		name string
		args op.Args
		kind errs.Kind
		says string
	}{
		{"nothing given", op.Args{}, errs.Invalid, "file_root"},
		{"missing", op.Args{"file_root": in("none")}, errs.NotFound, in("none")},
		{"a file", op.Args{"file_root": in("flat/1.jpg")}, errs.Invalid, in("flat/1.jpg")},
		{"empty", op.Args{"file_root": in("empty")}, errs.Invalid, "a folder for each class"},
		{"no class folders", op.Args{"file_root": in("flat")}, errs.Invalid, "a folder for each class"},
		{"no matching files", op.Args{"file_root": in("other")}, errs.Invalid, "*.jpg"},
		{"bad pattern", op.Args{"file_root": in("ok"), "file_filters": "[a"}, errs.Invalid, "file_filters"},
		{"labels alone", op.Args{"file_root": in("ok"), "labels": []int{1}}, errs.Invalid, "files"},
		{"too few labels", op.Args{"files": []string{in("ok/c/1.jpg")}, "labels": []int{1, 2}}, errs.Invalid, "1 labels"},
		{"listed but missing", op.Args{"files": []string{in("gone.jpg")}}, errs.NotFound, in("gone.jpg")},
		{"a listed directory", op.Args{"files": []string{in("ok")}}, errs.Invalid, "a directory"},
		{"an empty list", op.Args{"files": []string{}}, errs.Invalid, "files"},
		{"no patterns", op.Args{"file_root": in("ok"), "file_filters": []string{}}, errs.Invalid, "file_filters"},
		{"files and a list", op.Args{"files": []string{in("ok/c/1.jpg")}, "file_list": in("list")}, errs.Invalid, "file_list"},
		{"no list", op.Args{"file_list": in("list")}, errs.NotFound, in("list")},
		{"labels of a list", op.Args{"file_list": in("list"), "labels": []int{1}}, errs.Invalid, "files"},
		{"no shards", op.Args{"file_root": in("ok"), "num_shards": 0}, errs.Invalid, "num_shards"},
		{"a shard too many", op.Args{"file_root": in("ok"), "num_shards": 2, "shard_id": 2}, errs.Invalid, "shard_id"},
		{"a shard too few", op.Args{"file_root": in("ok"), "shard_id": -1}, errs.Invalid, "shard_id"},
		{"nothing to pick from", op.Args{"file_root": in("ok"), "initial_fill": 0}, errs.Invalid, "initial_fill"},
		{"nothing ahead", op.Args{"file_root": in("ok"), "prefetch_queue_depth": 0}, errs.Invalid, "prefetch_queue_depth"},
		{"less than no memory", op.Args{"file_root": in("ok"), "tensor_init_bytes": -1}, errs.Invalid, "tensor_init_bytes"},
		{"two shuffles", op.Args{"file_root": in("ok"), "random_shuffle": true, "shuffle_after_epoch": true}, errs.Invalid, "random_shuffle"},
		{"a shard to stick to", op.Args{"file_root": in("ok"), "stick_to_shard": true, "shuffle_after_epoch": true}, errs.Invalid, "stick_to_shard"},
	} {
		_, err := open(t, c.args)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want kind %v and %q", c.name, err, c.kind, c.says)
		}
	}
}

func TestFileChanges(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "c/1.jpg", "c/2.jpg", "c/3.jpg", "c/4.jpg", "c/5.jpg")
	for name, text := range map[string]string{"c/1.jpg": "", "c/5.jpg": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	src, err := open(t, op.Args{"file_root": dir})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	change := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	change(os.Remove(filepath.Join(dir, "c/2.jpg")))
	change(os.WriteFile(filepath.Join(dir, "c/3.jpg"), []byte("a longer text"), 0o666))
	change(os.Truncate(filepath.Join(dir, "c/4.jpg"), 3))
	_, _, failed, err := fetch(src, all(src)...)
	if err != nil || len(failed) != 3 || !errors.Is(failed[1], errs.NotFound) || !errors.Is(failed[2], errs.Mismatch) || !errors.Is(failed[3], errs.Mismatch) {
		t.Errorf("got %v, %v", failed, err)
	}
	if got, want := src.Describe(1), "file "+dir+"/c/2.jpg"; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := src.Fetch(ctx, []int64{0}, &op.Block{}); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}

func TestFileUnreadable(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions do not bind this user")
	}
	dir := t.TempDir()
	write(t, dir, "c/1.jpg")
	if err := os.Chmod(filepath.Join(dir, "c/1.jpg"), 0); err != nil {
		t.Fatal(err)
	}
	src, err := open(t, op.Args{"file_root": dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, failed, _ := fetch(src, 0); !errors.Is(failed[0], errs.Permission) {
		t.Errorf("got %v", failed)
	}
}

func TestFileLinks(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	write(t, elsewhere, "c/1.jpg", "2.jpg")
	write(t, dir, "a/0.jpg")
	if err := errors.Join(os.Symlink(filepath.Join(elsewhere, "c"), filepath.Join(dir, "b")),
		os.Symlink(filepath.Join(elsewhere, "2.jpg"), filepath.Join(dir, "a", "2.jpg"))); err != nil {
		t.Skip(err)
	}
	src, err := open(t, op.Args{"file_root": dir})
	if err != nil {
		t.Fatal(err)
	}
	got, _, failed, err := fetch(src, all(src)...)
	if d := cmp.Diff([]string{"a/0.jpg", "2.jpg", "c/1.jpg"}, got); d != "" || err != nil || len(failed) > 0 {
		t.Errorf("%v %v (-want +got):\n%s", failed, err, d)
	}
}
