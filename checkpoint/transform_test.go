package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/npy"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// first is the transformation that takes one leaf of the first source.
func first(key string) checkpoint.Transform {
	return func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("it", in[0].Get(key)), nil
	}
}

// Only what the result has is read: of two arrays one, and of that a part.
func TestTransformReadsWhatItTouches(t *testing.T) {
	const rows, columns = 4096, 1024 // 16 MiB
	st := saved(t, map[string]any{"w": grid(rows, columns), "other": grid(rows, columns), "n": 7})
	half := func(ctx context.Context, in []*tree.Node) (*tree.Node, error) {
		w := in[0].Get("w").Value.(checkpoint.Lazy)
		part := checkpoint.Lazy{DType: w.DType, Shape: tensor.Shape{rows / 2, columns}, Read: w.Read} // the first rows
		return tree.NewDict().Set("half", tree.NewLeaf(part)).Set("n", in[0].Get("n")), nil
	}
	for _, c := range []struct {
		name string
		fn   checkpoint.Transform
		most int64
	}{
		{"nothing", func(context.Context, []*tree.Node) (*tree.Node, error) { return tree.NewDict(), nil }, 64 << 10},
		{"one", first("w"), 4*rows*columns + 64<<10},
		{"half", half, 2*rows*columns + 64<<10},
	} {
		st.read.Store(0)
		n, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, nil, c.fn, &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if read := st.read.Load(); read > c.most {
			t.Errorf("%s: %d bytes read, at most %d", c.name, read, c.most)
		}
		if half := n.Get("half"); half != nil {
			x, _ := half.Tensor()
			if !bytes.Equal(x.Data, grid(rows, columns).Data[:2*rows*columns]) {
				t.Errorf("half: %v", half)
			}
		}
	}
}

// Every kind of leaf passes through as Load returns it, in every layout that has
// it, and ConvertAndTransform writes the same.
func TestTransformKeepsLeaves(t *testing.T) {
	ctx := t.Context()
	identity := func(_ context.Context, in []*tree.Node) (*tree.Node, error) { return in[0], nil }
	for _, name := range []string{"v1-containers", "v1-containers-rich", "v1-prng-keys", "v1-shapes", "v1-scalars",
		"v0-standard", "st-sharded"} {
		src := filepath.Join(orbaxCases, name, "checkpoint")
		want, err := checkpoint.Load(ctx, src, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.LoadAndTransform(ctx, []string{src}, nil, identity, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameTree(t, name, want, got)
		dst := filepath.Join(t.TempDir(), "dst")
		if err := checkpoint.ConvertAndTransform(ctx, []string{src}, dst, identity,
			&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}}}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err = checkpoint.Load(ctx, dst, nil); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		sameTree(t, name+" written", want, got)
	}
}

// sameTree compares trees of which keys are leaves.
func sameTree(t *testing.T, name string, want, got *tree.Node) {
	t.Helper()
	plain := func(n *tree.Node) *tree.Node {
		out := tree.NewDict()
		for _, e := range tree.Flatten(n) {
			if k, ok := e.Node.Value.(checkpoint.Key); ok {
				e.Node = tree.NewDict().Set(k.Impl, tree.NewLeaf(k.Data))
			}
			out.Set(e.Path.String(), e.Node)
		}
		return out
	}
	if d := tree.Diff(plain(want), plain(got)); len(d) > 0 {
		t.Errorf("%s:\n%s", name, tree.FormatDiff(d))
	}
}

