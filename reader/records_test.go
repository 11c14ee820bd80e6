package reader_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/tensor"
)

// openReader opens a reader and returns what it delivers.
func openReader(name string, args op.Args) (reader.Source, []tensor.Spec, error) {
	s, err := op.Lookup(name)
	if err != nil {
		return nil, nil, err
	}
	_, set, err := op.Arguments(args)
	if err != nil {
		return nil, nil, err
	}
	c, _, err := op.Resolve(s, "test", 0, set)
	if err != nil {
		return nil, nil, err
	}
	o, err := reader.Lookup(s)
	if err != nil {
		return nil, nil, err
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, nil, err
	}
	source, err := o.Open(context.Background(), c)
	return source, specs, err
}

// block is a block of n samples with memory of its own.
func block(specs []tensor.Spec, n int, m op.Memory) *op.Block {
	var b op.Block
	x := b.Binding()
	x.Memory, x.Positions, x.Specs, x.Local = m, make([]int64, n), specs, new(any)
	for range specs {
		x.Out = append(x.Out, make([]tensor.Tensor, n))
	}
	return &b
}

// values reads samples and returns each as text: the type, the shape and the elements of all
// outputs, or the error.
func values(t testing.TB, source reader.Source, specs []tensor.Spec, ids ...int64) (list []string) {
	t.Helper()
	b := block(specs, len(ids), memory{})
	x := b.Binding()
	if err := source.Fetch(context.Background(), ids, b); err != nil {
		t.Fatal(err)
	}
	for s := range ids {
		if err := x.Errors[s]; err != nil {
			list = append(list, "error: "+err.Error())
			continue
		}
		var outputs []string
		for o := range specs {
			v := x.Out[o][s]
			if v.DType != specs[o].DType {
				t.Fatalf("output %d is %s, want %s", o, v, specs[o])
			}
			switch v.DType {
			case tensor.Uint8:
				outputs = append(outputs, fmt.Sprintf("%q", v.Data))
			case tensor.Int64:
				list, err := tensor.Of[int64](v)
				outputs = append(outputs, fmt.Sprint(v.Shape, list, err))
			default:
				list, err := tensor.Of[float32](v)
				outputs = append(outputs, fmt.Sprint(v.Shape, list, err))
			}
		}
		list = append(list, strings.ReplaceAll(strings.Join(outputs, " "), " <nil>", ""))
	}
	return list
}

