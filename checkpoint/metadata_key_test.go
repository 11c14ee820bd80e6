package checkpoint_test

import (
	"math/rand/v2"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// The metadata of zarr v2 arrays have the name that is asked for, and are found
// without being told; zarr v3 has no other name.
func TestZarrMetadataKey(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for name, state := range map[string]*tree.Node{
		"tree": tree.NewDict().Set("a/b", tree.NewLeaf(noise(r, tensor.Float32, 700, 3000))).Set("n", tree.NewList(tree.NewLeaf(int64(1)), tree.NewLeaf("s"))),
		"bare": tree.NewLeaf(noise(r, tensor.Float32, 700)),
	} {
		for _, l := range []options.Layout{options.PlainZarr2, options.OCDBTZarr2} {
			st := local.New(vfstest.NewMem(), "/", nil)
			o := checkpoint.SaveOptions{Store: st}
			o.Layout, o.ZarrMetadataKey = l, "meta.json"
			if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
				t.Fatal(err)
			}
			path := "c/state/"
			if name == "tree" {
				path += "a/b/"
			}
			if _, err := st.Stat(t.Context(), path+"meta.json"); (err == nil) != (l == options.PlainZarr2) {
				t.Errorf("%s, %v: %v", name, l, err)
			}
			if _, err := st.Stat(t.Context(), path+".zarray"); err == nil {
				t.Errorf("%s, %v: there is a .zarray", name, l)
			}
			got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
			if err != nil {
				t.Fatal(name, l, err)
			}
			if d := tree.Diff(state, got); len(d) > 0 {
				t.Errorf("%s, %v: loaded differs:\n%s", name, l, tree.FormatDiff(d))
			}
			if r, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: st}); err != nil || !r.OK() {
				t.Errorf("%s, %v: %+v, %v", name, l, r, err)
			}
		}
	}
	for _, l := range []options.Layout{options.DefaultLayout, options.PlainZarr3, options.SafetensorsLayout} {
		o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
		o.Layout, o.ZarrMetadataKey = l, "meta.json"
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": 1}, &o); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%v: %v", l, err)
		}
	}
	for _, key := range []string{"0.0", "7", "a/b", "..", "zarr.json"} {
		o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
		o.Layout, o.ZarrMetadataKey = options.PlainZarr2, key
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": 1}, &o); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// Metadata that is gone is not taken for one of another name.
func TestZarrMetadataMissing(t *testing.T) {
	for _, more := range []string{"", "c/state/x/one", "c/state/x/two"} {
		st := local.New(vfstest.NewMem(), "/", nil)
		o := checkpoint.SaveOptions{Store: st}
		o.Layout = options.PlainZarr2
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": []int32{1, 2}}, &o); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"c/state/x/.zarray", "c/bivouac.manifest"} {
			if err := st.RemoveTree(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		if more != "" {
			for _, name := range []string{"c/state/x/one", more} {
				if err := st.Put(t.Context(), name, []byte("{}"), store.PutOptions{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st,
			AllowNoManifest: true}); errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%q: %v", more, err)
		}
	}
}