// Several sources become one checkpoint. Its other items come from the first source.
func TestTransformSources(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	a, b, dst := filepath.Join(orbaxCases, "v1-items", "checkpoint"), filepath.Join(dir, "b"), filepath.Join(dir, "dst")
	if err := checkpoint.Save(ctx, b, map[string]any{"w": []float32{3}, "s": "text"}, nil); err != nil {
		t.Fatal(err)
	}
	was, err := checkpoint.LoadCheckpointables(ctx, a, nil)
	if err != nil {
		t.Fatal(err)
	}
	both := func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("a", in[0]).Set("b", in[1]).Set("new", tree.NewLeaf(tensor.FromSlice([]int8{5}))), nil
	}
	want, err := tree.From(map[string]any{"a": was["state"], "b": map[string]any{"w": []float32{3}, "s": "text"},
		"new": []int8{5}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.LoadAndTransform(ctx, []string{a, b}, nil, both, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, "loaded", want, got)
	if err := checkpoint.ConvertAndTransform(ctx, []string{a, b}, dst, both, nil); err != nil {
		t.Fatal(err)
	}
	items, err := checkpoint.LoadCheckpointables(ctx, dst, nil)
	if err != nil {
		t.Fatal(err)
	}
	sameTree(t, "written", want, items["state"].(*tree.Node))
	for name, v := range was {
		if raw, ok := v.(json.RawMessage); ok && !bytes.Equal(raw, items[name].(json.RawMessage)) {
			t.Errorf("%s: %s, want %s", name, items[name], raw)
		}
	}
	if len(items) != len(was) {
		t.Errorf("%d items of %d", len(items), len(was))
	}
}

func TestTransformRefusals(t *testing.T) {
	st := saved(t, map[string]any{"w": grid(2, 2)})
	returns := func(n *tree.Node) checkpoint.Transform {
		return func(context.Context, []*tree.Node) (*tree.Node, error) { return n, nil }
	}
	bad := errors.New("bad")
	dict := tree.NewDict
	for _, c := range []struct {
		name  string
		paths []string
		fn    checkpoint.Transform
		o     checkpoint.LoadOptions
		want  errs.Kind
	}{
		{"no sources", nil, first("w"), checkpoint.LoadOptions{}, errs.Invalid},
		{"no such source", []string{"c", "d"}, first("w"), checkpoint.LoadOptions{}, errs.NotFound},
		{"no such item", []string{"c"}, first("w"), checkpoint.LoadOptions{Name: "opt"}, errs.NotFound},
		{"no such leaf", []string{"c"}, first("x"), checkpoint.LoadOptions{}, errs.Invalid},
		{"placeholder", []string{"c"}, returns(dict().Set("x", tree.NewLeaf(checkpoint.Placeholder{}))), checkpoint.LoadOptions{}, errs.Invalid},
		{"no way to read", []string{"c"}, returns(dict().Set("x", tree.NewLeaf(checkpoint.Lazy{DType: tensor.Int8}))), checkpoint.LoadOptions{}, errs.Invalid},
		{"shape", []string{"c"}, returns(dict().Set("x", tree.NewLeaf(checkpoint.Lazy{DType: tensor.Int8, Shape: tensor.Shape{-1}}))), checkpoint.LoadOptions{}, errs.Invalid},
		{"wants", []string{"c"}, first("w"), checkpoint.LoadOptions{Want: func(checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{} }}, errs.Invalid},
	} {
		c.o.Store = st
		if _, err := checkpoint.LoadAndTransform(t.Context(), c.paths, nil, c.fn, &c.o); errs.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
		if c.o.Want == nil && c.o.Name == "" {
			if err := checkpoint.ConvertAndTransform(t.Context(), c.paths, "dst", c.fn,
				&checkpoint.ConvertOptions{Store: st}); errs.KindOf(err) != c.want {
				t.Errorf("%s, converted: %v, want %v", c.name, err, c.want)
			}
		}
	}
	fails := func(context.Context, []*tree.Node) (*tree.Node, error) { return nil, bad }
	if _, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, nil, fails,
		&checkpoint.LoadOptions{Store: st}); !errors.Is(err, bad) {
		t.Error(err)
	}
	w := checkpoint.LazyOf(grid(2, 2))
	for _, b := range []checkpoint.Box{{}, {Origin: []int{0, 1}, Shape: []int{1, 2}},
		{Origin: []int{0, 0}, Shape: []int{1, 1}}} {
		if err := w.ReadBox(t.Context(), b, make([]byte, 8)); errs.KindOf(err) != errs.Invalid {
			t.Errorf("box %v: %v", b, err)
		}
	}
}