// tfFile writes a TFRecord file of examples and returns its path.
func tfFile(t testing.TB, path string, examples ...map[string]any) string {
	t.Helper()
	var b []byte
	for _, e := range examples {
		m, err := tfrecord.EncodeExample(e)
		if err != nil {
			t.Fatal(err)
		}
		b = tfrecord.Append(b, m)
	}
	writeFile(t, path, b)
	return path
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Each form of feature has the type and the shape that were asked for, and an absent one its
// default.
func TestTFRecordFeatures(t *testing.T) {
	path := tfFile(t, filepath.Join(t.TempDir(), "a"),
		map[string]any{"image": "abc", "more": "d", "label": []int64{7}, "box": []int64{1, 2, 3, 4},
			"var": []float32{0.5, 1}, "rows": []int64{1, 2, 3, 4}, "other": "x"},
		map[string]any{"image": "", "var": []float32{}},
		map[string]any{"more": "only", "label": nil},
	)
	source, specs, err := openReader("readers.tfrecord", op.Args{"path": path, "features": []op.Feature{
		op.FixedLen("more", nil, tensor.Uint8, "none"),
		op.FixedLen("label", []int{1}, tensor.Int64, -1),
		op.FixedLen("image", []int{1}, tensor.Uint8, "absent"),
		op.FixedLen("box", []int{2, 2}, tensor.Int64, 9),
		op.VarLen("var", tensor.Float32, 0.0),
		op.VarLen("rows", tensor.Int64, 0, 2),
		op.FixedLen("scale", nil, tensor.Float32, 2.5),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	want := []string{
		`"d" [1][7] "abc" [2 2][1 2 3 4] [2][0.5 1] [2 2][1 2 3 4] [][2.5]`,
		`"none" [1][-1] "" [2 2][9 9 9 9] [0][] [0 2][] [][2.5]`,
		`"only" [1][-1] "absent" [2 2][9 9 9 9] [0][] [0 2][] [][2.5]`,
	}
	normal := func(list []string) []string {
		for i := range list {
			list[i] = strings.NewReplacer("] [", "][", ",", " ").Replace(list[i])
		}
		return list
	}
	if d := cmp.Diff(normal(slices.Clone(want)), normal(values(t, source, specs, 0, 1, 2))); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := source.Describe(1); !strings.Contains(got, "record 1 of "+path) || source.Size(0) < 20 {
		t.Errorf("described as %q, %d bytes", got, source.Size(0))
	}
	shape := fmt.Sprint(specs[1].Shape, specs[3].Shape, specs[4].Shape, specs[5].Shape, specs[6].Shape)
	if shape != "[1] [2,2] [-1] [-1,2] []" {
		t.Errorf("shapes %s", shape)
	}
}

// Samples are the same with DALI's index, with an index file, with one that is found beside the
// data, and without any.
func TestRecordIndexes(t *testing.T) {
	for name, maker := range map[string]readertest.Maker{"tfrecord": readertest.IndexedTFRecords,
		"recordio": readertest.RecordIO} {
		dir := t.TempDir()
		kind, args, err := maker(dir, 10)
		if err != nil {
			t.Fatal(err)
		}
		paths := args["path"].([]string)
		print := ""
		check := func(what string, indexes any) {
			t.Helper()
			args := maps.Clone(args)
			if args["index_path"] = indexes; indexes == nil {
				delete(args, "index_path")
			}
			source, specs, err := openReader(kind, args)
			if err != nil {
				t.Errorf("%s: %s: %v", name, what, err)
				return
			}
			defer source.Close()
			got := values(t, source, specs, all(source)...)
			for i, v := range got {
				if !strings.Contains(v, fmt.Sprintf("%q", fmt.Sprint("sample ", i))) || len(got) != 10 {
					t.Errorf("%s: %s: sample %d of %d is %s", name, what, i, len(got), v)
				}
			}
			if print == "" {
				print = source.Info().Fingerprint
			}
			if source.Info().Fingerprint != print {
				t.Errorf("%s: %s: another fingerprint", name, what)
			}
		}
		check("an index of lines", args["index_path"])
		check("no index", []string{})
		set, err := shards.Open(context.Background(), "test", paths)
		if err != nil {
			t.Fatal(err)
		}
		f, err := reader.RecordFormat(name)
		if err != nil {
			t.Fatal(err)
		}
		x, err := index.Build(context.Background(), "test", set, f, index.BuildOptions{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, index.Name)
		if err := index.Write(path, x); err != nil {
			t.Fatal(err)
		}
		check("the index beside the data", []string{})
		check("an index by name", []string{path})
		if name == "tfrecord" {
			check("no argument", nil)
		}
	}
}

// Records of several parts, labels in a list, and gaps in an index are read as MXNet and DALI do.
func TestMXNetRecords(t *testing.T) {
	dir := t.TempDir()
	split := []byte("1234\x0a\x23\xd7\xcetail")
	var b, lines []byte
	var offsets []int
	for _, m := range []recordio.Image{
		{Label: 3, Data: []byte("abc")}, {Labels: []byte{0, 0, 0xc0, 0x3f, 0, 0, 0x20, 0x40}, Data: []byte("two")}, {Label: 4, Data: split}, {Label: 5},
	} {
		offsets = append(offsets, len(b))
		b = recordio.Append(b, recordio.AppendImage(nil, m))
	}
	path := filepath.Join(dir, "a.rec")
	writeFile(t, path, b)
	for _, k := range []int{3, 2, 0, 0} { // unsorted, one offset twice, record 1 left out
		lines = recordio.AppendIndex(lines, fmt.Sprint("k", len(lines)), int64(offsets[k]))
	}
	writeFile(t, filepath.Join(dir, "some.idx"), lines)
	for index, want := range map[string][]string{
		"":         {`"abc" [1] [3]`, `"two" [2] [1.5 2.5]`, fmt.Sprintf("%q [1] [4]", split), `"" [1] [5]`},
		"some.idx": {`"abc" [1] [3]`, fmt.Sprintf("%q [1] [4]", split), `"" [1] [5]`},
	} {
		paths := []string{}
		if index != "" {
			paths = append(paths, filepath.Join(dir, index))
		}
		source, specs, err := openReader("readers.mxnet", op.Args{"path": path, "index_path": paths})
		if err != nil {
			t.Fatal(err)
		}
		got := values(t, source, specs, all(source)...)
		got = append(got, values(t, source, specs, 0)...) // the joined record does not stay
		want = append(want, want[0])
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], "][", "] [")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("index %q (-want +got):\n%s", index, d)
		}
		source.Close()
	}
}

// What is wrong with arguments or files is said when the reader is opened, with the file, what was
// expected and what was found.
func TestRecordsRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	label := op.FixedLen("label", []int{1}, tensor.Int64, 0)
	good := tfFile(t, file("good.tfrecord"), map[string]any{"label": []int64{1}},
		map[string]any{"label": []int64{2}, "more": "abc"})
	other := tfFile(t, file("other.tfrecord"), map[string]any{"label": []int64{3}, "x": "yz"},
		map[string]any{"label": []int64{2}, "more": "abc", "z": "1"})
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file("cut.tfrecord"), whole[:len(whole)-3])
	writeFile(t, file("empty.tfrecord"), nil)
	bad := slices.Clone(whole)
	bad[3] ^= 1
	writeFile(t, file("length.tfrecord"), bad)
	writeFile(t, file("gz.tfrecord.gz"), []byte("\x1f\x8b\x08\x00aaaaaaaaaa"))
	writeFile(t, file("lines.idx"), []byte("0 x\n"))
	writeFile(t, file("beyond.idx"), []byte("0 99999\n"))
	writeFile(t, file("none.idx"), nil)
	first, err := tfrecord.RecordSize(whole[:12])
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file("good.idx"), fmt.Appendf(nil, "0 %d\n%d %d\n", first, first, int64(len(whole))-first))
	writeFile(t, file("shifted.idx"), fmt.Appendf(nil, "1 %d\n", first))
	writeFile(t, file("short.idx"), []byte("0 15\n"))

	rec := recordio.Append(recordio.Append(nil, recordio.AppendImage(nil, recordio.Image{Label: 1})),
		recordio.AppendImage(nil, recordio.Image{Label: 2}))
	writeFile(t, file("a.rec"), rec)
	writeFile(t, file("b.rec"), rec[:len(rec)-1])
	writeFile(t, file("keys.idx"), []byte("0\t0\n0\t32\n"))
	writeFile(t, file("far.idx"), []byte("0\t0\n1\t3200\n"))
	writeFile(t, file("shift.idx"), []byte("0\t4\n"))
	writeFile(t, file("a.idx"), []byte("0\t0\n1\t32\n"))

	for _, c := range []struct {
		what, reader string
		args         op.Args
		kind         errs.Kind
		says         []string
	}{
		{"no path", "tfrecord", op.Args{"features": label}, errs.Invalid, []string{"path"}},
		{"no features", "tfrecord", op.Args{"path": good}, errs.Invalid, []string{"features"}},
		{"an empty list of features", "tfrecord", op.Args{"path": good, "features": []op.Feature{}}, errs.Invalid, []string{"features", "at least one"}},
		{"features of another type", "tfrecord", op.Args{"path": good, "features": "label"}, errs.Invalid, []string{"features", "list of features"}},
		{"a feature twice", "tfrecord", op.Args{"path": good, "features": []op.Feature{label, label}}, errs.Invalid, []string{`"label" twice`}},
		{"a type that no feature has", "tfrecord", op.Args{"path": good, "features": op.FixedLen("label", nil, tensor.Int32, nil)}, errs.Invalid, []string{`"label"`, "int32"}},
		{"a negative extent", "tfrecord", op.Args{"path": good, "features": op.FixedLen("label", []int{-1}, tensor.Int64, nil)}, errs.Invalid, []string{`"label"`, "negative"}},
		{"a shape that is too large", "tfrecord", op.Args{"path": good, "features": op.FixedLen("label", []int{1 << 40, 1 << 40}, tensor.Int64, nil)}, errs.Invalid, []string{`"label"`, "2 GiB"}},
		{"a default of another type", "tfrecord", op.Args{"path": good, "features": op.FixedLen("label", nil, tensor.Int64, "x")}, errs.Invalid, []string{"features"}},
		{"a list of texts", "tfrecord", op.Args{"path": good, "features": op.VarLen("label", tensor.Uint8, nil)}, errs.Unsupported, []string{`"label"`, "variable length"}},
		{"texts of a shape", "tfrecord", op.Args{"path": good, "features": op.FixedLen("label", []int{2}, tensor.Uint8, nil)}, errs.Invalid, []string{`"label"`, "[2]"}},
		{"a missing file", "tfrecord", op.Args{"path": []string{good, file("no")}, "features": label}, errs.NotFound, []string{file("no")}},
		{"a file twice", "tfrecord", op.Args{"path": []string{good, dir + "/./good.tfrecord"}, "features": label}, errs.Invalid, []string{"path", "twice"}},
		{"only an empty file", "tfrecord", op.Args{"path": file("empty.tfrecord"), "features": label}, errs.Invalid, []string{file("empty.tfrecord"), "no record"}},
		{"a cut file", "tfrecord", op.Args{"path": []string{good, file("cut.tfrecord")}, "features": label}, errs.Corrupt, []string{file("cut.tfrecord"), "record 1 at byte", "cut"}},
		{"a damaged length", "tfrecord", op.Args{"path": file("length.tfrecord"), "features": label}, errs.Corrupt, []string{file("length.tfrecord"), "record 0 at byte 0", "checksum"}},
		{"a compressed file that is cut", "tfrecord", op.Args{"path": file("gz.tfrecord.gz"), "features": label}, errs.Corrupt, []string{file("gz.tfrecord.gz"), "gzip"}},
		{"another file", "tfrecord", op.Args{"path": file("a.rec"), "features": label}, errs.Corrupt, []string{file("a.rec"), "record 0"}},
		{"a missing index", "tfrecord", op.Args{"path": good, "index_path": file("no.idx"), "features": label}, errs.NotFound, []string{file("no.idx")}},
		{"an index for two files", "tfrecord", op.Args{"path": []string{good, other}, "index_path": file("good.idx"), "features": label}, errs.Invalid, []string{"index_path", "2 paths"}},
		{"an index of other text", "tfrecord", op.Args{"path": good, "index_path": file("lines.idx"), "features": label}, errs.Corrupt, []string{file("lines.idx"), "line 1"}},
		{"an index beyond the file", "tfrecord", op.Args{"path": good, "index_path": file("beyond.idx"), "features": label}, errs.Mismatch, []string{file("beyond.idx"), "line 1", good}},
		{"an index without lines", "tfrecord", op.Args{"path": good, "index_path": file("none.idx"), "features": label}, errs.Invalid, []string{"no record"}},
		{"an index of other data", "tfrecord", op.Args{"path": other, "index_path": file("good.idx"), "features": label}, errs.Mismatch, []string{file("good.idx"), other, "offset"}},
		{"indexes in another order", "tfrecord", op.Args{"path": []string{good, other}, "index_path": []string{file("good.idx"), file("good.idx")}, "features": label}, errs.Mismatch, []string{file("good.idx"), other, "order of path"}},
		{"an index of shifted data", "tfrecord", op.Args{"path": good, "index_path": file("shifted.idx"), "features": label}, errs.Mismatch, []string{file("shifted.idx"), "no record"}},
		{"an index of records that are too short", "tfrecord", op.Args{"path": good, "index_path": file("short.idx"), "features": label}, errs.Mismatch, []string{file("short.idx"), "16"}},
		{"no index argument", "mxnet", op.Args{"path": file("a.rec")}, errs.Invalid, []string{"index_path"}},
		{"a cut file without index", "mxnet", op.Args{"path": file("b.rec"), "index_path": []string{}}, errs.Corrupt, []string{file("b.rec"), "record 1", "cut"}},
		{"a key twice", "mxnet", op.Args{"path": file("a.rec"), "index_path": file("keys.idx")}, errs.Invalid, []string{file("keys.idx"), "key 0 twice"}},
		{"an offset beyond the file", "mxnet", op.Args{"path": file("a.rec"), "index_path": file("far.idx")}, errs.Mismatch, []string{file("far.idx"), "3200"}},
		{"an offset within a record", "mxnet", op.Args{"path": file("a.rec"), "index_path": file("shift.idx")}, errs.Mismatch, []string{file("shift.idx"), "offset 4", "no record"}},
		{"an empty index", "mxnet", op.Args{"path": file("a.rec"), "index_path": file("none.idx")}, errs.Invalid, []string{"no record"}},
		{"three indexes", "mxnet", op.Args{"path": []string{file("a.rec"), file("b.rec")}, "index_path": []string{"a", "b", "c"}}, errs.Invalid, []string{"index_path", "3"}},
	} {
		source, _, err := openReader("readers."+c.reader, c.args)
		if err == nil {
			source.Close()
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want an error of kind %v", c.what, err, c.kind)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", c.what, err, s)
			}
		}
	}
}

