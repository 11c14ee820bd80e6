package reader_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/caffe"
	"github.com/bivouac-ml/bivouac/format/lmdb"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// opened is a source with the specs of its outputs.
type opened struct {
	reader.Source
	specs []tensor.Spec
}

// openNamed opens a reader.
func openNamed(t testing.TB, name string, args op.Args) (*opened, error) {
	t.Helper()
	s, err := op.Lookup(name)
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
	if s.OutputCount != nil {
		if _, err := s.OutputCount(c); err != nil {
			return nil, err
		}
	}
	specs, err := o.Outputs(c)
	if err != nil {
		return nil, err
	}
	src, err := o.Open(context.Background(), c)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { src.Close() })
	return &opened{src, specs}, nil
}

func mustOpen(t testing.TB, name string, args op.Args) *opened {
	t.Helper()
	src, err := openNamed(t, name, args)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// sample fetches a sample and returns its outputs.
func (o *opened) sample(id int64) ([]tensor.Tensor, error) {
	var b op.Block
	x := b.Binding()
	x.Memory, x.Positions, x.Specs = memory{}, make([]int64, 1), o.specs
	for range o.specs {
		x.Out = append(x.Out, make([]tensor.Tensor, 1))
	}
	if err := o.Fetch(context.Background(), []int64{id}, &b); err != nil {
		return nil, err
	}
	var out []tensor.Tensor
	for i := range x.Out {
		out = append(out, x.Out[i][0])
	}
	return out, x.Errors[0]
}

// TestNewReadersDescribe: a sample has a name and a place, the fingerprint depends on the contents
// alone, and the old name of a reader opens the same.
func TestNewReadersDescribe(t *testing.T) {
	for name, old := range map[string]string{"coco": "coco_reader", "caffe": "caffe_reader", "caffe2": "caffe2_reader",
		"nemo": "nemo_asr_reader"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kind, args, err := readertest.All[name](dir, 9)
			if err != nil {
				t.Fatal(err)
			}
			src := mustOpen(t, kind, args)
			if info := src.Info(); info.Samples != 9 || info.Format != kind || len(info.Fingerprint) != 32 {
				t.Errorf("%+v", info)
			}
			seen := map[string]bool{}
			for id := range int64(9) {
				if src.Size(id) <= 0 || !strings.HasPrefix(src.Describe(id), "file "+dir) {
					t.Errorf("sample %d: %d bytes, %s", id, src.Size(id), src.Describe(id))
				}
				seen[src.Source.(reader.Named).Name(id)] = true
			}
			if len(seen) != 9 {
				t.Errorf("%d names of 9 samples", len(seen))
			}
			if again := mustOpen(t, old, args); again.Info().Fingerprint != src.Info().Fingerprint {
				t.Errorf("%s has another fingerprint", old)
			}
			other := t.TempDir()
			kind, args, err = readertest.All[name](other, 9)
			if err != nil {
				t.Fatal(err)
			}
			if again := mustOpen(t, kind, args); again.Info().Fingerprint != src.Info().Fingerprint {
				t.Error("the same data set elsewhere has another fingerprint")
			}
			kind, args, err = readertest.All[name](t.TempDir(), 10)
			if err != nil {
				t.Fatal(err)
			}
			if again := mustOpen(t, kind, args); again.Info().Fingerprint == src.Info().Fingerprint {
				t.Error("another data set has the same fingerprint")
			}
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if err := src.Fetch(ctx, []int64{0}, new(op.Block)); !errors.Is(err, context.Canceled) {
				t.Errorf("after the context ended: %v", err)
			}
		})
	}
}

