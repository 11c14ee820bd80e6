package checkpoint_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/layout"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// storages are all combinations of layout and compression that there are.
func storages() (out []checkpoint.SaveOptions) {
	for _, l := range allLayouts {
		for _, c := range allCompressions {
			if l != options.SafetensorsLayout || c == options.Uncompressed {
				out = append(out, checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Compression: c,
					Layout: l}}})
			}
		}
	}
	return out
}

func labelOf(o checkpoint.SaveOptions) string {
	return o.Layout.String() + "," + o.Compression.String()
}

// fits reports whether a dtype has a place in a layout.
func fits(l options.Layout, d tensor.DType) bool {
	ok := true
	switch l {
	case options.SafetensorsLayout:
		_, ok = d.Safetensors()
	case options.OCDBTZarr2, options.PlainZarr2:
		_, ok = d.ZarrV2()
	}
	_, any := d.Zarr()
	return ok && any
}

// noise is a tensor of valid elements.
func noise(r *rand.Rand, d tensor.DType, shape ...int) tensor.Tensor {
	x := tensor.New(d, shape...)
	for at := 0; at < len(x.Data); at += 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], r.Uint64())
		copy(x.Data[at:], b[:])
	}
	if d != tensor.Bool && d.Bits() >= 8 {
		return x
	}
	for i := range x.Data {
		switch {
		case d == tensor.Bool:
			x.Data[i] &= 1
		case d.Bits() < 8 && d.IsSigned() && d.IsInteger():
			shift := 8 - d.Bits()
			x.Data[i] = byte(int8(x.Data[i]<<shift) >> shift)
		case d.Bits() < 8:
			x.Data[i] &= 1<<d.Bits() - 1
		}
	}
	return x
}

// small is a tensor of 12 bytes.
func small() tensor.Tensor { return noise(rand.New(rand.NewPCG(4, 4)), tensor.Float32, 3) }

// allFiles reads the files of the checkpoint.
func allFiles(t testing.TB, o checkpoint.SaveOptions) content {
	t.Helper()
	out := content{}
	var walk func(dir string)
	walk = func(dir string) {
		for e, err := range o.Store.List(context.Background(), path.Join("c", dir)) {
			at := path.Join(dir, e.Name)
			if err == nil && e.Dir {
				walk(at)
				continue
			}
			if err == nil {
				out[at], err = store.ReadAll(context.Background(), o.Store, path.Join("c", at))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	walk("")
	return out
}

func dtypes() (out []tensor.DType) {
	for d := tensor.DType(1); d.Valid(); d++ {
		out = append(out, d)
	}
	return out
}

// manner is how a test saves: the mode, and how tensors are given.
type manner int

const (
	waiting manner = iota
	copying
	handingOver
	streaming // as writer.Lazy
	tight     // copying, with less memory than the state
	manners
)

// saveIn saves a tree in a manner.
func saveIn(ctx context.Context, m manner, state *tree.Node, o checkpoint.SaveOptions) error {
	switch m {
	case waiting:
		return checkpoint.Save(ctx, "c", state, &o)
	case streaming:
		return checkpoint.Save(ctx, "c", lazy(state), &o)
	case handingOver:
		o.Release = func() {}
		o.Watch = true
	case tight:
		o.MemoryBudget = 24 << 20
	}
	r, err := checkpoint.SaveAsync(ctx, "c", state, &o)
	if err == nil {
		_, err = r.Result(ctx)
	}
	return err
}

// lazy is the tree with its tensors read from memory box by box.
func lazy(n *tree.Node) *tree.Node {
	out := &tree.Node{Kind: n.Kind, Keys: n.Keys, Value: n.Value, Type: n.Type}
	if x, ok := n.Value.(tensor.Tensor); ok {
		out.Value = writer.Lazy{DType: x.DType, Shape: x.Shape,
			Read: func(_ context.Context, box zarr.Box, dst []byte) error {
				zarr.CopyBox(box, dst, zarr.WholeBox(x.Shape), x.Data, x.DType.Size())
				return nil
			}}
	}
	for _, c := range n.Items {
		out.Items = append(out.Items, lazy(c))
	}
	return out
}

// Every layout gives back what was saved, however it was saved, and passes
// Verify: tensors of all dtypes from none to several sub-chunks. A sample saves each
// storage in two of the manners, in turn.
func TestLayoutsRoundTrip(t *testing.T) {
	ctx := context.Background()
	rows, columns := 700_003, 1100
	if sampled() {
		rows, columns = 400_003, 110 // two chunks, and less than one
	}
	for n, o := range storages() {
		t.Run(labelOf(o), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			root := tree.NewDict()
			for _, d := range dtypes() {
				if fits(o.Layout, d) {
					root.Set(d.String(), tree.NewDict().Set("some", tree.NewLeaf(noise(r, d, 3, 700, 2))).Set("few",
						tree.NewLeaf(noise(r, d, 8))).Set("none", tree.NewLeaf(noise(r, d, 0, 4))))
				}
			}
			root.Set("large", tree.NewList(
				tree.NewLeaf(noise(r, tensor.Float32, 3, rows)), tree.NewLeaf(noise(r, tensor.Uint8, 5_000_001)),
				tree.NewLeaf(noise(r, tensor.BFloat16, 2049, columns))))
			root.Set("number", tree.NewLeaf(7)).Set("rank0", tree.NewLeaf(tensor.ScalarOf(float32(3))))
			for m := range manners {
				if sampled() && m != manner(n)%manners && m != manner(n+2)%manners {
					continue
				}
				o.Store = local.New(vfstest.NewMem(), "/", &local.Options{DirectFrom: 1})
				if err := saveIn(ctx, m, root, o); err != nil {
					t.Fatalf("manner %d: %v", m, err)
				}
				checkSaved(t, o, root)
			}
		})
	}
}

func checkSaved(t *testing.T, o checkpoint.SaveOptions, want *tree.Node) {
	t.Helper()
	ctx := context.Background()
	got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(want, got); len(d) > 0 {
		t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
	}
	report, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: o.Store})
	if err != nil || !report.OK() || !report.Manifest {
		t.Fatalf("%+v, %v", report, err)
	}
}

