package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

func count(n int, from float32) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = from + float32(i)
	}
	return out
}

// holds compares a checkpoint, which must verify, with values.
func holds(ctx context.Context, name string, want any, o *checkpoint.LoadOptions) error {
	got, err := checkpoint.Load(ctx, name, o)
	if err != nil {
		return err
	}
	w, err := tree.From(want)
	if err != nil {
		return err
	}
	if d := tree.Diff(tree.Untyped(w), tree.Untyped(got)); len(d) > 0 {
		return fmt.Errorf("%s: %s", name, tree.FormatDiff(d))
	}
	r, err := integrity.Verify(ctx, name, &integrity.VerifyOptions{Store: o.Store, Key: o.Verification})
	if err == nil && !r.OK() {
		err = r.Problems[0]
	}
	return err
}

// A checkpoint grows by updates, in every layout, signed and not.
func TestPartialUpdate(t *testing.T) {
	ctx := t.Context()
	public, private := signingKey(3)
	for _, l := range []options.Layout{options.DefaultLayout, options.OCDBTZarr2, options.PlainZarr3, options.PlainZarr2} {
		for _, signed := range []bool{false, true} {
			t.Run(fmt.Sprint(l, signed), func(t *testing.T) {
				st := local.New(vfstest.NewMem(), "/", nil)
				o := func(overwrite bool) *checkpoint.SaveOptions {
					o := &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: l}}, Store: st,
						PartialUpdate: true, Overwrite: overwrite}
					if signed {
						o.Signing = private
					}
					return o
				}
				lo := &checkpoint.LoadOptions{Store: st}
				if signed {
					lo.Verification = public
				}
				state := map[string]any{"a": count(5000, 0), "s": "one", "n": 1}
				if err := checkpoint.Save(ctx, "c", state, o(false)); err != nil {
					t.Fatal(err)
				}
				if err := checkpoint.Save(ctx, "c", map[string]any{"b": map[string]any{"w": count(4000, 2), "t": "two"}},
					o(false)); err != nil {
					t.Fatal(err)
				}
				state["b"] = map[string]any{"w": count(4000, 2), "t": "two"}
				if err := holds(ctx, "c", state, lo); err != nil {
					t.Fatal(err)
				}
				if err := checkpoint.Save(ctx, "c", map[string]any{"a": count(300, 7)}, o(false)); errs.KindOf(err) != errs.Exists {
					t.Fatalf("a leaf that is there: %v", err)
				}
				if err := checkpoint.Save(ctx, "c", map[string]any{"a": count(300, 7), "s": map[string]any{"x": 5}},
					o(true)); err != nil {
					t.Fatal(err)
				}
				state["a"], state["s"] = count(300, 7), map[string]any{"x": 5}
				if err := holds(ctx, "c", state, lo); err != nil {
					t.Fatal(err)
				}
				if signed {
					unsigned := o(true)
					unsigned.Signing = nil
					if err := checkpoint.Save(ctx, "c", map[string]any{"z": 1}, unsigned); errs.KindOf(err) != errs.Invalid {
						t.Errorf("an update without the key: %v", err)
					}
				}
				more := o(false)
				more.Name = "opt"
				if err := checkpoint.Save(ctx, "c", map[string]any{"m": count(2000, 1)}, more); err != nil {
					t.Fatal(err)
				}
				if err := holds(ctx, "c", state, lo); err != nil {
					t.Fatal(err)
				}
				lo.Name = "opt"
				if err := holds(ctx, "c", map[string]any{"m": count(2000, 1)}, lo); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// What others made can be added to, and so can steps; what nothing can be added to
// says so.
func TestPartialUpdateOf(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	run, err := training.Open(ctx, filepath.Join(dir, "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Save(ctx, 3, map[string]any{"a": count(3000, 0)}, nil); err != nil {
		t.Fatal(err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, filepath.Join(dir, "run/3"), map[string]any{"b": "x"},
		&checkpoint.SaveOptions{PartialUpdate: true}); err != nil {
		t.Fatal(err)
	}
	if run, err = training.Open(ctx, filepath.Join(dir, "run"), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := run.Load(ctx, training.Latest, nil); err != nil || n.Get("b") == nil {
		t.Fatal(n, err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}

	foreign := vfstest.NewMem()
	if err := putTree(foreign, "/c", filepath.Join(orbaxCases, "partial-two/checkpoint"), nil); err != nil {
		t.Fatal(err)
	}
	st := local.New(foreign, "/", nil)
	before, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, "c", map[string]any{"added": count(3000, 1)},
		&checkpoint.SaveOptions{Store: st, PartialUpdate: true}); err != nil {
		t.Fatal(err)
	}
	all := before.Set("added", tree.NewLeaf(nil))
	n, err := tree.From(count(3000, 1))
	if err != nil {
		t.Fatal(err)
	}
	if err := holds(ctx, "c", all.Set("added", n), &checkpoint.LoadOptions{Store: st}); err != nil {
		t.Fatal(err)
	}

	if err := checkpoint.Save(ctx, "s", map[string]any{"a": count(30, 0)},
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}},
			Store: st}); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Save(ctx, "s", map[string]any{"b": 1},
		&checkpoint.SaveOptions{Store: st, PartialUpdate: true}); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("an update of safetensors: %v", err)
	}
	if err := checkpoint.Save(ctx, "c", map[string]any{"q": 1},
		&checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}}, Store: st,
			PartialUpdate: true}); errs.KindOf(err) != errs.Mismatch {
		t.Errorf("an update in another layout: %v", err)
	}
}