// What a lazy leaf says when it is read is what the whole says.
func TestTransformReadFails(t *testing.T) {
	st := saved(t, map[string]any{"w": grid(2, 2)})
	bad := errors.New("bad")
	fn := func(context.Context, []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("x", tree.NewLeaf(checkpoint.Lazy{DType: tensor.Int8, Shape: tensor.Shape{3},
			Read: func(context.Context, checkpoint.Box, []byte) error { return bad }})), nil
	}
	if _, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, nil, fn,
		&checkpoint.LoadOptions{Store: st}); !errors.Is(err, bad) {
		t.Error(err)
	}
	if err := checkpoint.ConvertAndTransform(t.Context(), []string{"c"}, "dst", fn,
		&checkpoint.ConvertOptions{Store: st}); !errors.Is(err, bad) {
		t.Error(err)
	}
	if checkpoint.IsCheckpoint(t.Context(), "dst", &checkpoint.LoadOptions{Store: st}) {
		t.Error("something was left")
	}
	wide := func(context.Context, []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("x", tree.NewLeaf(checkpoint.Lazy{DType: tensor.Int8, Shape: tensor.Shape{4, 4},
			Read: func(context.Context, checkpoint.Box, []byte) error { return bad }})), nil
	}
	columns := checkpoint.Abstract{Boxes: []checkpoint.Box{{Origin: []int{0, 1}, Shape: []int{4, 1}},
		{Origin: []int{0, 3}, Shape: []int{4, 1}}}}
	if n, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, map[string]any{"x": columns}, wide,
		&checkpoint.LoadOptions{Store: st}); !errors.Is(err, bad) {
		t.Errorf("two columns: %v, %v", n, err)
	}
}