// Random trees are given back by every layout, or refused by name.
func TestLayoutsRandomTrees(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		root := tree.NewDict().Set("root", drawTree(t, 3))
		o := rapid.SampledFrom(storages()).Draw(t, "storage")
		o.Store = local.New(vfstest.NewMem(), "/", nil)
		m := manner(rapid.IntRange(0, int(manners)-1).Draw(t, "manner"))
		if err := saveIn(ctx, m, root, o); err != nil {
			if k := errs.KindOf(err); k != errs.Invalid && k != errs.Unsupported {
				t.Fatal(err)
			}
			return
		}
		got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: o.Store})
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(root, got); len(d) > 0 {
			t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
		}
	})
}

// Awkward names are given back by every layout that does not refuse them.
func TestLayoutsNames(t *testing.T) {
	ctx := context.Background()
	x := small()
	long := strings.Repeat("n", 300)
	for name, plain := range map[string]bool{
		"a.b": true, "mlp/~/linear_0": true, `qu"ote's`: true, "ключ 鍵": true, "007": true, " ": true, "x\n": true, "d": true, "manifest.ocdbt": true,
		"..": false, "a//b": false, "/a": false, "a/": true, "/": false, "//": false, "a//": false, "a/b/": true, "a/../b": false, `back\slash`: false, "nul\x00": false, "": true,
		"_METADATA": false, "_strings.json": false, long: false, "w.orbax-checkpoint-tmp": false,
	} {
		for _, o := range storages() {
			o.Store = local.New(vfstest.NewMem(), "/", nil)
			root := tree.NewDict().Set(name, tree.NewLeaf(x))
			err := checkpoint.Save(ctx, "c", root, &o)
			if isPlain := o.Layout == options.PlainZarr3 || o.Layout == options.PlainZarr2; isPlain && !plain {
				if errs.KindOf(err) != errs.Unsupported {
					t.Errorf("%s: %q: got %v, want a refusal", labelOf(o), name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s: %q: %v", labelOf(o), name, err)
				continue
			}
			checkSaved(t, o, root)
		}
	}
	clash := tree.NewDict().Set("a", tree.NewLeaf(x)).Set("a/c/0", tree.NewLeaf(x))
	if err := checkpoint.Save(ctx, "c", clash,
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}},
			Store: local.New(vfstest.NewMem(), "/", nil)}); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("an array in the chunks of another: %v", err)
	}
}

// What has no content takes no tensor, and is in the metadata of the file.
func TestSafetensorsWithoutContent(t *testing.T) {
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
		Store: local.New(vfstest.NewMem(), "/", nil)}
	root := tree.NewDict().Set("nothing", tree.NewLeaf(nil)).Set("empty", tree.NewDict()).Set("list",
		tree.NewList(tree.NewList(), tree.NewLeaf(int64(1))))
	if err := checkpoint.Save(t.Context(), "c", root, &o); err != nil {
		t.Fatal(err)
	}
	checkSaved(t, o, root)
}

