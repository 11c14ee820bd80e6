package reader_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/format/safetensors"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/tensor"
)

const arrayFixtures = "../testdata/formats/arrays"

// Rows of files of numpy and safetensors are the rows that were written, in C and Fortran order,
// little-endian and big-endian, stored and compressed.
func TestRowsOfArrays(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(arrayFixtures, "rows.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Rows    []int
		Columns map[string]struct {
			DType string
			Shape []int
			Rows  [][]float64
		}
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	names := []string{"image", "empty", "label", "score"}
	for pattern, reader := range map[string]string{"part-*.safetensors": "readers.safetensors",
		"stored-*.npz": "readers.npz", "packed-*.npz": "readers.npz", "other-*.npz": "readers.npz"} {
		src := must(t, reader, op.Args{"path": filepath.Join(arrayFixtures, pattern), "columns": names})
		all := must(t, reader, op.Args{"path": filepath.Join(arrayFixtures, pattern)})
		if src.Info().Samples != 7 || len(all.specs) != 4 {
			t.Fatalf("%s: %d samples, %d columns", pattern, src.Info().Samples, len(all.specs))
		}
		for id := range int64(7) {
			got := src.get(t, id)
			for o, name := range names {
				c := want.Columns[name]
				wide, err := tensor.Cast(tensor.Float64, got[o])
				if err != nil {
					t.Fatal(err)
				}
				v, _ := tensor.Of[float64](wide)
				if got[o].DType.String() != c.DType || !slices.Equal(got[o].Shape, c.Shape) || !slices.Equal(v, c.Rows[id]) {
					t.Errorf("%s, row %d of %s: %v, want %v", pattern, id, name, got[o], c.Rows[id])
				}
			}
			if by := all.get(t, id); !by[2].Equal(got[2]) { // sorted: empty, image, label, score
				t.Errorf("%s: columns by default: %v", pattern, by)
			}
		}
		if d := src.Describe(3); !strings.Contains(d, "-2.") || !strings.Contains(d, "row 0") {
			t.Errorf("%s: %s", pattern, d)
		}
		if src.Size(0) != 6+4+8 {
			t.Errorf("%s: size %d", pattern, src.Size(0))
		}
	}
}

// savez writes an npz file.
func savez(t *testing.T, path string, deflate bool, arrays map[string]tensor.Tensor) string {
	t.Helper()
	var b bytes.Buffer
	w := npy.NewArchiveWriter(&b, deflate)
	for name, x := range arrays {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A changed element is noticed before its array gives a row, unless verify is off, and a compressed
// array is always verified.
func TestNpzIsVerified(t *testing.T) {
	dir := t.TempDir()
	for _, deflate := range []bool{false, true} {
		v := make([]int64, 1000)
		for i := range v {
			v[i] = int64(i * i)
		}
		path := savez(t, filepath.Join(dir, fmt.Sprintf("%t.npz", deflate)), deflate,
			map[string]tensor.Tensor{"x": tensor.FromSlice(v, len(v))})
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndex(b, []byte("\x04\x00\x00\x00\x00\x00\x00\x00\x09"))
		if deflate {
			z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			start, err := z.File[0].DataOffset()
			if err != nil {
				t.Fatal(err)
			}
			at = int(start) + int(z.File[0].CompressedSize64)/2
		}
		b[at] ^= 4
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		src := must(t, "readers.npz", op.Args{"path": path})
		for range 2 {
			if _, err := src.sample(0); !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "array x") {
				t.Errorf("deflate %t: %v", deflate, err)
			}
		}
		src = must(t, "readers.npz", op.Args{"path": path, "verify": false})
		if _, err := src.sample(0); errors.Is(err, errs.Corrupt) != deflate {
			t.Errorf("deflate %t, without verify: %v", deflate, err)
		}
	}
}

// Many goroutines read compressed arrays within a small cache.
func TestNpzFromManyGoroutines(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for f := range 4 {
		v := make([]int64, 100)
		for i := range v {
			v[i] = int64(100*f + i)
		}
		paths = append(paths, savez(t, filepath.Join(dir, fmt.Sprint(f)), f%2 == 0,
			map[string]tensor.Tensor{"x": tensor.FromSlice(v, 100)}))
	}
	src := must(t, "readers.npz", op.Args{"path": paths, "cache_bytes": 900})
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			for i := range 200 {
				id := int64(i*(g+7)) % 400
				out, err := src.sample(id)
				if err != nil {
					t.Error(err)
					return
				}
				if v, err := tensor.Of[int64](out[0]); err != nil || v[0] != id {
					t.Errorf("row %d: %v, %v", id, v, err)
				}
			}
		})
	}
	group.Wait()
}

