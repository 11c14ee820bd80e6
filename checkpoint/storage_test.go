package checkpoint_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// However each leaf is stored, all are given back; no chunk is much larger than
// was asked for, and none of an axis that was named is as long as the axis.
func TestLeafStorageLaw(t *testing.T) {
	layouts := []checkpoint.Layout{checkpoint.Default, checkpoint.OCDBTZarr2, checkpoint.PlainZarr3, checkpoint.PlainZarr2}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		root, how := tree.NewDict(), map[string]checkpoint.LeafStorage{}
		for _, name := range []string{"a", "b", "c"} {
			shape := rapid.SampledFrom([]tensor.Shape{{}, {700}, {3, 5, 7}, {611, 300}, {64, 9, 512}}).Draw(t, "shape")
			root.Set(name, tree.NewLeaf(noise(r, tensor.Float32, shape...)))
			how[name] = checkpoint.LeafStorage{
				Compression: rapid.SampledFrom([]checkpoint.Compression{checkpoint.Uncompressed, checkpoint.Zstd, checkpoint.ByteSplit}).Draw(t, "compression"),
				ShardAxes:   rapid.SliceOfNDistinct(rapid.IntRange(0, 3), 0, 2, rapid.ID[int]).Draw(t, "axes"),
				ChunkBytes:  rapid.SampledFrom([]int{0, 4, 900, 10_000, 100_000, 1 << 25}).Draw(t, "chunk"),
			}
		}
		o := checkpoint.SaveOptions{Store: local.New(vfs.NewMem(), "/", nil), Layout: rapid.SampledFrom(layouts).Draw(t, "layout")}
		o.Leaf = func(l checkpoint.LeafInfo, _ checkpoint.LeafStorage) (checkpoint.LeafStorage, error) {
			s := how[l.Param]
			if s.ChunkBytes > 0 && l.Bytes() > 1<<10*int64(s.ChunkBytes) {
				s.ChunkBytes = 900 // more would be a minute of tiny files
			}
			return s, nil
		}
		m := manner(rapid.IntRange(0, int(manners)-1).Draw(t, "manner"))
		if err := saveIn(t.Context(), m, root, o); err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(root, got); len(d) > 0 {
			t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
		}
		report, err := checkpoint.Verify(t.Context(), "c", &checkpoint.VerifyOptions{Store: o.Store})
		if err != nil || !report.OK() {
			t.Fatalf("%+v, %v", report, err)
		}
		for _, l := range leafInfos(t, o) {
			s, _ := o.Leaf(l, checkpoint.LeafStorage{})
			limit := 2 * max(s.ChunkBytes, 4)
			if s.ChunkBytes == 0 {
				limit = 8 << 20
			}
			if n := tensor.Shape(l.ReadShape).Len() * 4; n > limit && len(l.Shape) > 0 {
				t.Errorf("%s, %+v: %v is read at once", l.Param, s, l.ReadShape)
			}
			for _, axis := range s.ShardAxes {
				if axis < len(l.Shape) && l.Bytes() >= 1<<20 && len(s.ShardAxes) == 1 && l.ReadShape[axis] == l.Shape[axis] {
					t.Errorf("%s, %+v: %v of %v", l.Param, s, l.ReadShape, l.Shape)
				}
			}
		}
	})
}

// leafInfos describes the leaves of the checkpoint c.
func leafInfos(t rapid.TB, o checkpoint.SaveOptions) []checkpoint.LeafInfo {
	t.Helper()
	info, err := checkpoint.Metadata(context.Background(), "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil {
		t.Fatal(err)
	}
	return info.Items[0].Leaves
}

// stored saves two equal arrays and returns what is known of them, and the bytes
// of the checkpoint.
func stored(t *testing.T, o checkpoint.SaveOptions) (map[string]checkpoint.LeafInfo, int) {
	t.Helper()
	x := grid(512, 2048) // 4 MiB
	o.Store = local.New(vfs.NewMem(), "/", nil)
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"one": x, "two": x}, &o); err != nil {
		t.Fatal(err)
	}
	size := 0
	for _, b := range allFiles(t, o) {
		size += len(b)
	}
	out := map[string]checkpoint.LeafInfo{}
	for _, l := range leafInfos(t, o) {
		out[l.Param] = l
	}
	return out, size
}

