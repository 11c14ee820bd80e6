package reader_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader"
	"github.com/bivouac-ml/bivouac/tensor"
)

// readAll reads all samples several times, so that files in the cache of the system are mapped, and
// calls check with each.
func readAll(t *testing.T, d *reader.Data, check func(id int64, f reader.Fields, err error)) {
	t.Helper()
	for pass := range 4 {
		for k := range d.Len() {
			id := k
			if pass%2 == 1 {
				id = (k*7 + 3) % d.Len()
			}
			f, err := d.Sample(context.Background(), id)
			check(id, f, err)
		}
	}
}

// large returns n bytes that depend on i.
func large(i, n int) []byte {
	b := make([]byte, n)
	for k := range b {
		b[k] = byte(k*31 + k>>8 + i*7)
	}
	return b
}

// Large records of TFRecord files are decoded where they lie in memory: all features, of records in
// any form, and with their checksums.
func TestLargeRecordsInMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data.tfrecord")
	var file []byte
	var starts []int
	size := func(i int) int { return 9000 + 997*i }
	const n = 41
	for i := range n {
		features := map[string]any{"image": large(i, size(i)), "label": []int64{int64(i)},
			"weights": []float32{float32(i), 2}}
		switch i {
		case 5:
			delete(features, "image") // the record is small then
			features["other"] = large(1, 20_000)
		case 6:
			features["image"] = [][]byte{large(i, 10_000), large(i, 10)}
		case 7:
			features["label"] = []float32{1}
		case 8:
			delete(features, "label")
		}
		example, err := tfrecord.EncodeExample(features)
		if err != nil {
			t.Fatal(err)
		}
		starts = append(starts, len(file))
		file = tfrecord.Append(file, example)
	}
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := reader.Open(context.Background(), "tfrecord", op.Args{"path": path, "features": []op.Feature{
		op.FixedLen("label", nil, tensor.Int64, 77), op.FixedLen("image", nil, tensor.Uint8, "none"),
		op.FixedLen("weights", []int{2}, tensor.Float32, 0.0)}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	damaged := map[int64]bool{}
	check := func(id int64, f reader.Fields, err error) {
		t.Helper()
		kind, label, image := errs.Other, id, large(int(id), size(int(id)))
		switch id {
		case 5:
			image = []byte("none")
		case 6, 7:
			kind = errs.Mismatch
		case 8:
			label = 77
		}
		if damaged[id] {
			kind = errs.Corrupt
		}
		if kind != errs.Other {
			if !errors.Is(err, kind) {
				t.Fatalf("record %d: want the kind %v, got %v", id, kind, err)
			}
			return
		}
		if err != nil {
			t.Fatalf("record %d: %v", id, err)
		}
		weights := binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(id)))
		weights = binary.LittleEndian.AppendUint32(weights, math.Float32bits(2))
		got := int64(binary.LittleEndian.Uint64(f.Values[0].Data))
		if got != label || !bytes.Equal(f.Values[1].Data, image) || !bytes.Equal(f.Values[2].Data, weights) {
			t.Fatalf("record %d: label %d, %d bytes, weights % x", id, got, len(f.Values[1].Data), f.Values[2].Data)
		}
	}
	readAll(t, d, check)
	// A byte is changed: in the framing, in a name, in an image, in the checksum.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for id, at := range map[int64]int{10: 3, 11: 9, 12: 25, 13: 5000, 14: starts[15] - starts[14] - 1,
		16: starts[17] - starts[16] - 6} {
		damaged[id] = true
		if _, err := f.WriteAt([]byte{file[starts[id]+at] ^ 1}, int64(starts[id]+at)); err != nil {
			t.Fatal(err)
		}
	}
	readAll(t, d, check)
}

// Large records of RecordIO files are copied from where they lie in memory, of one part or several,
// with one label or several.
func TestLargeRecordIOInMemory(t *testing.T) {
	const n, magic = 40, 0xced7230a
	path := filepath.Join(t.TempDir(), "data.rec")
	var file []byte
	image := func(i int) []byte {
		b := large(i, 12_000+i)
		if i%3 == 0 { // the record has two parts
			binary.LittleEndian.PutUint32(b[4000:], magic)
		}
		return b
	}
	for i := range n {
		payload := binary.LittleEndian.AppendUint32(nil, uint32(i%2*2))
		payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(float32(i)))
		payload = append(payload, make([]byte, 16)...)
		for k := range i % 2 * 2 {
			payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(float32(i+k)))
		}
		file = recordio.Append(file, append(payload, image(i)...))
	}
	if err := os.WriteFile(path, file, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := reader.Open(context.Background(), "mxnet", op.Args{"path": path, "index_path": []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	readAll(t, d, func(id int64, f reader.Fields, err error) {
		if err != nil {
			t.Fatal(err)
		}
		labels, _ := tensor.Of[float32](f.Values[1]) //nolint:errcheck // an empty list is not equal
		want := []float32{float32(id)}
		if id%2 == 1 {
			want = append(want, float32(id+1))
		}
		if !bytes.Equal(f.Values[0].Data, image(int(id))) || !slices.Equal(labels, want) {
			t.Fatalf("record %d: %d bytes, labels %v", id, len(f.Values[0].Data), labels)
		}
	})
}

// Arrays of numpy are the same whether their header is the one before or another, and whether all
// files may be open at once or not.
func TestArraysWithOtherHeaders(t *testing.T) {
	for _, n := range []int{12, 270} {
		dir := t.TempDir()
		heads := []string{
			"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
			"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
			"{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
			"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
		}
		head := func(i int) string { return heads[i%7%len(heads)] }
		for i := range n {
			h := head(i)
			b := append([]byte("\x93NUMPY\x01\x00"), 118, 0)
			b = append(append(b, h...), bytes.Repeat([]byte{' '}, 117-len(h))...)
			b = append(b, '\n')
			for k := range 6 {
				v := math.Float32bits(float32(10*i + k))
				if h == heads[2] {
					b = binary.BigEndian.AppendUint32(b, v)
				} else {
					b = binary.LittleEndian.AppendUint32(b, v)
				}
			}
			if i == 11 {
				b = append(b, "more"...)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.npy", i)), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		d, err := reader.Open(context.Background(), "numpy", op.Args{"file_root": dir})
		if err != nil {
			t.Fatal(err)
		}
		readAll(t, d, func(id int64, f reader.Fields, err error) {
			if err != nil {
				t.Fatal(err)
			}
			shape, order := tensor.Shape{2, 3}, []int{0, 1, 2, 3, 4, 5}
			switch head(int(id)) {
			case heads[1]:
				shape = tensor.Shape{3, 2}
			case heads[3]:
				order = []int{0, 2, 4, 1, 3, 5}
			}
			got, err := tensor.Of[float32](f.Values[0])
			for k, at := range order {
				if err != nil || !f.Values[0].Shape.Equal(shape) || got[k] != float32(10*id)+float32(at) {
					t.Fatalf("array %d: %v of shape %v, %v", id, got, f.Values[0].Shape, err)
				}
			}
		})
		if err := os.WriteFile(filepath.Join(dir, "0003.npy"), []byte("no array"), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Sample(context.Background(), 3); n > 256 && !errors.Is(err, errs.Mismatch) {
			t.Errorf("a replaced file: %v", err)
		}
		d.Close()
	}
}