// Each mistake is an error that names what is wrong.
func TestArrayMistakes(t *testing.T) {
	dir := t.TempDir()
	save := func(name string, arrays map[string]tensor.Tensor) string {
		var b bytes.Buffer
		if err := safetensors.Write(&b, arrays, nil); err != nil {
			t.Fatal(err)
		}
		return putText(t, dir, name, b.String())
	}
	x := func(shape ...int) tensor.Tensor { return tensor.New(tensor.Int32, shape...) }
	good := save("good", map[string]tensor.Tensor{"image": x(3, 2), "label": x(3)})
	npz := savez(t, filepath.Join(dir, "good.npz"), false, map[string]tensor.Tensor{"image": x(3, 2), "scalar": x()})
	for _, c := range []struct {
		reader string
		args   op.Args
		kind   errs.Kind
		says   string
	}{
		{"safetensors", op.Args{"path": good, "columns": "imgae"}, errs.NotFound, `did you mean "image"?`},
		{"safetensors", op.Args{"path": good, "columns": "zzzzzz"}, errs.NotFound, "image, label"},
		{"safetensors", op.Args{"path": good, "columns": []string{"label", "label"}}, errs.Invalid, "twice"},
		{"safetensors", op.Args{"path": save("none", nil)}, errs.Invalid, "at least one array"},
		{"safetensors", op.Args{"path": save("rows", map[string]tensor.Tensor{"a": x(3), "b": x(4)})}, errs.Mismatch, "array b"},
		{"safetensors", op.Args{"path": save("scalar", map[string]tensor.Tensor{"a": x()})}, errs.Unsupported, "a scalar"},
		{"safetensors", op.Args{"path": save("empty", map[string]tensor.Tensor{"a": x(0, 2)})}, errs.Invalid, "at least one row"},
		{"safetensors", op.Args{"path": save("f4", map[string]tensor.Tensor{"a": tensor.New(tensor.Float4E2M1FN, 2, 2)})}, errs.Unsupported, "whole bytes"},
		{"safetensors", op.Args{"path": []string{good, save("other", map[string]tensor.Tensor{"image": x(3, 3), "label": x(3)})}}, errs.Mismatch, "other, array image"},
		{"safetensors", op.Args{"path": []string{good, save("lacks", map[string]tensor.Tensor{"image": x(3, 2)})}}, errs.NotFound, "lacks"},
		{"safetensors", op.Args{"path": npz}, errs.Corrupt, "good.npz"},
		{"safetensors", op.Args{"path": putText(t, dir, "cut", "\xff\x00\x00\x00\x00\x00\x00\x00{")}, errs.Corrupt, "cut"},
		{"npz", op.Args{"path": good}, errs.Corrupt, "good"},
		{"npz", op.Args{"path": npz, "columns": "scalar"}, errs.Unsupported, "a scalar"},
		{"npz", op.Args{"path": npz, "columns": "image", "num_shards": 0}, errs.Invalid, "num_shards"},
		{"npz", op.Args{"path": filepath.Join(dir, "nothing.npz")}, errs.NotFound, "nothing.npz"},
	} {
		_, err := try(t, "readers."+c.reader, c.args)
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s %v: %v, want %v that says %q", c.reader, c.args, err, c.kind, c.says)
		}
	}
	// Other contents have another fingerprint, and a copy has the same.
	a, b := x(3), x(3)
	b.Data[8] = 1
	p := func(name string, x tensor.Tensor) string {
		return must(t, "readers.safetensors",
			op.Args{"path": save(name, map[string]tensor.Tensor{"x": x})}).Info().Fingerprint
	}
	if p("1", a) == p("2", b) || p("3", a) != p("4", a) {
		t.Error("fingerprints do not tell contents")
	}
}
