package checkpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	parted "github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// namesBelow lists all that lies below a directory.
func namesBelow(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// Nothing is saved into a checkpoint or over an item of one, by any call, and the error
// names the checkpoint.
func TestSaveInsideCheckpoint(t *testing.T) {
	ctx := t.Context()
	state := map[string]any{"w": count(600, 1)}
	for _, l := range []options.Layout{options.DefaultLayout, options.PlainZarr3, options.SafetensorsLayout} {
		dir := t.TempDir()
		c, other := filepath.Join(dir, "c"), filepath.Join(dir, "other")
		for _, path := range []string{c, other} {
			o := &checkpoint.SaveOptions{}
			o.Layout = l
			if err := checkpoint.Save(ctx, path, state, o); err != nil {
				t.Fatal(err)
			}
		}
		before := namesBelow(t, dir)
		for _, at := range []string{"x", "state", "state/x", "state/w/x"} {
			path := filepath.Join(c, at)
			for call, err := range map[string]error{
				"save":           checkpoint.Save(ctx, path, state, nil),
				"overwrite":      checkpoint.Save(ctx, path, state, &checkpoint.SaveOptions{Overwrite: true}),
				"partial update": checkpoint.Save(ctx, path, state, &checkpoint.SaveOptions{PartialUpdate: true, Overwrite: true}),
				"part":           parted.Save(ctx, path, state, nil),
				"conversion":     checkpoint.Convert(ctx, other, path, &checkpoint.ConvertOptions{Overwrite: true}),
			} {
				exists := errs.KindOf(err) == errs.Exists && at == "state"
				if !exists && (errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), c)) {
					t.Errorf("%v: %s to %s: %v", l, call, at, err)
				}
			}
			if _, err := training.Open(ctx, path, nil); errs.KindOf(err) != errs.Invalid {
				t.Errorf("%v: a run in %s: %v", l, at, err)
			}
		}
		if _, err := training.Open(ctx, c, nil); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%v: a run in the checkpoint: %v", l, err)
		}
		if after := namesBelow(t, dir); !slices.Equal(before, after) {
			t.Errorf("%v: %q became %q", l, before, after)
		}
	}
}

// A flat checkpoint, without the document at the root, is not a directory of a run.
func TestRunInFlatCheckpoint(t *testing.T) {
	dir := t.TempDir()
	if err := checkpoint.Save(t.Context(), filepath.Join(dir, "c"), map[string]any{"w": count(600, 1)}, nil); err != nil {
		t.Fatal(err)
	}
	flat := filepath.Join(dir, "flat")
	if err := os.Rename(filepath.Join(dir, "c", "state"), flat); err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{flat, filepath.Join(flat, "run")} {
		if _, err := training.Open(t.Context(), at, nil); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// The directory of a run is not replaced by a checkpoint, and what to do is said.
func TestSaveOverRun(t *testing.T) {
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "run")
	state := map[string]any{"w": count(600, 1)}
	run, err := training.Open(ctx, dir, &training.Options{Options: options.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run.Save(ctx, 10, state, nil); err != nil {
		t.Fatal(err)
	}
	before := namesBelow(t, dir)
	for call, o := range map[string]*checkpoint.SaveOptions{"save": nil, "overwrite": {Overwrite: true},
		"partial update": {PartialUpdate: true, Overwrite: true}} {
		err := checkpoint.Save(ctx, dir, state, o)
		want := errs.Invalid
		if o == nil {
			want = errs.Exists
		}
		if errs.KindOf(err) != want || !strings.Contains(err.Error(), "training.Open") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
	if after := namesBelow(t, dir); !slices.Equal(before, after) {
		t.Errorf("%q became %q", before, after)
	}
}

// Items whose names differ in case only are refused, at once and one after the other.
func TestItemsThatDifferInCase(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	item := map[string]any{"w": count(600, 1)}
	for _, names := range [][2]string{{"params", "Params"}, {"straße", "STRAßE"},
		{"k", "\u212a"}} { // the last is the sign of kelvin
		both := map[string]any{names[0]: item, names[1]: item}
		for call, err := range map[string]error{
			"save": checkpoint.SaveCheckpointables(ctx, filepath.Join(dir, "c"), both, nil),
			"part": parted.SaveCheckpointables(ctx, filepath.Join(dir, "p"), both, nil),
		} {
			if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "case") {
				t.Errorf("%s of %q: %v", call, names, err)
			}
		}
		c, p := filepath.Join(t.TempDir(), "c"), filepath.Join(t.TempDir(), "p")
		for i, name := range names {
			one := map[string]any{name: item}
			for call, err := range map[string]error{
				"update": checkpoint.SaveCheckpointables(ctx, c, one, &checkpoint.SaveOptions{PartialUpdate: true}),
				"part":   parted.SaveCheckpointables(ctx, p, one, nil),
			} {
				if i == 0 && err != nil || i == 1 && errs.KindOf(err) != errs.Invalid {
					t.Errorf("%s of %q: %v", call, name, err)
				}
			}
		}
	}
	run, err := training.Open(ctx, filepath.Join(dir, "run"), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.SaveCheckpointables(ctx, 1, map[string]any{"Metrics": item},
		&training.SaveOptions{Metrics: map[string]float64{"loss": 1}})
	if errs.KindOf(err) != errs.Invalid {
		t.Errorf("an item beside metrics: %v", err)
	}
	if err := run.Close(); err != nil {
		t.Fatal(err)
	}
}