// listWhole has the manifest of a checkpoint list no checksums of parts of arrays.
func listWhole(t *testing.T, fsys vfs.FS, at string) {
	t.Helper()
	name := at + "/" + manifest.Name
	b, err := store.ReadAll(t.Context(), local.New(fsys, "/", nil), name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range m.Leaves {
		m.Leaves[i].Chunks = nil
	}
	if err := errors.Join(fsys.Remove("/"+name), putFile(fsys, "/"+name, m.Append(nil))); err != nil {
		t.Fatal(err)
	}
}

// An array that has one checksum for all of it, and is read in parts, is compared with that before.
func TestPartsAreProven(t *testing.T) {
	ctx := t.Context()
	const rows, columns = 1024, 1024
	random := func(seed uint64) tensor.Tensor { // incompressible: the files have one size
		x := grid(rows, columns)
		var key [32]byte
		binary.LittleEndian.PutUint64(key[:], seed)
		rand.NewChaCha8(key).Read(x.Data) //nolint:errcheck // never fails
		return x
	}
	halves := func(ctx context.Context, in []*tree.Node) (*tree.Node, error) {
		w, out := in[0].Get("w").Value.(checkpoint.Lazy), tree.NewDict()
		for i, name := range []string{"top", "bottom"} {
			b := make([]byte, rows/2*columns*w.DType.Size())
			if err := w.ReadBox(ctx, checkpoint.Box{Origin: []int{i * rows / 2, 0}, Shape: []int{rows / 2, columns}},
				b); err != nil {
				return nil, err
			}
			out.Set(name, tree.NewLeaf(int64(b[0])))
		}
		return out, nil
	}
	check := func(name string, fsys vfs.FS, at string, sound bool) {
		t.Helper()
		o := &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)}
		_, err := checkpoint.LoadAndTransform(ctx, []string{at}, nil, halves, o)
		if (err == nil) != sound || err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%s, in halves: %v", name, err)
		}
		r, err := integrity.Verify(ctx, at, &integrity.VerifyOptions{Store: o.Store})
		if err != nil || (len(r.Problems) == 0) != sound {
			t.Errorf("%s, verified: %v, %v", name, r, err)
		}
	}
	for _, l := range []options.Layout{options.PlainZarr2, options.PlainZarr3} {
		for _, c := range []options.Compression{options.Uncompressed, options.Zstd} {
			mem := vfstest.NewMem()
			o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l, Compression: c}},
				Store: local.New(mem, "/", nil)}
			o.Array.Saving.Storage.ChunkByteSize = 1 << 20
			for seed, at := range []string{"a", "b"} {
				if err := checkpoint.Save(ctx, at, map[string]any{"w": random(uint64(seed))}, o); err != nil {
					t.Fatal(err)
				}
			}
			name := fmt.Sprint(l, c)
			listWhole(t, mem, "a")
			for n := 1; ; n++ { // a read that fails is no damage
				f := vfstest.NewFault(mem, vfstest.Plan{N: n, Err: syscall.EIO,
					Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt && c.Size > rows }})
				_, err := checkpoint.LoadAndTransform(ctx, []string{"a"}, nil, halves,
					&checkpoint.LoadOptions{Store: local.New(f, "/", nil)})
				if _, hits := f.Hit(); hits == 0 {
					break
				}
				if !errors.Is(err, syscall.EIO) {
					t.Errorf("%s: read %d fails: %v", name, n, err)
				}
			}
			check(name, mem, "a", true)
			for _, file := range allNames(t, mem, "/b") {
				b, err := store.ReadAll(ctx, o.Store, file[1:])
				if err != nil {
					t.Fatal(err)
				}
				if to := "/a" + file[2:]; len(b) > rows {
					if err := errors.Join(mem.Remove(to), putFile(mem, to, b)); err != nil {
						t.Fatal(err)
					}
				}
			}
			check(name+" with the data of another", mem, "a", false)
		}
	}
	var archive bytes.Buffer
	w := npy.NewArchiveWriter(&archive, false)
	if err := errors.Join(w.Write("w", random(1)), w.Close()); err != nil {
		t.Fatal(err)
	}
	for _, sound := range []bool{true, false} {
		mem := vfstest.NewMem()
		b := bytes.Clone(archive.Bytes())
		if !sound {
			b[len(b)/2] ^= 1
		}
		if err := putFile(mem, "/a.npz", b); err != nil {
			t.Fatal(err)
		}
		check(fmt.Sprintf("an archive, %v", sound), mem, "a.npz", sound)
	}
}

// The transformed tree is matched with an abstract one: cast, cut, reported, or
// refused.
func TestTransformToAbstract(t *testing.T) {
	st := saved(t, map[string]any{"w": grid(4, 2), "n": 7})
	o := &checkpoint.LoadOptions{Store: st, Report: &checkpoint.LoadReport{}}
	box := checkpoint.Box{Origin: []int{1, 0}, Shape: []int{2, 2}}
	want := map[string]any{"it": checkpoint.Abstract{DType: tensor.Float32, Shape: tensor.Shape{4, 2},
		Boxes: []checkpoint.Box{box}}}
	n, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, want, first("w"), o)
	if err != nil {
		t.Fatal(err)
	}
	if x, _ := n.Get("it").Tensor(); !x.Equal(tensor.FromSlice([]float32{2, 3, 4, 5}, 2, 2)) {
		t.Errorf("got %v", n.Get("it"))
	}
	if l := o.Report.Leaves; len(l) != 1 || !l[0].Cast {
		t.Errorf("report: %v", o.Report)
	}
	for _, bad := range []any{map[string]any{"other": nil},
		map[string]any{"it": checkpoint.Abstract{Shape: tensor.Shape{3}}}} {
		if _, err := checkpoint.LoadAndTransform(t.Context(), []string{"c"}, bad, first("w"),
			o); errs.KindOf(err) != errs.Mismatch {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
