package checkpoint_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// drawAxes draws axes that an array of a rank has.
func drawAxes(t *rapid.T, rank int) []int {
	if rank == 0 {
		return nil
	}
	return rapid.SliceOfNDistinct(rapid.IntRange(0, rank-1), 0, min(rank, 2), rapid.ID[int]).Draw(t, "axes")
}

// However each leaf is stored, all are given back; no chunk is much larger than
// was asked for, and none of an axis that was named is as long as the axis.
func TestLeafStorageLaw(t *testing.T) {
	t.Parallel()
	layouts := []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2}
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		root, how := tree.NewDict(), map[string]options.LeafStorage{}
		for _, name := range []string{"a", "b", "c"} {
			shape := rapid.SampledFrom([]tensor.Shape{{}, {700}, {3, 5, 7}, {611, 300}, {64, 9, 512}}).Draw(t, "shape")
			root.Set(name, tree.NewLeaf(noise(r, tensor.Float32, shape...)))
			s := options.LeafStorage{
				Match: name, Compression: rapid.SampledFrom(allCompressions).Draw(t, "compression"),
				Storage: options.Storage{
					ShardAxes:     drawAxes(t, len(shape)),
					ChunkByteSize: rapid.SampledFrom([]int64{0, 4, 900, 10_000, 100_000, 1 << 25}).Draw(t, "chunk"),
				},
			}
			if n := s.Storage.ChunkByteSize; n > 0 && int64(shape.Len())*4 > n<<10 {
				s.Storage.ChunkByteSize = 900 // more would be a minute of tiny files
			}
			how[name] = s
		}
		o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: rapid.SampledFrom(layouts).Draw(t, "layout")}}, Store: local.New(vfstest.NewMem(), "/", nil)}
		o.LeafStorage = slices.Collect(maps.Values(how))
		if rapid.Bool().Draw(t, "by function") {
			for i := range o.LeafStorage {
				o.LeafStorage[i].Storage = options.Storage{}
			}
			o.Array.Saving.ScopedStorage = func(key tree.Path, _ any) *options.Storage {
				s := how[key.Param()].Storage
				return &s
			}
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
		report, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: o.Store})
		if err != nil || !report.OK() {
			t.Fatalf("%+v, %v", report, err)
		}
		for _, l := range leafInfos(t, o) {
			s := how[l.Param].Storage
			limit := 2 * max(s.ChunkByteSize, 4)
			if s.ChunkByteSize == 0 {
				limit = 8 << 20
			}
			if n := tensor.Shape(l.ReadShape).Len() * 4; int64(n) > limit && len(l.Shape) > 0 {
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
	o.Store = local.New(vfstest.NewMem(), "/", nil)
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

// Each option of one leaf changes that leaf alone, in every layout, also where
// another one is set for all.
func TestLeafStorage(t *testing.T) {
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2} {
		for name, c := range map[string]struct {
			storage options.LeafStorage
			read    []int // of the leaf
			smaller bool  // than half of the checkpoint's size without it, for both
		}{
			"ChunkByteSize": {options.LeafStorage{Storage: options.Storage{ChunkByteSize: 1 << 20}}, []int{128, 2048}, false},
			"ShardAxes":     {options.LeafStorage{Storage: options.Storage{ShardAxes: []int{1}}}, []int{512, 64}, false},
			"Compression":   {options.LeafStorage{Compression: options.ByteSplit}, []int{512, 2048}, true},
		} {
			plain, size := stored(t, checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}})
			c.storage.Match = "one"
			one, oneSize := stored(t, checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l,
				LeafStorage: []options.LeafStorage{c.storage}}}})
			if !slices.Equal(one["one"].ReadShape, c.read) || !slices.Equal(one["two"].ReadShape, plain["two"].ReadShape) {
				t.Errorf("%v, %s: %v and %v are read at once", l, name, one["one"].ReadShape, one["two"].ReadShape)
			}
			if small := oneSize < size*3/4; small != c.smaller || oneSize < size/3 {
				t.Errorf("%v, %s: %d bytes, %d without", l, name, oneSize, size)
			}
			o := checkpoint.SaveOptions{Options: forAll(c.storage)}
			o.Layout = l
			all, allSize := stored(t, o)
			o.LeafStorage = []options.LeafStorage{{Match: "one",
				Storage: options.Storage{ChunkByteSize: 4 << 20, ShardAxes: []int{}}, Compression: options.Uncompressed}}
			told := map[string]bool{}
			o.Array.Saving.ScopedStorage = func(key tree.Path, leaf any) *options.Storage {
				told[key.Param()] = true
				if leaf, ok := leaf.(tensor.Spec); !ok || leaf.DType != tensor.Int32 ||
					!slices.Equal(leaf.Shape, []int{512, 2048}) {
					t.Errorf("told of %v", leaf)
				}
				return nil
			}
			but, butSize := stored(t, o)
			if !slices.Equal(all["one"].ReadShape, c.read) || !slices.Equal(but["two"].ReadShape, c.read) ||
				!slices.Equal(but["one"].ReadShape, plain["one"].ReadShape) {
				t.Errorf("%v, %s of all: %v; but one: %v", l, name, all, but)
			}
			if !told["one"] || !told["two"] {
				t.Errorf("told of %v", told)
			}
			if c.smaller && butSize < allSize*3/2 {
				t.Errorf("%v, %s of all: %d bytes, but one: %d", l, name, allSize, butSize)
			}
		}
	}
}