// After power loss at any moment a checkpoint is what it was or what it becomes.
func TestPartialUpdateCrash(t *testing.T) {
	state := func(n int) map[string]any {
		m := map[string]any{"a": count(400, float32(n))}
		for i := range n {
			m[fmt.Sprint("l", i)] = count(300, float32(i))
		}
		return m
	}
	work := func(fsys vfs.FS, ack func(string)) error {
		st := local.New(fsys, "/", nil)
		for n := range 3 {
			part := map[string]any{"a": count(400, float32(n))}
			if n > 0 {
				part[fmt.Sprint("l", n-1)] = count(300, float32(n-1))
			}
			if err := checkpoint.Save(context.Background(), "c", part,
				&checkpoint.SaveOptions{Store: st, PartialUpdate: true, Overwrite: true}); err != nil {
				return err
			}
			ack("saved")
		}
		return nil
	}
	check := func(fsys vfs.FS, acked []string) error {
		o := &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)}
		was := holds(context.Background(), "c", state(len(acked)-1), o)
		if was == nil || len(acked) == 0 && errs.KindOf(was) == errs.NotFound {
			return nil
		}
		return holds(context.Background(), "c", state(len(acked)), o)
	}
	report, err := crash.Run(work, check, &crash.Options{Limit: 16, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
}

// Any sequence of updates is the sum of them.
func TestPartialUpdates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		st := local.New(vfstest.NewMem(), "/", nil)
		sum := map[string]any{}
		for i := range rapid.IntRange(1, 5).Draw(t, "updates") {
			part := map[string]any{}
			for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 1, 3,
				rapid.ID[string]).Draw(t, "keys") {
				part[k] = rapid.SampledFrom([]any{count(1, float32(i)), count(700, float32(i)), "text", i, nil}).Draw(t, "value")
				sum[k] = part[k]
			}
			if err := checkpoint.Save(ctx, "c", part, &checkpoint.SaveOptions{Store: st, PartialUpdate: true,
				Overwrite: true}); err != nil {
				t.Fatal(err)
			}
			if err := holds(ctx, "c", sum, &checkpoint.LoadOptions{Store: st}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Nothing is added to a checkpoint of which a document is not what was written, or
// could not be read.
func TestPartialUpdateOfDamaged(t *testing.T) {
	ctx := t.Context()
	mem := vfstest.NewMem()
	if err := savedFrom("c", 1, "")(mem); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	update := func(fsys vfs.FS) error {
		return checkpoint.Save(ctx, "c", map[string]any{"x": 1},
			&checkpoint.SaveOptions{Store: local.New(fsys, "/", nil), PartialUpdate: true})
	}
	documents := 0
	for _, name := range allNames(t, mem, "/c") {
		fsys := mem.Clone()
		b, err := store.ReadAll(ctx, local.New(fsys, "/", nil), strings.TrimPrefix(name, "/"))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b) || path.Base(name) == manifest.Name {
			continue
		}
		documents++
		if err := errors.Join(fsys.Remove(name), putFile(fsys, name, append(b, '\n'))); err != nil {
			t.Fatal(err)
		}
		before := fsys.Hash()
		if err := update(fsys); errs.KindOf(err) != errs.Corrupt || fsys.Hash() != before {
			t.Errorf("%s is longer: %v", name, err)
		}
	}
	if documents < 2 {
		t.Errorf("%d documents", documents)
	}
	for n := 1; ; n++ {
		fsys := mem.Clone()
		f := vfstest.NewFault(fsys, vfstest.Plan{N: n, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
			return c.Op == vfstest.OpOpen && c.Name == "/c/_CHECKPOINT_METADATA"
		}})
		err := update(f)
		if _, hits := f.Hit(); hits == 0 {
			break
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("the metadata cannot be opened, the %d. time: %v", n, err)
		}
	}
}

// An update that asks for another layout than the checkpoint has is refused by the
// name of the option.
func TestPartialUpdateInAnotherLayout(t *testing.T) {
	mem := vfstest.NewMem()
	if err := savedFrom("c", 1, "")(mem); err != nil {
		t.Fatal(err)
	}
	o := &checkpoint.SaveOptions{Store: local.New(mem, "/", nil), PartialUpdate: true}
	o.Bivouac.Layout = options.PlainZarr2
	err := checkpoint.Save(t.Context(), "c", map[string]any{"x": 1}, o)
	if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "SaveOptions.Layout") {
		t.Error(err)
	}
}