// What is wrong with a record fails its sample alone, with what was expected and found.
func TestRecordsFail(t *testing.T) {
	dir := t.TempDir()
	path := tfFile(t, filepath.Join(dir, "a"),
		map[string]any{"label": []int64{1},
			"text": "a"}, map[string]any{"label": []float32{1}}, map[string]any{"label": []int64{1, 2}},
		map[string]any{"label": []int64{}}, map[string]any{"text": [][]byte{{1},
			{2}}}, map[string]any{"rows": []int64{1, 2, 3}}, map[string]any{"text": []int64{1}})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = tfrecord.Append(b, []byte{0x0a, 0xff})
	last := len(b)
	b = tfrecord.Append(b, nil)
	b = append(b, b[:last]...)
	b[len(b)-1] ^= 1
	writeFile(t, path, b)
	source, specs, err := openReader("readers.tfrecord", op.Args{"path": path, "features": []op.Feature{
		op.FixedLen("label", []int{1}, tensor.Int64, 5), op.FixedLen("text", nil, tensor.Uint8, ""), op.VarLen("rows", tensor.Int64, 0, 2),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	got := values(t, source, specs, all(source)...)
	for i, want := range []string{
		"", `feature "label": mismatch: want values of type int64, got float32`, `feature "label": mismatch: want shape [1], number of values 1, got 2`,
		`feature "label": mismatch: want shape [1], number of values 1, got 0`, `feature "text": mismatch: want 1 value`, `feature "rows": mismatch: want a multiple of 2 values, for shape [2], got 3`,
		`feature "text": mismatch: want values of type bytes, got int64`, "byte 1 of the message: corrupt", "",
	} {
		if (want == "") == strings.HasPrefix(got[i], "error") || !strings.Contains(got[i], want) {
			t.Errorf("record %d: got %s, want %q", i, got[i], want)
		}
	}
	if n := len(got); !strings.Contains(got[n-1], "corrupt: want a payload with checksum") {
		t.Errorf("the last record: %s", got[n-1])
	}

	rec := filepath.Join(dir, "a.rec")
	writeFile(t, rec, recordio.Append(recordio.Append(nil, []byte("short")),
		recordio.AppendImage(nil, recordio.Image{Data: []byte("x")})))
	source, specs, err = openReader("readers.mxnet", op.Args{"path": rec, "index_path": []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	got = values(t, source, specs, 0, 1)
	if !strings.Contains(got[0], "want an image with a header of 24 bytes, got a record of 5 bytes") ||
		strings.HasPrefix(got[1], "error") {
		t.Errorf("got %q", got)
	}
}

// Fetching a record allocates nothing besides the memory of its outputs, and the fingerprint tells
// the features.
func TestRecordsAllocateNothing(t *testing.T) {
	for name, maker := range map[string]readertest.Maker{"tfrecord": readertest.TFRecords,
		"recordio": readertest.RecordIO} {
		kind, args, err := maker(t.TempDir(), 9)
		if err != nil {
			t.Fatal(err)
		}
		source, specs, err := openReader(kind, args)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close()
		b, ids := block(specs, 1, newArena()), []int64{0}
		if n := testing.AllocsPerRun(200, func() {
			ids[0] = (ids[0] + 5) % 9
			b.Binding().Memory.(*arena).at = 0
			if err := source.Fetch(context.Background(), ids, b); err != nil || len(b.Binding().Errors) > 0 {
				t.Fatal(err, b.Binding().Errors)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations a sample", name, n)
		}
		if name != "tfrecord" {
			continue
		}
		print := source.Info().Fingerprint
		features := slices.Clone(args["features"].([]op.Feature))
		features[1].Default = 7
		args["features"] = features
		again, _, err := openReader(kind, args)
		if err != nil || again.Info().Fingerprint == print {
			t.Errorf("the fingerprint with another default: %v", err)
		}
	}
}

// arena is memory that is used again and again.
type arena struct {
	data []byte
	at   int
}

func newArena() *arena { return &arena{data: memory{}.Output(0, 0, 1<<20)} }

func (a *arena) Output(_, _, size int) []byte {
	p := a.data[a.at:][:size:size]
	a.at += (size + 7) &^ 7
	return p
}

func (a *arena) Scratch(size int) []byte { return a.Output(0, 0, size) }

// Records are the same in any order, small ones and large ones, over the ends of files.
func TestRecordsInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	var paths, want []string
	for i := range 3 {
		var examples []map[string]any
		for k := range 60 {
			text := strings.Repeat(fmt.Sprint(i, " ", k, ";"), 1+k*k%97*(1+k%7*20))
			want = append(want, fmt.Sprintf("%q", text))
			examples = append(examples, map[string]any{"text": text})
		}
		paths = append(paths, tfFile(t, filepath.Join(dir, fmt.Sprint(i)), examples...))
	}
	source, specs, err := openReader("readers.tfrecord",
		op.Args{"path": paths, "features": op.FixedLen("text", nil, tensor.Uint8, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var ids []int64
	for i := range int64(180) {
		ids = append(ids, i)
	}
	for _, stride := range []int64{1, 4, 7, 179} { // in order, by one of several workers, and otherwise
		for i := range ids {
			ids[i] = int64(i) * stride % 180
		}
		got := values(t, source, specs, ids...)
		for i, id := range ids {
			if got[i] != want[id] {
				t.Fatalf("stride %d: record %d is %.60s, want %.60s", stride, id, got[i], want[id])
			}
		}
	}
}
