package checkpoint_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// ptFile writes a file of torch.save with one tensor of float32 in rows of 1024, and returns its
// path, its elements and where they begin. Of a transposed tensor, the elements lie by columns.
func ptFile(t *testing.T, rows int, transposed bool) (path string, x tensor.Tensor, start int64) {
	t.Helper()
	const columns = 1024
	x = tensor.New(tensor.Float32, rows, columns)
	stored := x.Data
	for i := range rows * columns {
		binary.LittleEndian.PutUint32(x.Data[4*i:], math.Float32bits(float32(i%65521)))
	}
	strides := [2]int{columns, 1}
	if transposed {
		strides = [2]int{1, rows}
		stored = make([]byte, len(x.Data))
		for i := range rows {
			for j := range columns {
				copy(stored[4*(j*rows+i):][:4], x.Data[4*(i*columns+j):])
			}
		}
	}
	path = filepath.Join(t.TempDir(), "x.pt")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := zip.NewWriter(f)
	value := fmt.Sprintf("ctorch._utils\n_rebuild_tensor_v2\n((Vstorage\nctorch\nFloatStorage\nV0\nVcpu\nI%d\nt"+
		"QI0\n(I%d\nI%d\nt"+
		"(I%d\nI%d\ntI00\nccollections\nOrderedDict\n)RtR.", rows*columns, rows, columns, strides[0], strides[1])
	for _, m := range []struct {
		name string
		b    []byte
	}{{"x/data.pkl", []byte(value)}, {"x/data/0", stored}} {
		to, err := w.CreateHeader(&zip.FileHeader{Name: m.name, Method: zip.Store})
		if err == nil {
			_, err = to.Write(m.b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	if start, err = r.File[1].DataOffset(); err != nil {
		t.Fatal(err)
	}
	return path, x, start
}

// A chunk that is too large to be read at once is read in pieces, and compared with its checksum
// all the same.
func TestLargeChunks(t *testing.T) {
	ctx := context.Background()
	const rows = 9 << 10 // 36 MiB
	for _, transposed := range []bool{false, true} {
		path, x, start := ptFile(t, rows, transposed)
		got, err := checkpoint.Load(ctx, path, nil)
		if err != nil || !got.Get("x").Value.(tensor.Tensor).Equal(x) {
			t.Fatalf("load: %v", err)
		}
		wide, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{
			Abstract: map[string]any{"x": checkpoint.Abstract{DType: tensor.Float64}}})
		if err != nil {
			t.Fatalf("load as another type: %v", err)
		}
		d := wide.Get("x").Value.(tensor.Tensor)
		if v := math.Float64frombits(binary.LittleEndian.Uint64(d.Data[8*70000:])); v != 70000%65521 {
			t.Errorf("element 70000 is %v", v)
		}
		boxes := []checkpoint.Box{{Origin: []int{0, 0}, Shape: []int{1, 1}},
			{Origin: []int{100, 1000}, Shape: []int{9000, 3}},
			{Origin: []int{7, 0}, Shape: []int{2, 1024}}, {Origin: []int{1, 5}, Shape: []int{3000, 700}}}
		parts, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{
			Want: func(checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Boxes: boxes} }})
		if err != nil {
			t.Fatalf("boxes: %v", err)
		}
		for i, b := range boxes {
			if p := parts.Get("x").Value.(checkpoint.Parts)[i]; !bytes.Equal(p.Data, boxOf(x, b.Origin, b.Shape)) {
				t.Errorf("box %v", b)
			}
		}
		if r, err := integrity.Verify(ctx, path, nil); err != nil || !r.OK() || r.Share() < 0.99 {
			t.Errorf("verify: %+v, %v", r, err)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []int64{start, start + 20<<20, start + int64(len(x.Data)) - 1} {
			b[at] ^= 1
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			for what, o := range map[string]*checkpoint.LoadOptions{"whole": nil,
				"cast": {Abstract: map[string]any{"x": checkpoint.Abstract{DType: tensor.Float64}}}} {
				if _, err := checkpoint.Load(ctx, path, o); !errors.Is(err, errs.Corrupt) {
					t.Errorf("byte %d, %s: %v", at-start, what, err)
				}
			}
			if r, err := integrity.Verify(ctx, path, nil); err != nil || r.OK() {
				t.Errorf("byte %d: verify: %v", at-start, err)
			}
			dst := filepath.Join(t.TempDir(), "converted")
			if err := checkpoint.Convert(ctx, path, dst, nil); !errors.Is(err, errs.Corrupt) {
				t.Errorf("byte %d: convert: %v", at-start, err)
			}
			b[at] ^= 1
		}
	}
}