// Each option of one leaf changes that leaf alone, in every layout, and is given
// to the function when it is set for all.
func TestLeafStorage(t *testing.T) {
	for _, l := range []checkpoint.Layout{checkpoint.Default, checkpoint.OCDBTZarr2, checkpoint.PlainZarr3, checkpoint.PlainZarr2} {
		for name, c := range map[string]struct {
			storage checkpoint.LeafStorage
			read    []int // of the leaf
			smaller bool  // than half of the checkpoint's size without it, for both
		}{
			"ChunkBytes":  {checkpoint.LeafStorage{ChunkBytes: 1 << 20}, []int{128, 2048}, false},
			"ShardAxes":   {checkpoint.LeafStorage{ShardAxes: []int{1}}, []int{512, 64}, false},
			"Compression": {checkpoint.LeafStorage{Compression: checkpoint.ByteSplit}, []int{512, 2048}, true},
		} {
			plain, size := stored(t, checkpoint.SaveOptions{Layout: l})
			one, oneSize := stored(t, checkpoint.SaveOptions{Layout: l, Leaf: checkpoint.StorageByPath(checkpoint.StorageRule{Pattern: "one", LeafStorage: c.storage})})
			if !slices.Equal(one["one"].ReadShape, c.read) || !slices.Equal(one["two"].ReadShape, plain["two"].ReadShape) {
				t.Errorf("%v, %s: %v and %v are read at once", l, name, one["one"].ReadShape, one["two"].ReadShape)
			}
			if small := oneSize < size*3/4; small != c.smaller || oneSize < size/3 {
				t.Errorf("%v, %s: %d bytes, %d without", l, name, oneSize, size)
			}
			o := checkpoint.SaveOptions{Layout: l, Compression: c.storage.Compression, ShardAxes: c.storage.ShardAxes, ChunkBytes: c.storage.ChunkBytes}
			all, allSize := stored(t, o)
			o.Leaf = func(leaf checkpoint.LeafInfo, given checkpoint.LeafStorage) (checkpoint.LeafStorage, error) {
				if d := cmp.Diff(c.storage, given); d != "" {
					t.Errorf("%s is given another storage than all: %s", leaf.Param, d)
				}
				if leaf.DType != tensor.Int32 || !slices.Equal(leaf.Shape, []int{512, 2048}) || leaf.Param != leaf.Path.Param() || leaf.Kind != checkpoint.ArrayLeaf {
					t.Errorf("told of %+v", leaf)
				}
				if leaf.Param == "one" {
					return checkpoint.LeafStorage{}, nil
				}
				return given, nil
			}
			but, butSize := stored(t, o)
			if !slices.Equal(all["one"].ReadShape, c.read) || !slices.Equal(but["two"].ReadShape, c.read) || !slices.Equal(but["one"].ReadShape, plain["one"].ReadShape) {
				t.Errorf("%v, %s of all: %v; but one: %v", l, name, all, but)
			}
			if c.smaller && butSize < allSize*3/2 {
				t.Errorf("%v, %s of all: %d bytes, but one: %d", l, name, allSize, butSize)
			}
		}
	}
}

// What a layout has no place for, or makes no sense, is refused; the error names
// leaf and option.
func TestLeafStorageRefused(t *testing.T) {
	for name, c := range map[string]struct {
		layout  checkpoint.Layout
		storage checkpoint.LeafStorage
		kind    errs.Kind
	}{
		"Compression of no kind":     {0, checkpoint.LeafStorage{Compression: 9}, errs.Invalid},
		"ShardAxes below zero":       {0, checkpoint.LeafStorage{ShardAxes: []int{-1}}, errs.Invalid},
		"ChunkBytes below zero":      {0, checkpoint.LeafStorage{ChunkBytes: -1}, errs.Invalid},
		"ChunkBytes above 1 GiB":     {0, checkpoint.LeafStorage{ChunkBytes: 1<<30 + 1}, errs.Invalid},
		"ChunkBytes of half of it":   {0, checkpoint.LeafStorage{ChunkBytes: 2}, errs.Invalid},
		"ChunkBytes of millions":     {0, checkpoint.LeafStorage{ChunkBytes: 4}, errs.Invalid},
		"Compression in safetensors": {checkpoint.Safetensors, checkpoint.LeafStorage{Compression: checkpoint.Zstd}, errs.Unsupported},
		"ShardAxes in safetensors":   {checkpoint.Safetensors, checkpoint.LeafStorage{ShardAxes: []int{0}}, errs.Unsupported},
		"ChunkBytes in safetensors":  {checkpoint.Safetensors, checkpoint.LeafStorage{ChunkBytes: 1 << 20}, errs.Unsupported},
	} {
		option, _, _ := strings.Cut(name, " ")
		state := map[string]any{"the leaf": tensor.New(tensor.Float32, 1025, 1024)}
		for _, o := range []*checkpoint.SaveOptions{
			{Leaf: checkpoint.StorageByPath(checkpoint.StorageRule{Pattern: "**", LeafStorage: c.storage})},
			{Compression: c.storage.Compression, ShardAxes: c.storage.ShardAxes, ChunkBytes: c.storage.ChunkBytes},
		} {
			o.Store, o.Layout = local.New(vfs.NewMem(), "/", nil), c.layout
			err := checkpoint.Save(t.Context(), "c", state, o)
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), option) || o.Leaf != nil && !strings.Contains(err.Error(), "the leaf") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	mine := errors.New("not this one")
	err := checkpoint.Save(t.Context(), "c", map[string]any{"w": small()}, &checkpoint.SaveOptions{
		Store: local.New(vfs.NewMem(), "/", nil),
		Leaf: func(checkpoint.LeafInfo, checkpoint.LeafStorage) (checkpoint.LeafStorage, error) {
			return checkpoint.LeafStorage{}, mine
		},
	})
	if !errors.Is(err, mine) {
		t.Errorf("%v", err)
	}
}

