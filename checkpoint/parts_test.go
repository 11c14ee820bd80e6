package checkpoint_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// One changed leaf has at most 64 MiB written anew in every layout and
// compression, whatever the state has.
func TestOneLeafRewritesLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("copies gigabytes")
	}
	state := tree.NewDict()
	for i := range 8 {
		state.Set("layer "+strconv.Itoa(i), tree.NewLeaf(noise(rand.New(rand.NewPCG(uint64(i), 1)), tensor.Float32, 3<<20)))
	}
	for _, o := range storages() {
		if o.Compression == options.Zstd {
			continue // its chunks are placed like the chunks of ByteSplit
		}
		t.Run(labelOf(o), func(t *testing.T) {
			o.Store = local.New(vfstest.NewMem(), "/", nil)
			saveOn := func(name, base string) checkpoint.SaveStats {
				o.Base = base
				r, err := checkpoint.SaveAsync(t.Context(), name, state, &o)
				if err != nil {
					t.Fatal(err)
				}
				s, err := r.Result(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			saveOn("a", "a")
			x, _ := state.Get("layer 5").Tensor()
			x.Data[7777] ^= 1
			if s := saveOn("c", "a"); s.Bytes > 64<<20+1<<18 || s.Bytes < 1000 || s.LinkedBytes+s.Bytes < 8<<20 {
				t.Errorf("%+v", s)
			}
			if err := o.Store.RemoveTree(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			checkSaved(t, o, state)
		})
	}
}

// inParts saves a tree as several safetensors files.
func inParts(t *testing.T) (checkpoint.SaveOptions, *tree.Node) {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 5))
	state := tree.NewDict().Set("a", tree.NewLeaf(noise(r, tensor.Float32, 700))).Set("b",
		tree.NewLeaf(noise(r, tensor.Uint8, 9000))).
		Set("c", tree.NewList(tree.NewLeaf(noise(r, tensor.BFloat16, 30, 11)), tree.NewLeaf(noise(r, tensor.Bool, 0, 4)),
			tree.NewLeaf(int64(7))))
	o := checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{OCDBTTargetDataFileSize: 4000}}, Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}}, Store: local.New(vfstest.NewMem(), "/", nil), Custom: map[string]any{"epoch": 3}}
	if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
		t.Fatal(err)
	}
	return o, state
}

// Safetensors files have at most the bytes asked for, or one tensor; together
// they are the tree, and the one with an index says where each tensor lies.
func TestSafetensorsParts(t *testing.T) {
	o, state := inParts(t)
	checkSaved(t, o, state)
	files := allFiles(t, o)
	want := []string{"bivouac.manifest", "model-00001-of-00003.safetensors", "model-00002-of-00003.safetensors",
		"model-00003-of-00003.safetensors", "model.safetensors.index.json"}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if index := string(files["model.safetensors.index.json"]); !strings.Contains(index,
		`"b": "model-00002-of-00003.safetensors"`) || !strings.Contains(index, `"total_size": 12468`) {
		t.Errorf("%s", index)
	}
	info, err := checkpoint.Metadata(t.Context(), "c", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil || string(info.Custom) != `{"epoch":3}` || !info.Manifest || info.Items[0].Leaves[1].File != want[2] {
		t.Errorf("%+v, %v", info, err)
	}
	// What is lost, changed or swapped is noticed, whichever file it is.
	for _, name := range want {
		other := files[want[1+(slices.Index(want, name)+1)%3]]
		for how, b := range map[string][]byte{"lost": nil, "cut short": files[name][:len(files[name])/2],
			"changed": flipped(files[name]), "another": other} {
			st := contentStore{files: files.with(name, b)}
			if _, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st}); err == nil {
				t.Errorf("%s, %s: loaded", name, how)
			}
			if r, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: st}); err == nil && r.OK() {
				t.Errorf("%s, %s: verified", name, how)
			}
		}
	}
}

// flipped is a copy with a bit near the end changed.
func flipped(b []byte) []byte {
	b = slices.Clone(b)
	b[len(b)-4] ^= 4
	return b
}

// Fewer bytes a file make more files of a database; a plain layout has one for
// each array whatever is asked for, and says so.
func TestDataFileSize(t *testing.T) {
	state := map[string]any{"a": grid(100, 100), "b": grid(100, 100), "c": grid(100, 100), "d": grid(100, 100)}
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2} {
		for most, want := range map[options.FileSize]int{0: 1, options.Unlimited: 1, 50_000: 5, 90_000: 3} {
			o := checkpoint.SaveOptions{Options: options.Options{Array: options.Array{Saving: options.ArraySaving{OCDBTTargetDataFileSize: most}}, Bivouac: options.Bivouac{Layout: l}}, Store: local.New(vfstest.NewMem(), "/", nil)}
			if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
				t.Fatal(err)
			}
			n := 0
			for name := range allFiles(t, o) {
				if strings.HasPrefix(name, "state/d/") {
					n++
				}
			}
			if n != want {
				t.Errorf("%v, %d bytes a file: %d files, want %d", l, most, n, want)
			}
		}
	}
	for kind, o := range map[errs.Kind]checkpoint.SaveOptions{
		errs.Invalid:     {Options: options.Options{Array: options.Array{Saving: options.ArraySaving{OCDBTTargetDataFileSize: -2}}}},
		errs.Unsupported: {Options: options.Options{Array: options.Array{Saving: options.ArraySaving{OCDBTTargetDataFileSize: 1 << 20}}, Bivouac: options.Bivouac{Layout: options.PlainZarr3}}},
	} {
		o.Store = local.New(vfstest.NewMem(), "/", nil)
		if err := checkpoint.Save(t.Context(), "c", state, &o); errs.KindOf(err) != kind ||
			!strings.Contains(strings.ReplaceAll(strings.ToLower(err.Error()), "_", ""), "ocdbttargetdatafilesize") {
			t.Errorf("%v", err)
		}
	}
}