// TestNewReadersRefuse: arguments that make no sense and data that is not there are refused with
// the argument or the path.
func TestNewReadersRefuse(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := readertest.COCO(dir, 3); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.json"), []byte(`{"images": []}`), 0o666); err != nil {
		t.Fatal(err)
	}
	base := map[string]op.Args{
		"readers.coco":     {"file_root": dir, "annotations_file": filepath.Join(dir, "annotations.json")},
		"readers.caffe":    {"path": filepath.Join(dir, "nothing")},
		"readers.caffe2":   {"path": filepath.Join(dir, "nothing")},
		"readers.nemo_asr": {"manifest_filepaths": filepath.Join(dir, "nothing.json")},
	}
	for _, c := range []struct {
		reader string
		args   op.Args
		kind   errs.Kind
		want   string
	}{
		{"readers.coco", op.Args{"annotations_file": filepath.Join(dir, "no.json")}, errs.NotFound, "no.json"},
		{"readers.coco", op.Args{"file_root": filepath.Join(dir, "no")}, errs.NotFound, "000000.jpg"},
		{"readers.coco", op.Args{"file_root": "s3://bucket"}, errs.Unsupported, "s3"},
		{"readers.coco", op.Args{"annotations_file": filepath.Join(dir, "empty.json")}, errs.Invalid, "empty.json"},
		{"readers.coco", op.Args{"images": []string{}}, errs.Invalid, "images"},
		{"readers.coco", op.Args{"images": []string{"x.jpg"}}, errs.NotFound, "x.jpg"},
		{"readers.coco", op.Args{"size_threshold": 99.0, "skip_empty": true}, errs.Invalid, "size_threshold"},
		{"readers.coco", op.Args{"image_ids": true, "save_img_ids": true}, errs.Invalid, "save_img_ids"},
		{"readers.coco", op.Args{"dump_meta_files": true}, errs.Invalid, "save_preprocessed_annotations"},
		{"readers.coco", op.Args{"dump_meta_files": true, "dump_meta_files_path": filepath.Join(dir, "no")}, errs.NotFound, "no"},
		{"readers.coco", op.Args{"num_shards": 0}, errs.Invalid, "num_shards"},
		{"readers.caffe", op.Args{}, errs.NotFound, "nothing"},
		{"readers.caffe", op.Args{"image_available": false, "label_available": false}, errs.Invalid, "label_available"},
		{"readers.caffe", op.Args{"path": []string{}}, errs.Invalid, "path"},
		{"readers.caffe", op.Args{"path": filepath.Join(dir, "annotations.json")}, errs.Corrupt, "page 0"},
		{"readers.caffe2", op.Args{}, errs.NotFound, "nothing"},
		{"readers.caffe2", op.Args{"label_type": 9}, errs.Invalid, "label_type"},
		{"readers.caffe2", op.Args{"num_labels": 0}, errs.Invalid, "num_labels"},
		{"readers.caffe2", op.Args{"additional_inputs": -1}, errs.Invalid, "additional_inputs"},
		{"readers.caffe2", op.Args{"label_type": 4, "image_available": false}, errs.Invalid, "label_type"},
		{"readers.nemo_asr", op.Args{}, errs.NotFound, "nothing.json"},
		{"readers.nemo_asr", op.Args{"dtype": tensor.Float64}, errs.Invalid, "dtype"},
		{"readers.nemo_asr", op.Args{"min_duration": 3.0, "max_duration": 2.0}, errs.Invalid, "max_duration"},
		{"readers.nemo_asr", op.Args{"min_duration": -1.0}, errs.Invalid, "min_duration"},
		{"readers.nemo_asr", op.Args{"manifest_filepaths": filepath.Join(dir, "annotations.json")}, errs.Invalid, "audio_filepath"},
	} {
		args := maps.Clone(base[c.reader])
		maps.Copy(args, c.args)
		if _, err := openNamed(t, c.reader, args); errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: got %v, want kind %v and %q", c.reader, c.args, err, c.kind, c.want)
		}
	}
}

// TestPreprocessedIsTheSame: what is saved and read back is the same data set.
func TestPreprocessedIsTheSame(t *testing.T) {
	dir := t.TempDir()
	_, args, err := readertest.COCOMasks(dir, 7)
	if err != nil {
		t.Fatal(err)
	}
	saved := t.TempDir()
	args["save_preprocessed_annotations"], args["save_preprocessed_annotations_dir"] = true, saved
	src := mustOpen(t, "readers.coco", args)
	for range 2 { // the second time over the first
		again := mustOpen(t, "readers.coco", op.Args{"file_root": dir, "preprocessed_annotations": saved,
			"pixelwise_masks": true, "image_ids": true})
		if !reflect.DeepEqual(src.Info(), again.Info()) {
			t.Errorf("%+v, want %+v", again.Info(), src.Info())
		}
		for id := range int64(7) {
			want, err := src.sample(id)
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.sample(id)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("sample %d: %v %v, want %v", id, got, err, want)
			}
		}
		mustOpen(t, "readers.coco", args)
	}
	if err := os.Truncate(filepath.Join(saved, "labels.dat"), 9); err != nil {
		t.Fatal(err)
	}
	_, err = openNamed(t, "readers.coco", op.Args{"file_root": dir, "preprocessed_annotations": saved})
	if errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "labels.dat") {
		t.Errorf("a cut file: %v", err)
	}
	_, err = openNamed(t, "readers.coco", op.Args{"file_root": dir, "preprocessed_annotations": t.TempDir()})
	if errs.KindOf(err) != errs.Invalid {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestChangedImage: an image that was replaced after the start fails alone, by name.
func TestChangedImage(t *testing.T) {
	dir := t.TempDir()
	_, args, err := readertest.COCO(dir, 4)
	if err != nil {
		t.Fatal(err)
	}
	src := mustOpen(t, "readers.coco", args)
	if err := os.WriteFile(filepath.Join(dir, "000002.jpg"), []byte("another and longer image"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "000003.jpg")); err != nil {
		t.Fatal(err)
	}
	for id, want := range []errs.Kind{errs.Other, errs.Other, errs.Mismatch, errs.NotFound} {
		_, err := src.sample(int64(id))
		if errs.KindOf(err) != want || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%06d.jpg", id)) {
			t.Errorf("image %d: %v, want kind %v", id, err, want)
		}
	}
}