// Patterns match keys, not text: dots and slashes within keys separate nothing.
func TestStorageByPath(t *testing.T) {
	state := tree.NewDict().Set("w", tree.NewLeaf(small())).Set("a.b", tree.NewLeaf(small())).Set("x/y", tree.NewLeaf(small())).
		Set("layers", tree.NewList(tree.NewDict().Set("w", tree.NewLeaf(small())), tree.NewDict().Set("w", tree.NewLeaf(small())).Set("bias", tree.NewLeaf(small()))))
	for pattern, want := range map[string][]string{
		"w":             {"w"},
		"*":             {"a.b", "w", "x/y"},
		"**":            {"a.b", "layers.0.w", "layers.1.bias", "layers.1.w", "w", "x/y"},
		"**/w":          {"layers.0.w", "layers.1.w", "w"},
		"layers/*/w":    {"layers.0.w", "layers.1.w"},
		"layers/1/*":    {"layers.1.bias", "layers.1.w"},
		"layers/**":     {"layers.0.w", "layers.1.bias", "layers.1.w"},
		"layers/1/**/w": {"layers.1.w"},
		"x?y":           {"x/y"},
		"a/b":           nil,
		"x/y":           nil,
		"layers":        nil,
		"":              nil,
	} {
		var got []string
		rules := checkpoint.StorageByPath(checkpoint.StorageRule{Pattern: pattern, LeafStorage: checkpoint.LeafStorage{ChunkBytes: 64}},
			checkpoint.StorageRule{Pattern: "**", LeafStorage: checkpoint.LeafStorage{ChunkBytes: 128}})
		o := &checkpoint.SaveOptions{Store: local.New(vfs.NewMem(), "/", nil), Leaf: func(l checkpoint.LeafInfo, all checkpoint.LeafStorage) (checkpoint.LeafStorage, error) {
			s, err := rules(l, all)
			if s.ChunkBytes == 64 {
				got = append(got, l.Param)
			}
			return s, err
		}}
		if err := checkpoint.Save(t.Context(), "c", state, o); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
	o := &checkpoint.SaveOptions{Store: local.New(vfs.NewMem(), "/", nil), Leaf: checkpoint.StorageByPath(checkpoint.StorageRule{Pattern: "lay[ers"})}
	if err := checkpoint.Save(t.Context(), "c", state, o); errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "lay[ers") {
		t.Errorf("a malformed pattern: %v", err)
	}
}

// Compressed arrays of format 3 lie in few files without a database, and a
// column of one reads little more than itself.
func TestCompressedShards(t *testing.T) {
	const rows, columns = 6000, 4096
	x := grid(rows, columns) // 94 MiB, 24 sub-chunks
	for axes, most := range map[int]int{0: 8, 1: 8} {
		st := countingStore{local.New(vfs.NewMem(), "/", nil), &atomic.Int64{}}
		o := checkpoint.SaveOptions{Store: st, Layout: checkpoint.PlainZarr3, Compression: checkpoint.Zstd, ShardAxes: []int{axes}}
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": x}, &o); err != nil {
			t.Fatal(err)
		}
		chunks, whole := 0, 0
		for name, b := range allFiles(t, o) {
			if strings.HasPrefix(name, "state/x/c/") {
				chunks++
				whole += len(b)
			}
		}
		if chunks > most || chunks < 2 {
			t.Errorf("axis %d: %d files", axes, chunks)
		}
		st.read.Store(0)
		box := split(rows, columns, 4, axes)[1]
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st, Want: func(checkpoint.LeafInfo) checkpoint.Want {
			return checkpoint.Want{Boxes: []checkpoint.Box{box}}
		}})
		if err != nil {
			t.Fatal(err)
		}
		w, _ := n.Get("x").Tensor()
		checkPart(t, w, box, columns)
		if a := 4 * float64(st.read.Load()) / float64(whole); a > 1.3 {
			t.Errorf("axis %d: %.3f bytes read for each wanted, at most 1.3", axes, a)
		}
	}
}

// In little memory shards are smaller; the arrays are saved all the same.
func TestCompressedShardsInLittleMemory(t *testing.T) {
	x := grid(3000, 4096) // 47 MiB
	for budget, most := range map[int64]int{0: 4, 12 << 20: 12, 64 << 20: 6} {
		for _, m := range []manner{waiting, streaming} {
			o := checkpoint.SaveOptions{Store: local.New(vfs.NewMem(), "/", nil), Layout: checkpoint.PlainZarr3, Compression: checkpoint.Zstd, MemoryBudget: budget}
			state := tree.NewDict().Set("x", tree.NewLeaf(x))
			if err := saveIn(t.Context(), m, state, o); err != nil {
				t.Fatalf("%d bytes: %v", budget, err)
			}
			checkSaved(t, o, state)
			n := 0
			for name := range allFiles(t, o) {
				if strings.HasPrefix(name, "state/x/c/") {
					n++
				}
			}
			if n > most || n < most/2 {
				t.Errorf("%d bytes: %d files", budget, n)
			}
		}
	}
}
