package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func version(n int) map[string]any {
	w := make([]float64, 200)
	for i := range w {
		w[i] = float64(n*1000 + i)
	}
	return map[string]any{"w": w, "n": n}
}

func saveVersion(n int, overwrite bool) crash.Workload {
	return func(fsys vfs.FS, ack func(string)) error {
		err := checkpoint.Save(context.Background(), "ckpt", version(n),
			&checkpoint.SaveOptions{Store: local.New(fsys, "/", nil), Overwrite: overwrite})
		if err == nil {
			ack(fmt.Sprint(n))
		}
		return err
	}
}

// Overwriting: at every moment the old checkpoint is there, or the new one.
func TestPowerLossWhileOverwriting(t *testing.T) {
	check := func(fsys vfs.FS, acked []string) error {
		got, err := checkpoint.Load(context.Background(), "ckpt", &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
		if err != nil {
			return err
		}
		for n := 1; n <= 2; n++ {
			want, err := tree.From(version(n))
			if err != nil {
				return err
			}
			if tree.Equal(want, got) {
				if n == 1 && len(acked) > 0 {
					return errors.New("the new one was acknowledged, and the old one is back")
				}
				return nil
			}
		}
		return errors.New("neither the old nor the new one")
	}
	setup := func(fsys vfs.FS) error { return saveVersion(1, false)(fsys, func(string) {}) }
	report, err := crash.Run(saveVersion(2, true), check, &crash.Options{Setup: setup})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

// A save replaces only checkpoints, and a checkpoint only with Overwrite.
func TestOverwriteRefusals(t *testing.T) {
	ctx := context.Background()
	fsys := vfstest.NewMem()
	st := local.New(fsys, "/", nil)
	if err := saveVersion(1, false)(fsys, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Mkdir("/photos", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := fsys.Mkdir("/photos/of", 0o777); err != nil { // an empty directory may be overwritten
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		o    checkpoint.SaveOptions
		kind errs.Kind
	}{
		"taken":                   {"ckpt", checkpoint.SaveOptions{}, errs.Exists},
		"no checkpoint":           {"photos", checkpoint.SaveOptions{Overwrite: true}, errs.Invalid},
		"no checkpoint, not told": {"photos", checkpoint.SaveOptions{}, errs.Exists},
		"outside":                 {"../x", checkpoint.SaveOptions{}, errs.Invalid},
		"temporary":               {"a.orbax-checkpoint-tmp", checkpoint.SaveOptions{}, errs.Invalid},
		"item name":               {"b", checkpoint.SaveOptions{Name: "a/b"}, errs.Invalid},
		"custom":                  {"b", checkpoint.SaveOptions{Custom: 3}, errs.Invalid},
	} {
		c.o.Store = st
		if err := checkpoint.Save(ctx, c.path, version(1), &c.o); errs.KindOf(err) != c.kind {
			t.Errorf("%s: got %v, want kind %v", name, err, c.kind)
		}
	}
	for name, bad := range map[string]any{
		"nothing": map[string]any{}, "nil": nil, "a function": func() {}, "invalid text": "\xff",
		"colliding": map[string]any{"a.b": map[string]any{"c": 1}, "a": map[string]any{"b.c": 2}},
	} {
		err := checkpoint.Save(ctx, "bad", bad, &checkpoint.SaveOptions{Store: st})
		if k := errs.KindOf(err); k != errs.Invalid && k != errs.Unsupported {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Every leaf is isolated when SaveAsync returns: scalars, maps and arrays.
func TestAsyncIsolation(t *testing.T) {
	ctx := context.Background()
	fsys := vfstest.NewMem()
	o := &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)}
	w := make([]float32, 1<<20)
	state := map[string]any{"w": w, "step": 1, "names": []string{"a"}, "nested": map[string]any{"x": []int32{1}}}
	want, err := tree.From(map[string]any{"w": append([]float32(nil), w...), "step": 1, "names": []string{"a"},
		"nested": map[string]any{"x": []int32{1}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := checkpoint.SaveAsync(ctx, "ckpt", state, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w {
		w[i] = 9
	}
	state["step"], state["nested"].(map[string]any)["x"].([]int32)[0], state["names"].([]string)[0] = 2, 7, "z"
	delete(state, "nested")
	if _, err := r.Result(ctx); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(ctx, "ckpt", &checkpoint.LoadOptions{Store: o.Store})
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(want, got); len(d) > 0 {
		t.Error(tree.FormatDiff(d))
	}
}
