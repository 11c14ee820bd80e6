package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

const flaxFiles = "testdata/flax"

// flaxTree is what flax.serialization 0.12.8 wrote as checkpoint_7, with arrays in
// chunks of 16 bytes.
func flaxTree() *tree.Node {
	big := make([]int32, 12)
	for i := range big {
		big[i] = int32(i)
	}
	c := tensor.New(tensor.Complex128)
	copy(c.Data, append(tensor.ScalarOf(2.0).Data, tensor.ScalarOf(3.0).Data...))
	return tree.NewDict().
		Set("params", tree.NewDict().
			Set("w", tree.NewLeaf(tensor.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 2, 3))).
			Set("b", tree.NewLeaf(tensor.Tensor{DType: tensor.BFloat16, Shape: tensor.Shape{2},
				Data: []byte{0xc0, 0x3f, 0x00, 0xc0}}))).
		Set("step", tree.NewLeaf(7)).Set("lr", tree.NewLeaf(0.5)).Set("neg", tree.NewLeaf(-300)).Set("on",
		tree.NewLeaf(true)).
		Set("name", tree.NewLeaf("run")).Set("none", tree.NewLeaf(nil)).
		Set("list", tree.NewList(tree.NewLeaf(1), tree.NewLeaf("x"))).Set("empty", tree.NewDict()).
		Set("c", tree.NewLeaf(c)).Set("np", tree.NewLeaf(tensor.ScalarOf(float32(0.25)))).
		Set("big", tree.NewLeaf(tensor.FromSlice(big, 3, 4)))
}

// What Flax saved by itself loads, and what Orbax saved before it had _METADATA.
func TestFlax(t *testing.T) {
	ctx := context.Background()
	legacy := tree.NewDict().
		Set("params", tree.NewDict().Set("w", tree.NewLeaf(tensor.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 2, 3)))).
		Set("step", tree.NewLeaf(3)).Set("t", tree.NewList(tree.NewLeaf(1), tree.NewLeaf(tensor.ScalarOf(float32(2.5)))))
	for name, want := range map[string]*tree.Node{"checkpoint_7": flaxTree(), "legacy": legacy} {
		at := filepath.Join(flaxFiles, name)
		got, err := checkpoint.Load(ctx, at, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := tree.Diff(want, got); len(d) > 0 {
			t.Errorf("%s: %s", name, tree.FormatDiff(d))
		}
		info, err := checkpoint.Metadata(ctx, at, nil)
		if err != nil || info.Layout != "flax" {
			t.Errorf("%s: metadata %+v, %v", name, info, err)
		}
		dst := filepath.Join(t.TempDir(), "converted")
		if err := checkpoint.Convert(ctx, at, dst, nil); err != nil {
			t.Errorf("%s: convert: %v", name, err)
			continue
		}
		if got, err := checkpoint.Load(ctx, dst, nil); err != nil || !tree.Equal(want, got) {
			t.Errorf("%s: converted: %v", name, err)
		}
	}
}

func TestFlaxBox(t *testing.T) {
	want := tensor.FromSlice([]int32{5, 6, 9, 10}, 2, 2)
	r, err := checkpoint.OpenReader(context.Background(), filepath.Join(flaxFiles, "checkpoint_7"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	l, err := r.Leaf("big")
	got := tensor.New(tensor.Int32, 2, 2)
	if err = errors.Join(err, r.ReadBox(context.Background(), l, []int{1, 1}, []int{2, 2}, got.Data)); err != nil ||
		string(got.Data) != string(want.Data) {
		t.Errorf("box: got %v, %v", got.Data, err)
	}
}

// A file that was cut, and an array that is not where its placeholder says, are damage.
func TestFlaxDamage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(flaxFiles, "checkpoint_7"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for n := range b {
		file := filepath.Join(dir, "cut.msgpack")
		if err := os.WriteFile(file, b[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := checkpoint.Load(context.Background(), file, nil); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("cut at %d: %v", n, err)
		}
	}
	legacy := filepath.Join(dir, "legacy")
	if err := errors.Join(os.CopyFS(legacy, os.DirFS(filepath.Join(flaxFiles, "legacy"))),
		os.RemoveAll(filepath.Join(legacy, "params.w"))); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Load(context.Background(), legacy, nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("without the array: %v", err)
	}
}