// database writes records into an LMDB database and returns its path.
func database(t testing.TB, records ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(path, "data.mdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := lmdb.NewWriter(f, 4096)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		if err := w.Add(fmt.Appendf(nil, "%04d", i), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestLabelsOfCaffe2: sparse labels become numbers of each class. The system that the records come
// from cannot read them.
func TestLabelsOfCaffe2(t *testing.T) {
	image := caffe.Tensor{Type: caffe.String, Strings: [][]byte{[]byte("image")}}
	ints := func(v ...int32) caffe.Tensor { return caffe.Tensor{Type: caffe.Int32, Ints: v} }
	floats := func(v ...float32) caffe.Tensor { return caffe.Tensor{Type: caffe.Float, Floats: v} }
	path := database(t, caffe.AppendTensors(nil, image, ints(1, 3), floats(0.5, 2)),
		caffe.AppendTensors(nil, image, ints(), floats()),
		caffe.AppendTensors(nil, image, ints(9), floats(1)), caffe.AppendTensors(nil, image, ints(1),
			floats(1, 2)), caffe.AppendTensors(nil, image))
	sparse := mustOpen(t, "readers.caffe2", op.Args{"path": path, "label_type": 1, "num_labels": 5})
	weighted := mustOpen(t, "readers.caffe2", op.Args{"path": filepath.Join(path, "data.mdb"), "label_type": 3,
		"num_labels": 5})
	for id, want := range []struct{ sparse, weighted string }{{"[0 1 0 1 0]", "[0 0.5 0 2 0]"},
		{"[0 0 0 0 0]", "[0 0 0 0 0]"}} {
		out, err := sparse.sample(int64(id))
		if err != nil {
			t.Fatal(err)
		}
		v, err := tensor.Of[int32](out[1])
		if err != nil || fmt.Sprint(v) != want.sparse {
			t.Errorf("record %d: %v %v, want %s", id, v, err, want.sparse)
		}
		if out, err = weighted.sample(int64(id)); err != nil {
			t.Fatal(err)
		}
		w, err := tensor.Of[float32](out[1])
		if err != nil || fmt.Sprint(w) != want.weighted {
			t.Errorf("record %d: %v %v, want %s", id, w, err, want.weighted)
		}
	}
	for id := int64(2); id < 5; id++ {
		if _, err := weighted.sample(id); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("record %d: %v", id, err)
		}
	}
}

// TestRecordsOfAnotherKind: a record that is not like the first one, or that is damaged, fails
// alone.
func TestRecordsOfAnotherKind(t *testing.T) {
	file := caffe.AppendDatum(nil, caffe.Datum{Data: []byte("file"), HasLabel: true})
	pixels := caffe.AppendDatum(nil, caffe.Datum{Data: []byte("123456"), Height: 1, Width: 2, Channels: 3,
		HasEncoded: true})
	huge := caffe.AppendDatum(nil, caffe.Datum{Data: []byte("123456"), Height: 1 << 30, Width: 1 << 30,
		Channels: 1 << 30, HasEncoded: true})
	for name, c := range map[string]struct {
		records [][]byte
		kind    errs.Kind
	}{
		"pixels": {[][]byte{file, pixels}, errs.Mismatch}, "a file": {[][]byte{pixels, file}, errs.Mismatch}, "huge": {[][]byte{pixels, huge}, errs.Corrupt},
		"damaged": {[][]byte{file, {0xff}}, errs.Corrupt},
	} {
		src := mustOpen(t, "readers.caffe", op.Args{"path": database(t, c.records...)})
		if _, err := src.sample(0); err != nil {
			t.Errorf("%s, record 0: %v", name, err)
		}
		if _, err := src.sample(1); errs.KindOf(err) != c.kind {
			t.Errorf("%s, record 1: %v, want kind %v", name, err, c.kind)
		}
	}
	str, raw := caffe.Tensor{Type: caffe.String, Strings: [][]byte{[]byte("x")}}, caffe.Tensor{Type: caffe.Byte,
		Dims: []int64{1, 2}, Bytes: []byte("xy")}
	src := mustOpen(t, "readers.caffe2", op.Args{"label_type": 4, "path": database(t, caffe.AppendTensors(nil, raw),
		caffe.AppendTensors(nil, str),
		caffe.AppendTensors(nil, caffe.Tensor{Type: caffe.Byte, Dims: []int64{1 << 40, 1 << 40}, Bytes: []byte("xy")}))})
	for id, want := range []errs.Kind{errs.Other, errs.Mismatch, errs.Corrupt} {
		if _, err := src.sample(int64(id)); errs.KindOf(err) != want {
			t.Errorf("tensor record %d: %v, want kind %v", id, err, want)
		}
	}
}

// TestSpeech: a format that is not decoded is refused by name, a file that is cut is damaged, and
// other rates are resampled. The rate is the rate of the file.
func TestSpeech(t *testing.T) {
	dir := t.TempDir()
	files := map[string][]byte{"a.wav": readertest.WAV(8000, []int16{1, 2}), "b.caf": []byte("caff and more"),
		"c.wav": readertest.WAV(8000, []int16{1, 2})[:40]}
	var manifest []byte
	for _, name := range []string{"a.wav", "b.caf", "c.wav"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, files[name], 0o666); err != nil {
			t.Fatal(err)
		}
		line, err := json.Marshal(map[string]string{"audio_filepath": path})
		if err != nil {
			t.Fatal(err)
		}
		manifest = append(append(manifest, line...), '\n')
	}
	path := filepath.Join(dir, "manifest.json")
	if err := os.WriteFile(path, manifest, 0o666); err != nil {
		t.Fatal(err)
	}
	src := mustOpen(t, "readers.nemo_asr", op.Args{"manifest_filepaths": path})
	for id, want := range []errs.Kind{errs.Other, errs.Unsupported, errs.Corrupt} {
		if _, err := src.sample(int64(id)); errs.KindOf(err) != want {
			t.Errorf("file %d: %v, want kind %v", id, err, want)
		}
	}
	src = mustOpen(t, "readers.nemo_asr", op.Args{"manifest_filepaths": path, "sample_rate": 16000.0})
	out, err := src.sample(0)
	if err != nil {
		t.Fatal(err)
	}
	rates, err := tensor.Of[float32](out[1])
	if err != nil || out[0].Shape.Len() != 4 || rates[0] != 8000 {
		t.Errorf("2 frames at twice the rate: %v at %v, %v", out[0], rates, err)
	}
}

