package writer

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/internal/arena"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// runs is a state of arrays of many sizes. Their memory begins on a block of a
// mapping, or shift bytes behind one.
func runs(t *testing.T, shift int) *tree.Node {
	t.Helper()
	a, err := arena.Open(0, arena.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() }) //nolint:errcheck // nothing is lost
	r := rand.New(rand.NewPCG(3, 4))
	root := tree.NewDict()
	arrays := map[string]tensor.Tensor{
		"even":    {DType: tensor.Float32, Shape: tensor.Shape{2560, 1024}}, // 10 MiB: sub-chunks of whole blocks
		"odd":     {DType: tensor.Float32, Shape: tensor.Shape{2600, 1023}}, // of others
		"padded":  {DType: tensor.Uint8, Shape: tensor.Shape{3, 1_500_007}}, // by less than a row
		"one":     {DType: tensor.Float64, Shape: tensor.Shape{100, 1000}},  // a single sub-chunk
		"bool":    {DType: tensor.Bool, Shape: tensor.Shape{600_000}},       // checked
		"small":   {DType: tensor.Int16, Shape: tensor.Shape{700, 3}},       // shares a unit
		"inlined": {DType: tensor.Int16, Shape: tensor.Shape{7, 3}},         // in a node
		"scalar":  {DType: tensor.BFloat16, Shape: tensor.Shape{}},          // as well
		"edge":    {DType: tensor.Uint8, Shape: tensor.Shape{5 << 20}},      // two sub-chunks
		"blocks":  {DType: tensor.Uint8, Shape: tensor.Shape{256<<10 - 4}},  // with its checksum whole blocks
		"tail":    {DType: tensor.Uint8, Shape: tensor.Shape{1<<20 + 999}},  // not whole blocks
	}
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		x := arrays[name]
		n := x.Shape.Len() * x.DType.Size()
		b, err := a.Alloc(n+shift, alignment)
		if err != nil {
			t.Fatal(err)
		}
		x.Data = b[shift:]
		for i := range x.Data {
			x.Data[i] = byte(r.Uint32())
			if x.DType == tensor.Bool {
				x.Data[i] &= 1
			}
		}
		root.Set(name, tree.NewLeaf(x))
	}
	return root
}

// write saves a tree and returns all files by name.
func write(t *testing.T, root *tree.Node, how Mode, o Options) map[string][]byte {
	t.Helper()
	ctx := context.Background()
	items, err := testItems(map[string]any{"state": root})
	if err != nil {
		t.Fatal(err)
	}
	o.Now = func() time.Time { return time.Unix(5, 0) }
	o.Random = rand.NewChaCha8([32]byte{})
	if o.Layout == options.SafetensorsLayout {
		o.Memory = Heap{}
	}
	st := local.New(vfstest.NewMem(), "/", direct)
	if o.Dedup != nil {
		o.Dedup = &Dedup{Store: st}
	}
	w, err := snapshot(items, how, o)
	if err != nil {
		t.Fatal(err)
	}
	txn, err := st.Begin(ctx, "c", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(ctx, txn); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	var list func(dir string)
	list = func(dir string) {
		for e, err := range st.List(ctx, path.Join("c", dir)) {
			if err != nil {
				t.Fatal(err)
			}
			name := path.Join(dir, e.Name)
			if e.Dir {
				list(name)
				continue
			}
			if files[name], err = store.ReadAll(ctx, st, path.Join("c", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	list("")
	return files
}

// A checkpoint has the same bytes whether they were copied first or while they
// were written.
func TestSameBytesEitherWay(t *testing.T) {
	for name, o := range map[string]Options{
		"default": {}, "dedup": {Dedup: &Dedup{}}, "zarr2": {Layout: options.OCDBTZarr2}, "plain zarr3": {Layout: options.PlainZarr3}, "safetensors": {Layout: options.SafetensorsLayout},
	} {
		want := write(t, runs(t, 0), Copy, o)
		for _, c := range []struct {
			name  string
			shift int
			how   Mode
			watch bool
		}{
			{"in place", 0, InPlace, false}, {"in place, not aligned", 8, InPlace, false},
			{"handed over", 0, HandOver, false}, {"handed over, watched", 0, HandOver, true},
		} {
			o.Watch = c.watch
			got := write(t, runs(t, c.shift), c.how, o)
			if len(got) != len(want) {
				t.Errorf("%s, %s: %d files, want %d", name, c.name, len(got), len(want))
			}
			for f, b := range want {
				if !bytes.Equal(got[f], b) {
					t.Errorf("%s, %s: %s differs", name, c.name, f)
				}
			}
		}
	}
}

// An unchanged state is found in the base without a checksum being taken or a
// byte encoded: with wrong ones in the base's manifest nothing is found, and the
// new checkpoint has the right ones.
func TestBelievedChecksums(t *testing.T) {
	root := runs(t, 0)
	for _, how := range []Mode{InPlace, Copy} {
		for _, wrong := range []bool{false, true} {
			st := local.New(vfstest.NewMem(), "/", direct)
			save := func(name string, bases ...string) Stats {
				items, err := testItems(map[string]any{"state": root})
				if err != nil {
					t.Fatal(err)
				}
				w, err := snapshot(items, how, Options{Dedup: &Dedup{Store: st, Bases: bases}})
				if err != nil {
					t.Fatal(err)
				}
				txn, err := st.Begin(t.Context(), name, store.TxnOptions{})
				if err == nil {
					_, err = w.Write(t.Context(), txn)
				}
				if err != nil {
					t.Fatal(err)
				}
				return w.Stats()
			}
			read := func(name string) *manifest.Manifest {
				b, err := store.ReadAll(t.Context(), st, name+"/"+manifest.Name)
				if err != nil {
					t.Fatal(err)
				}
				m, err := manifest.Parse(b)
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			save("a")
			first := read("a")
			if wrong {
				m := read("a")
				for i := range m.Leaves {
					l := &m.Leaves[i]
					l.CRC++
					for k := range l.Chunks {
						l.Chunks[k]++
					}
				}
				if err := st.Put(t.Context(), "a/"+manifest.Name, m.Append(nil), store.PutOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			stats := save("b", "a")
			second := read("b")
			for _, l := range first.Leaves {
				got, ok := second.Leaf(l.Item, l.Param)
				if !ok || got.CRC != l.CRC || len(got.Chunks) != len(l.Chunks) {
					t.Errorf("mode %d, wrong %v: %s has %+v, want %+v", how, wrong, l.Param, got, l)
					continue
				}
				for k, c := range l.Chunks {
					if got.Chunks[k] != c {
						t.Errorf("mode %d, wrong %v: sub-chunk %d of %s has %08x, want %08x", how, wrong, k, l.Param, got.Chunks[k], c)
					}
				}
			}
			hashed := 0
			for _, f := range first.Files {
				if f.Hash != (manifest.Hash{}) {
					hashed++
				}
			}
			if !wrong && stats.Linked != hashed || wrong && stats.Linked == hashed {
				t.Errorf("mode %d, wrong %v: %d of %d files linked", how, wrong, stats.Linked, hashed)
			}
			for _, f := range second.Files {
				b, err := store.ReadAll(t.Context(), st, "b/"+f.Name)
				if err == nil {
					err = second.CheckFile(f.Name, b)
				}
				if err != nil {
					t.Errorf("mode %d, wrong %v: %v", how, wrong, err)
				}
			}
		}
	}
}