// forAll are the options that store all arrays so.
func forAll(s options.LeafStorage) checkpoint.Options {
	return options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: s.Storage}},
		Bivouac: options.Bivouac{Compression: s.Compression}}
}

// What a layout has no place for, or makes no sense, is refused; the error names
// leaf and option.
func TestLeafStorageRefused(t *testing.T) {
	for name, c := range map[string]struct {
		layout  options.Layout
		storage options.LeafStorage
		kind    errs.Kind
	}{
		"compression of no kind":       {0, options.LeafStorage{Compression: 9}, errs.Invalid},
		"shard_axes below zero":        {0, axes(-1), errs.Invalid},
		"chunk_byte_size below zero":   {0, chunks(-1), errs.Invalid},
		"ChunkByteSize above 1 GiB":    {0, chunks(1<<30 + 1), errs.Invalid},
		"ChunkByteSize above 2 GiB":    {0, chunks(1<<31 + 1), errs.Invalid},
		"ChunkByteSize of half of it":  {0, chunks(2), errs.Invalid},
		"ChunkByteSize of millions":    {0, chunks(4), errs.Invalid},
		"Compression in safetensors":   {options.SafetensorsLayout, options.LeafStorage{Compression: options.Zstd}, errs.Unsupported},
		"ShardAxes in safetensors":     {options.SafetensorsLayout, axes(0), errs.Unsupported},
		"ChunkByteSize in safetensors": {options.SafetensorsLayout, chunks(1 << 20), errs.Unsupported},
	} {
		option, _, _ := strings.Cut(name, " ")
		state := map[string]any{"the leaf": tensor.New(tensor.Float32, 1025, 1024)}
		c.storage.Match = "**"
		for _, o := range []*checkpoint.SaveOptions{
			{Options: options.Options{Bivouac: options.Bivouac{LeafStorage: []options.LeafStorage{c.storage}}}},
			{Options: forAll(c.storage)},
		} {
			o.Store, o.Layout = local.New(vfstest.NewMem(), "/", nil), c.layout
			err := checkpoint.Save(t.Context(), "c", state, o)
			if errs.KindOf(err) != c.kind || !strings.Contains(err.Error(), option) || option[0] == 'C' &&
				o.LeafStorage != nil && !strings.Contains(err.Error(), "the leaf") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func axes(k ...int) options.LeafStorage {
	return options.LeafStorage{Storage: options.Storage{ShardAxes: k}}
}

func chunks(bytes int64) options.LeafStorage {
	return options.LeafStorage{Storage: options.Storage{ChunkByteSize: bytes}}
}

// Patterns match keys, not text: dots and slashes within keys separate nothing.
func TestLeafStorageByPath(t *testing.T) {
	x := tensor.New(tensor.Float32, 100)
	state := tree.NewDict().Set("w", tree.NewLeaf(x)).Set("a.b", tree.NewLeaf(x)).Set("x/y", tree.NewLeaf(x)).
		Set("layers", tree.NewList(tree.NewDict().Set("w", tree.NewLeaf(x)),
			tree.NewDict().Set("w", tree.NewLeaf(x)).Set("bias", tree.NewLeaf(x))))
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
		o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
		o.LeafStorage = []options.LeafStorage{chunks(64), chunks(128)}
		o.LeafStorage[0].Match, o.LeafStorage[1].Match = pattern, "**"
		if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
			t.Fatal(err)
		}
		for _, l := range leafInfos(t, o) {
			if n := tensor.Shape(l.ReadShape).Len() * l.DType.Size(); n <= 64 {
				got = append(got, l.Param)
			} else if n > 128 {
				t.Errorf("%q: %v", pattern, l.ReadShape)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q matches %q, want %q", pattern, got, want)
		}
	}
	o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{LeafStorage: []options.LeafStorage{{Match: "lay[ers"}}}}, Store: local.New(vfstest.NewMem(), "/", nil)}
	if err := checkpoint.Save(t.Context(), "c", state, o); errs.KindOf(err) != errs.Invalid ||
		!strings.Contains(err.Error(), "lay[ers") {
		t.Errorf("a malformed pattern: %v", err)
	}
}

// Compressed arrays of format 3 lie in few files without a database, and a
// column of one reads little more than itself.
func TestCompressedShards(t *testing.T) {
	const rows, columns = 6000, 4096
	x := grid(rows, columns) // 94 MiB, 24 sub-chunks
	for axes, most := range map[int]int{0: 8, 1: 8} {
		st := countingStore{local.New(vfstest.NewMem(), "/", nil), &atomic.Int64{}}
		o := checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{Storage: options.Storage{ShardAxes: []int{axes}}}}, Bivouac: options.Bivouac{Compression: options.Zstd, Layout: options.PlainZarr3}}, Store: st}
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
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st,
			Want: func(checkpoint.LeafInfo) checkpoint.Want {
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
	for budget, most := range map[options.Limit]int{0: 4, 12 << 20: 12, 64 << 20: 6} {
		for _, m := range []manner{waiting, streaming} {
			o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Compression: options.Zstd,
				Layout: options.PlainZarr3, MemoryBudget: budget}}, Store: local.New(vfstest.NewMem(), "/", nil)}
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