// BenchmarkFetch fetches one sample after the other.
func BenchmarkFetch(b *testing.B) {
	for _, name := range []string{"coco", "coco-pixelwise", "caffe", "caffe2", "nemo"} {
		b.Run(name, func(b *testing.B) {
			kind, args, err := readertest.All[name](b.TempDir(), 500)
			if err != nil {
				b.Fatal(err)
			}
			src := mustOpen(b, kind, args)
			var block op.Block
			x := block.Binding()
			x.Memory, x.Positions, x.Specs = &reused{}, make([]int64, 1), src.specs
			for range src.specs {
				x.Out = append(x.Out, make([]tensor.Tensor, 1))
			}
			ids := []int64{0}
			b.ReportAllocs()
			for b.Loop() {
				if ids[0] = (ids[0] + 7) % 500; src.Fetch(context.Background(), ids, &block) != nil || len(x.Errors) > 0 {
					b.Fatal(x.Errors)
				}
			}
		})
	}
}

// reused gives the same memory again.
type reused struct{ b [8][]byte }

func (m *reused) Output(i, _, size int) []byte {
	if cap(m.b[i]) < size {
		m.b[i] = memory{}.Output(i, 0, 2*size)
	}
	return m.b[i][:size]
}
func (m *reused) Scratch(size int) []byte { return make([]byte, size) }
