package reader_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/readertest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// save writes an array.
func save(t testing.TB, path string, x tensor.Tensor, o *npy.WriteOptions) {
	t.Helper()
	b, err := npy.Encode(x, o)
	if err == nil {
		err = os.WriteFile(path, b, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// cut returns a region of an array, element by element. fill stands for what lies outside.
func cut(x tensor.Tensor, start, size []int, fill float64) []float64 {
	n := 1
	for _, s := range size {
		n *= s
	}
	out := make([]float64, n)
	for i := range out {
		at, rest, inside := 0, i, true
		index := make([]int, len(size))
		for a := len(size) - 1; a >= 0; a-- {
			index[a] = start[a] + rest%size[a]
			rest /= size[a]
			inside = inside && index[a] >= 0 && index[a] < x.Shape[a]
		}
		out[i] = fill
		if inside {
			for a := range index {
				at = at*x.Shape[a] + index[a]
			}
			out[i], _ = op.Number(x, at)
		}
	}
	return out
}

// Regions of arrays of all kinds, small and larger than what is read at once, have the elements
// that they name.
func TestNumpyRegions(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	shapes := [][]int{{7}, {3, 5}, {40, 50}, {300, 70}, {4, 5, 6}, {3, 90, 80}, {2, 3, 4, 5}, {70000}, {5, 1, 7},
		{0, 3}}
	for number := range 160 {
		shape := shapes[number%len(shapes)]
		values := make([]int32, tensor.Shape(shape).Len())
		for i := range values {
			values[i] = r.Int32()
		}
		x := tensor.FromSlice(values, shape...)
		path := filepath.Join(dir, fmt.Sprintf("%d.npy", number))
		save(t, path, x, &npy.WriteOptions{Fortran: number%2 == 1, BigEndian: number%4 > 1})
		args := op.Args{"files": path}
		start, size := make([]int, len(shape)), append([]int(nil), shape...)
		if number%5 > 0 {
			for a, n := range shape {
				start[a], size[a] = 0, n
				if r.IntN(3) > 0 {
					start[a] = r.IntN(n + 1)
					size[a] = r.IntN(n + 1 - start[a])
				}
			}
			if number%5 == 1 {
				for a := range start {
					start[a] -= r.IntN(3)
					size[a] += r.IntN(5)
				}
				args["out_of_bounds_policy"], args["fill_value"] = "pad", 77.0
			}
			args["roi_start"], args["roi_shape"] = start, size
		}
		src, specs, err := openAs("readers.numpy", args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := take(src, specs, 0)
		if err != nil {
			t.Errorf("%d: %v from %v, %v: %v", number, shape, start, size, err)
			continue
		}
		want := cut(x, start, size, 77)
		y := got[0][0]
		if y.Shape.Len() != len(want) {
			t.Errorf("%d: %v, want %v", number, y.Shape, size)
			continue
		}
		for i, w := range want {
			if v, _ := op.Number(y, i); v != w {
				t.Errorf("%d: %v from %v, %v: element %d is %v, want %v", number, shape, start, size, i, v, w)
				break
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Files of another type or rank than the first, and files that are damaged, fail alone.
func TestNumpyFaults(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := readertest.Numpy(dir, 3); err != nil {
		t.Fatal(err)
	}
	save(t, filepath.Join(dir, "a-type.npy"), tensor.FromSlice([]float32{1, 2, 3}, 1, 3), nil)
	save(t, filepath.Join(dir, "b-rank.npy"), tensor.FromSlice([]int32{1, 2, 3}, 3), nil)
	if err := os.WriteFile(filepath.Join(dir, "c-text.npy"), []byte("no array"), 0o666); err != nil {
		t.Fatal(err)
	}
	whole, err := npy.Encode(tensor.FromSlice(make([]int32, 6000), 2000, 3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "d-cut.npy"), whole[:20000], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "e-zero.npy"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	src, specs, err := openAs("readers.numpy", op.Args{"file_root": dir})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	for i, c := range []struct {
		kind errs.Kind
		says string
	}{{}, {}, {}, {errs.Mismatch, "float32"}, {errs.Mismatch, "1 axes"}, {errs.Corrupt, "magic"}, {errs.Corrupt,
		"24000"}, {errs.Corrupt, "magic"}} {
		_, err := take(src, specs, int64(i))
		if c.kind == 0 {
			if err != nil {
				t.Errorf("sample %d: %v", i, err)
			}
			continue
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v with %q", src.Describe(int64(i)), err, c.kind, c.says)
		}
	}
	for name, args := range map[string]op.Args{
		"complex":        {"files": filepath.Join(dir, "z.npy")},
		"first is text":  {"files": filepath.Join(dir, "c-text.npy")},
		"first is empty": {"files": filepath.Join(dir, "e-zero.npy")},
		"no region":      {"file_root": dir, "roi_start": []int{}},
		"pattern":        {"file_root": dir, "file_filter": "["},
		"a file":         {"file_root": filepath.Join(dir, "a-type.npy")},
		"a long line":    {"file_list": filepath.Join(dir, "list.txt")},
	} {
		switch name {
		case "complex":
			save(t, filepath.Join(dir, "z.npy"), tensor.FromSlice([]complex64{1}, 1), nil)
		case "a long line":
			if err := os.WriteFile(filepath.Join(dir, "list.txt"), []byte(strings.Repeat("x", 1<<17)),
				0o666); err != nil {
				t.Fatal(err)
			}
		}
		if src, _, err := openAs("readers.numpy", args); err == nil {
			src.Close()
			t.Errorf("%s: no error", name)
		}
	}
}
