package checkpoint_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// every leaf that can be saved, and every container.
func everything() *tree.Node {
	big := make([]float32, 3<<20) // several sub-chunks
	for i := range big {
		big[i] = float32(i) * 0.5
	}
	prime := make([]uint8, 9<<20+7) // sub-chunks that do not divide it
	for i := range prime {
		prime[i] = uint8(i * 7)
	}
	d := tree.NewDict()
	d.Set("big", tree.NewLeaf(tensor.FromSlice(big, 3, 1<<20)))
	d.Set("prime", tree.NewLeaf(tensor.FromSlice(prime, len(prime))))
	d.Set("small", tree.NewLeaf(tensor.FromSlice([]int16{-1, 2, 3}, 3)))
	d.Set("empty array", tree.NewLeaf(tensor.New(tensor.Float32, 0, 3)))
	d.Set("rank 0", tree.NewLeaf(tensor.ScalarOf(float32(2.5))))
	d.Set("names/with.dots'and\"quotes\"\n", tree.NewLeaf(tensor.FromSlice([]bool{true, false}, 2)))
	d.Set("i", tree.NewLeaf(int64(math.MinInt64)))
	d.Set("u", tree.NewLeaf(uint64(math.MaxUint64)))
	d.Set("f", tree.NewLeaf(math.Inf(-1)))
	d.Set("b", tree.NewLeaf(true))
	d.Set("s", tree.NewLeaf("text <&> ü"))
	d.Set("nil", tree.NewLeaf(nil))
	d.Set("dict", tree.NewDict())
	d.Set("list", tree.NewList(tree.NewLeaf("a"), tree.NewList(), tree.NewDict().Set("x", tree.NewLeaf(int64(1)))))
	for _, dt := range []tensor.DType{tensor.BFloat16, tensor.Float8E4M3FN, tensor.Int4, tensor.Complex128} {
		t := tensor.New(dt, 2, 2)
		t.Data[0] = 1
		d.Set(dt.String(), tree.NewLeaf(t))
	}
	return d
}

func TestSaveLoad(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "ckpt")
	want := everything()
	if err := checkpoint.Save(ctx, path, want, &checkpoint.SaveOptions{Custom: map[string]any{"note": "hi"}}); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(want, got); len(d) > 0 {
		t.Errorf("loaded differs:\n%s", tree.FormatDiff(d))
	}
	r, err := integrity.Verify(ctx, path, nil)
	if err != nil || !r.OK() || !r.Manifest {
		t.Errorf("verify: %v, %+v", err, r)
	}
	in, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(in.Custom) != `{"note":"hi"}` || in.Layout != "orbax v1" || len(in.Items) != 1 {
		t.Errorf("metadata: %+v", in)
	}
}

func TestSaveLoadLaw(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		want := drawTree(t, 3)
		n++
		path := filepath.Join(dir, string(rune('a'+n%26)), "c"+rapid.StringMatching("[a-z]{12}").Draw(t, "name"))
		err := checkpoint.Save(ctx, path, want, nil)
		if errors.Is(err, errs.Invalid) || errors.Is(err, errs.Exists) {
			return // colliding names, an empty tree
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(ctx, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(want, got); len(d) > 0 {
			t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
		}
		os.RemoveAll(path)
	})
}

// drawTree draws a tree of dictionaries, lists and leaves.
func drawTree(t *rapid.T, depth int) *tree.Node {
	switch k := rapid.IntRange(0, 9).Draw(t, "kind"); {
	case depth > 0 && k < 3:
		d := tree.NewDict()
		for _, key := range rapid.SliceOfNDistinct(rapid.String(), 0, 4, rapid.ID[string]).Draw(t, "keys") {
			d.Set(key, drawTree(t, depth-1))
		}
		return d
	case depth > 0 && k < 5:
		l := tree.NewList()
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			l.Items = append(l.Items, drawTree(t, depth-1))
		}
		return l
	case k == 5:
		return tree.NewLeaf(rapid.Int64().Draw(t, "int"))
	case k == 6:
		return tree.NewLeaf(rapid.String().Draw(t, "string"))
	case k == 7:
		return tree.NewLeaf(rapid.Float64().Draw(t, "float"))
	}
	dt := rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Uint8, tensor.BFloat16, tensor.Int64}).Draw(t, "dtype")
	shape := rapid.SliceOfN(rapid.IntRange(0, 9), 0, 4).Draw(t, "shape")
	x := tensor.New(dt, shape...)
	for i := range x.Data {
		x.Data[i] = byte(i*31 + 1)
	}
	return tree.NewLeaf(x)
}
