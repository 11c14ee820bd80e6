package checkpoint_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/diff"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

var allCompressions = []options.Compression{options.Uncompressed, options.Zstd, options.ByteSplit}

var allLayouts = []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2,
	options.SafetensorsLayout}

// differences lists what Diff finds; st nil is the local file system.
func differences(ctx context.Context, st store.Store, a, b string) (out []string, err error) {
	for l, err := range diff.Leaves(ctx, a, b, &diff.Options{Store: st}) {
		if err != nil {
			return out, err
		}
		if l.Status != diff.Same {
			out = append(out, l.Item+" "+l.Path.String()+": "+l.Status.String()+" "+l.Was+" -> "+l.Is)
		}
	}
	return out, nil
}

// Any chain of conversions, whatever the layouts, compressions and budgets, ends
// with the tree that it began with.
func TestConversionsKeepTheTree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		const first = "first"
		st := local.New(vfstest.NewMem(), "/", nil)
		if err := checkpoint.Save(ctx, first, drawState(t), &checkpoint.SaveOptions{Store: st}); err != nil {
			t.Fatal(err)
		}
		from := first
		for i, l := range rapid.SliceOfN(rapid.SampledFrom(allLayouts), 1, 5).Draw(t, "layouts") {
			to := string(rune('a' + i))
			o := &checkpoint.ConvertOptions{Store: st, Options: options.Options{Bivouac: options.Bivouac{Layout: l,
				MemoryBudget: options.Limit(rapid.Int64Range(32<<20, 64<<20).Draw(t, "budget"))}}}
			if l != options.SafetensorsLayout {
				o.Compression = rapid.SampledFrom(allCompressions).Draw(t, "compression")
			}
			if err := checkpoint.Convert(ctx, from, to, o); err != nil {
				t.Fatalf("%v: %v", l, err)
			}
			r, err := integrity.Verify(ctx, to, &integrity.VerifyOptions{Store: st})
			if err != nil || !r.OK() || !r.Manifest {
				t.Fatalf("%v: %v, %+v", l, err, r)
			}
			from = to
		}
		if d, err := differences(ctx, st, first, from); err != nil || len(d) > 0 {
			t.Fatalf("%v\n%v", err, d)
		}
	})
}

// drawState draws a tree that every layout can hold.
func drawState(t *rapid.T) map[string]any {
	state := map[string]any{"step": rapid.Int64().Draw(t, "step"), "lr": 0.5, "on": true}
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching("[a-z]{1,6}"), 1, 5, rapid.ID).Draw(t, "names") {
		w := make([]float32, rapid.IntRange(0, 20000).Draw(t, "n"))
		for i := range w {
			w[i] = float32(i)
		}
		state["w_"+name] = map[string]any{"a": w, "n": []int16{1, 2, 3}}
	}
	return state
}

// What Orbax wrote is converted to every layout and reads the same, or is refused
// by name and nothing is left.
func TestConvertForeign(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	oneTree := []options.Layout{options.SafetensorsLayout}
	for _, c := range []struct {
		name    string
		refuses []options.Layout
	}{
		{"v1-containers", nil},
		{"v1-shapes", nil},
		{"v1-scalars", nil},
		{"v1-items", oneTree},
		{"v1-sharded-2x4", nil},
		{"v1-two-processes", nil},
		{"v0-standard", nil},
		{"st-sharded", nil},
		{"v1-containers-rich", nil},
		{"v1-prng-keys", nil},
	} {
		for _, l := range allLayouts {
			t.Run(c.name+"/"+l.String(), func(t *testing.T) {
				src, dst := filepath.Join(orbaxCases, c.name, "checkpoint"), filepath.Join(t.TempDir(), "dst")
				err := checkpoint.Convert(ctx, src, dst,
					&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}})
				if slices.Contains(c.refuses, l) {
					if left, _ := os.ReadDir(filepath.Dir(dst)); errs.KindOf(err) != errs.Unsupported || len(left) > 0 {
						t.Fatalf("got %v, want Unsupported and nothing left", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if d, err := differences(ctx, nil, src, dst); err != nil || len(d) > 0 {
					t.Fatalf("%v\n%v", err, d)
				}
			})
		}
	}
}

func TestConvertRefusals(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	src, dst := filepath.Join(orbaxCases, "v1-shapes", "checkpoint"), filepath.Join(dir, "dst")
	if err := checkpoint.Convert(ctx, src, dst, nil); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Convert(ctx, src, dst, nil); errs.KindOf(err) != errs.Exists {
		t.Errorf("taken: %v", err)
	}
	if err := checkpoint.Convert(ctx, src, dst,
		&checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}},
			Overwrite: true}); err != nil {
		t.Errorf("overwrite: %v", err)
	}
	if err := checkpoint.Convert(ctx, dir, dst, nil); errs.KindOf(err) != errs.Invalid {
		t.Errorf("no checkpoint: %v", err)
	}
	if err := checkpoint.Convert(ctx, src, dir,
		&checkpoint.ConvertOptions{Overwrite: true}); errs.KindOf(err) != errs.Invalid {
		t.Errorf("over what is no checkpoint: %v", err)
	}
}

// A conversion compares what it has written with what it read, whatever its
// checksums say.
func TestConvertCompares(t *testing.T) {
	named := withLines(t)
	for name, other := range map[string]map[string]any{
		"an array": {"w": words{"a"}, "state": map[string]any{"x": []float32{1, 3}}},
		"a file":   {"w": words{"b"}, "state": map[string]any{"x": []float32{1, 2}}},
		"nothing":  {"w": words{"a"}, "state": map[string]any{"x": []float32{1, 2}}},
	} {
		mem := vfstest.NewMem()
		o := &checkpoint.SaveOptions{Store: local.New(mem, "/", nil)}
		err := errors.Join(
			checkpoint.SaveCheckpointables(named, "from", map[string]any{"w": words{"a"},
				"state": map[string]any{"x": []float32{1, 2}}}, o),
			checkpoint.SaveCheckpointables(named, "other", other, o))
		if err != nil {
			t.Fatal(err)
		}
		fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
			err := do()
			if c.To == "/to" && err == nil { // it is committed, and another one takes its place
				err = errors.Join(mem.Rename("/to", "/away"), mem.Rename("/other", "/to"))
			}
			return err
		})
		err = checkpoint.Convert(named, "from", "to", &checkpoint.ConvertOptions{Store: local.New(fsys, "/", nil)})
		if (err == nil) != (name == "nothing") || err != nil &&
			(errs.KindOf(err) != errs.Corrupt || !strings.Contains(err.Error(), "after writing")) {
			t.Errorf("%s is another one: %v", name, err)
		}
	}
}