// What a safetensors file has no place for is refused, naming the leaf.
func TestSafetensorsRefusals(t *testing.T) {
	for name, v := range map[string]any{
		"int4": tensor.New(tensor.Int4, 2), "double": tensor.New(tensor.Complex128, 1),
	} {
		err := checkpoint.Save(context.Background(), "c", map[string]any{name: v},
			&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
				Store: local.New(vfstest.NewMem(), "/", nil)})
		if errs.KindOf(err) != errs.Unsupported || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, o := range map[string]checkpoint.SaveOptions{"Compression": {Options: options.Options{Bivouac: options.Bivouac{Compression: options.Zstd}}}, "weights": {Name: "weights"}} {
		o.Layout, o.Store = options.SafetensorsLayout, local.New(vfstest.NewMem(), "/", nil)
		err := checkpoint.Save(context.Background(), "c", map[string]any{"x": 1}, &o)
		if errs.KindOf(err) != errs.Unsupported || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// A flipped bit in any file of any layout is an error or changes nothing that is
// loaded; the bytes of arrays are all covered.
func TestLayoutsNoticeFlips(t *testing.T) {
	ctx := context.Background()
	flips := 40
	if sampled() {
		flips = 8
	}
	for n, o := range storages() {
		r := rand.New(rand.NewPCG(uint64(n), 9))
		root := tree.NewDict().Set("a", tree.NewLeaf(noise(r, tensor.Float32, 3, 400))).Set("b",
			tree.NewLeaf(noise(r, tensor.Uint8, 70))).Set("c", tree.NewLeaf(5))
		fsys := vfstest.NewMem()
		o.Store = local.New(fsys, "/", nil)
		if err := checkpoint.Save(ctx, "c", root, &o); err != nil {
			t.Fatal(err)
		}
		files := allFiles(t, o)
		for f, b := range files {
			for range flips {
				if len(b) == 0 {
					break
				}
				bit := r.IntN(8 * len(b))
				damaged := contentStore{Store: o.Store, files: content{}}
				for g, c := range files {
					damaged.files[g] = c
				}
				d := append([]byte(nil), b...)
				d[bit/8] ^= 1 << (bit % 8)
				damaged.files[f] = d
				got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: damaged})
				if err == nil {
					if diff := tree.Diff(root, got); len(diff) > 0 {
						t.Fatalf("%s: bit %d of %s: other values\n%s", labelOf(o), bit, f, tree.FormatDiff(diff))
					}
				}
				if report, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: damaged}); err == nil && report.OK() {
					t.Fatalf("%s: bit %d of %s passes Verify", labelOf(o), bit, f)
				}
			}
		}
	}
}

// A safetensors checkpoint of ours whose manifest, header or file is not the one
// that was written is an error.
func TestSafetensorsIsTiedToItsManifest(t *testing.T) {
	ctx := context.Background()
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
		Store: local.New(vfstest.NewMem(), "/", nil), Custom: map[string]int{"epoch": 3}}
	if err := checkpoint.Save(ctx, "c", map[string]any{"w": small(), "n": map[string]any{"x": 4}}, &o); err != nil {
		t.Fatal(err)
	}
	in, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil || string(in.Custom) != `{"epoch":3}` || !in.Manifest {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := checkpoint.Load(ctx, "c/model.safetensors", &checkpoint.LoadOptions{Store: o.Store}); err != nil {
		t.Error(err)
	}
	files := allFiles(t, o)
	delete(files, "bivouac.manifest")
	if _, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: contentStore{Store: o.Store,
		files: files}}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("without manifest: %v", err)
	}
}

// A part of a large safetensors tensor is compared with the checksums of what it touches, and no
// more of the tensor is read for it.
func TestSafetensorsPartsAreChecked(t *testing.T) {
	ctx := context.Background()
	var n atomic.Int64
	st := tallying{local.New(vfstest.NewMem(), "/", nil), &n}
	x := noise(rand.New(rand.NewPCG(5, 1)), tensor.Float32, 3, 1100, 1024) // rows of 4.3 MiB: two sub-chunks each
	o := checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
		Store: st}
	if err := checkpoint.Save(ctx, "c", map[string]any{"x": x}, &o); err != nil {
		t.Fatal(err)
	}
	box := zarr.Box{Origin: []int{1, 10, 5}, Shape: []int{1, 700, 1000}}
	want := make([]byte, box.Len()*4)
	zarr.CopyBox(box, want, zarr.WholeBox(x.Shape), x.Data, 4)
	read := func(st store.Store) error {
		ck, err := layout.Open(ctx, st, "c")
		if err != nil {
			return err
		}
		tr, err := ck.Tree(ctx, "state")
		if err != nil {
			return err
		}
		defer tr.Close() //nolint:errcheck // nothing was written
		got := make([]byte, len(want))
		n.Store(0)
		if err := tr.Leaves[0].ReadBox(ctx, box, got); err == nil && !bytes.Equal(got, want) {
			t.Error("other values")
		} else if err != nil {
			return err
		}
		return nil
	}
	if err := read(st); err != nil || n.Load() > 5<<20 {
		t.Fatalf("%v, %d bytes read", err, n.Load())
	}
	files := allFiles(t, o)
	name := "model.safetensors"
	data := len(files[name]) - len(x.Data)
	for _, c := range []struct {
		row  int // of 1024 elements
		want bool
	}{{1100, true}, {1100 + 10, true}, {1100 + 1023, true}, {1100 + 1024, false}, {0, false}, {2 * 1100, false}} {
		b := bytes.Clone(files[name])
		b[data+c.row*4096+3] ^= 4
		err := read(contentStore{Store: st, files: files.with(name, b)})
		if got := errors.Is(err, errs.Corrupt); got != c.want {
			t.Errorf("a bit of row %d flipped: noticed %t, want %t: %v", c.row, got, c.want, err)
		}
	}
}
