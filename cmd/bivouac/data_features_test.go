package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
)

// writeFeatures makes a file of n records: a text, one label, as many numbers as the record's
// number, two texts, and a feature that record 70 alone has.
func writeFeatures(t *testing.T, path string, n int) {
	t.Helper()
	var file []byte
	for i := range n {
		features := map[string]any{"text": fmt.Sprint("text ", i), "label": []int64{int64(i)},
			"box": []float32{1, 2, 3, 4}, "ids": make([]int64, i%3), "pair": [][]byte{[]byte("a"), []byte("b")}}
		if i == 70 {
			features["label"] = []int64{1, 2}
		}
		message, err := tfrecord.EncodeExample(features)
		if err != nil {
			t.Fatal(err)
		}
		file = tfrecord.Append(file, message)
	}
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TFRecords are looked at without naming features, and the output says what the first records have.
// A run must name them; the error has them ready.
func TestFeaturesAreFound(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.tfrecord")
	writeFeatures(t, path, 80)
	const found = "features: [{name: box, type: float32, shape: [4]}, {name: ids, type: int64, variable: true}, " +
		"{name: label, type: int64, shape: [1]}, {name: text, type: bytes}]"
	code, out, stderr := dataCommand(t.Context(), "ls", dir)
	for _, want := range []string{"80 samples", "box    float32[n]", "text   uint8[n]", "the first 64 records",
		"args: {" + found + "}", "left out  pair: records have 2 to 2 texts"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("ls: %d, want %q in\n%s%s", code, want, out, stderr)
		}
	}
	code, out, _ = dataCommand(t.Context(), "ls", "--json", path)
	var list []setInfo
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil || list[0].Found != found ||
		list[0].Records != 64 || len(list[0].LeftOut) != 1 {
		t.Errorf("ls --json: %d %v\n%s", code, err, out)
	}
	// Record 70 has another number of labels: that is no damage.
	for _, args := range [][]string{{"show", path, "70"}, {"sample", path, "2"}, {"stat", path}, {"verify", path}} {
		code, out, stderr := dataCommand(t.Context(), args...)
		if code != 0 || !strings.Contains(out, "the first 64 records") {
			t.Errorf("%v: %d\n%s%s", args, code, out, stderr)
		}
	}
	for _, name := range []string{path, filepath.Join(dir, "data.yaml")} {
		if err := os.WriteFile(filepath.Join(dir, "data.yaml"), []byte("path: a.tfrecord\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		d, err := dataset.Open(t.Context(), name, dataset.OpenOptions{})
		if errs.KindOf(err) != errs.Invalid || !strings.Contains(fmt.Sprint(err), "args: {"+found+"}") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			d.Close()
		}
	}
	// What the error says can be pasted.
	text := "path: a.tfrecord\nargs: {" + found + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "data.yaml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), filepath.Join(dir, "data.yaml"), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if d.Found(0) != nil {
		t.Error("features that the file names count as found")
	}
	f, err := d.At(t.Context(), 5, loader.Random{})
	if err != nil || fmt.Sprint(f.Names) != "[box ids label text]" || string(f.Values[3].Data) != "text 5" {
		t.Errorf("%v %v", f, err)
	}
	if _, err := d.At(t.Context(), 70, loader.Random{}); errs.KindOf(err) != errs.Mismatch ||
		!strings.Contains(fmt.Sprint(err), "label") {
		t.Errorf("a record with other labels: %v", err)
	}
}

// Damage in the records that tell the features is an error that names the file.
func TestFeaturesOfDamagedFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeFeatures(t, at("whole.tfrecord"), 3)
	b, err := os.ReadFile(at("whole.tfrecord"))
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{}, b...)
	flipped[40] ^= 1
	for name, content := range map[string][]byte{"cut.tfrecord": b[:len(b)-3], "empty.tfrecord": nil,
		"flipped.tfrecord":    flipped,
		"no example.tfrecord": tfrecord.Append(nil, []byte{0xff, 0xff}), "no features.tfrecord": tfrecord.Append(nil, nil)} {
		if err := os.WriteFile(at(name), content, 0o666); err != nil {
			t.Fatal(err)
		}
		code, out, stderr := dataCommand(t.Context(), "ls", at(name))
		if code == 0 || !strings.Contains(stderr, name) && name != "no features.tfrecord" {
			t.Errorf("%s: %d\n%s%s", name, code, out, stderr)
		}
	}
	// A file without records before one with records.
	if err := os.WriteFile(at("data.yaml"), []byte("path: [empty.tfrecord, whole.tfrecord]\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := dataCommand(t.Context(), "ls", at("data.yaml"))
	if code != 0 && !strings.Contains(stderr, "empty.tfrecord") {
		t.Errorf("%d\n%s%s", code, out, stderr)
	}
}
