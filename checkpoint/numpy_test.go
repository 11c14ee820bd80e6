package checkpoint_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/tensor"
)

// numpyState is what the archives of the tests hold.
func numpyState() map[string]tensor.Tensor {
	w := tensor.New(tensor.Float32, 30, 40)
	for i := range w.Data {
		w.Data[i] = byte(i * 7)
	}
	return map[string]tensor.Tensor{"enc.w": w, "empty": tensor.New(tensor.Int16, 0, 3),
		"z": tensor.ScalarOf(complex64(complex(1, 2))), "on": tensor.ScalarOf(true)}
}

// writeNpz makes an archive of numpyState, and returns its name.
func writeNpz(t *testing.T, dir string, deflate bool) string {
	t.Helper()
	var b bytes.Buffer
	w := npy.NewArchiveWriter(&b, deflate)
	for name, x := range numpyState() {
		if err := w.Write(name, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "state.npz")
	if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}

// A .npz file is loaded, and converted to every layout, deflated or not.
func TestNumpyArchives(t *testing.T) {
	ctx := context.Background()
	for name, deflate := range map[string]bool{"stored": false, "deflated": true} {
		dir := t.TempDir()
		src := writeNpz(t, dir, deflate)
		for _, l := range allLayouts {
			t.Run(name+"/"+l.String(), func(t *testing.T) {
				dst := filepath.Join(dir, l.String())
				if err := checkpoint.Convert(ctx, src, dst,
					&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}}); err != nil {
					t.Fatal(err)
				}
				if d, err := differences(ctx, nil, src, dst); err != nil || len(d) > 0 {
					t.Fatalf("%v\n%v", err, d)
				}
				for _, path := range []string{src, dst} {
					var got map[string]tensor.Tensor
					if err := checkpoint.LoadInto(ctx, path, &got, nil); err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(numpyState(), got); d != "" {
						t.Error(d)
					}
				}
			})
		}
		r, err := integrity.Verify(ctx, src, nil)
		if err != nil || !r.OK() || r.Leaves != len(numpyState()) {
			t.Errorf("%v, %+v", err, r)
		}
	}
}

// Arrays that are not as a tensor has them are turned around, boxes of them too.
func TestNumpyOrders(t *testing.T) {
	ctx := context.Background()
	x := numpyState()["enc.w"]
	for name, o := range map[string]npy.WriteOptions{"plain": {}, "fortran": {Fortran: true}, "big": {BigEndian: true}} {
		path := filepath.Join(t.TempDir(), "x.npy")
		b, err := npy.Encode(x, &o)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := checkpoint.OpenReader(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, err := r.Leaf("x")
		if err != nil {
			t.Fatal(err)
		}
		got := tensor.New(tensor.Float32, 2, 3)
		if err := r.ReadBox(ctx, l, []int{4, 5}, got.Shape, got.Data); err != nil {
			t.Fatal(err)
		}
		for i := range 2 {
			at := ((4+i)*40 + 5) * 4
			if !bytes.Equal(got.Data[i*12:(i+1)*12], x.Data[at:at+12]) {
				t.Errorf("%s: row %d: %x", name, i, got.Data)
			}
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A flipped bit of an archive is noticed by whatever reads the array, and is not
// converted.
func TestNumpyDamage(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	src := writeNpz(t, dir, false)
	b, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	b[bytes.Index(b, numpyState()["enc.w"].Data)+1000] ^= 4
	if err := os.WriteFile(src, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(ctx, src, nil); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("load: %v", err)
	}
	if r, err := integrity.Verify(ctx, src, nil); err != nil || len(r.Problems) != 1 {
		t.Errorf("verify: %v, %+v", err, r)
	}
	dst := filepath.Join(dir, "dst")
	if err := checkpoint.Convert(ctx, src, dst, nil); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("convert: %v", err)
	}
	if _, err := os.Stat(dst); !os.IsNotExist(err) {
		t.Errorf("something was written: %v", err)
	}
}

// Files of numpy are not checkpoints by lying in a directory, and none is replaced.
func TestNumpyIsNoDirectory(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	src := writeNpz(t, dir, false)
	if checkpoint.IsCheckpoint(ctx, dir, nil) || !checkpoint.IsCheckpoint(ctx, src, nil) {
		t.Error("a directory with one file .npz passes for a checkpoint, or the file does not")
	}
	err := checkpoint.Convert(ctx, filepath.Join(orbaxCases, "v1-shapes", "checkpoint"), src,
		&checkpoint.ConvertOptions{Overwrite: true})
	if err == nil {
		t.Error("a file was replaced with a directory")
	}
	if _, err := checkpoint.Load(ctx, src, nil); err != nil {
		t.Error(err)
	}
}
