package training_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// steps makes a run with these steps.
func makeRun(t *testing.T, dir string, steps ...int64) {
	t.Helper()
	c, err := training.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range steps {
		if _, err := c.Save(t.Context(), step, model(step), &training.SaveOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// Remains names each directory that is or was a step and is not listed, and none of
// somebody else's.
func TestRemains(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 10, 20, 30, 40, 50)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Rename(filepath.Join(dir, "20"), filepath.Join(dir, "20.damaged-2")))
	must(os.Remove(filepath.Join(dir, "30", "bivouac.manifest")))
	must(os.Remove(filepath.Join(dir, "30", "_CHECKPOINT_METADATA")))
	must(os.Remove(filepath.Join(dir, "40", "bivouac.manifest")))
	must(os.Truncate(filepath.Join(dir, "40", "_CHECKPOINT_METADATA"), 0))
	must(os.Rename(filepath.Join(dir, "50"), filepath.Join(dir, "ckpt_00000050")))
	must(os.Symlink(filepath.Join(dir, "10"), filepath.Join(dir, "60")))
	must(os.Mkdir(filepath.Join(dir, "70"), 0o777))
	for _, mine := range []string{"80", "notes", "notes.damaged", "0005", "step_9", "aside-20200101T000000Z",
		store.StagingName("5", "0123456789abcdef")} {
		must(os.MkdirAll(filepath.Join(dir, mine, "mine"), 0o777))
	}
	c, err := training.Open(t.Context(), dir, nil)
	must(err)
	defer c.Close()
	remains, err := c.Remains(t.Context())
	must(err)
	var got []string
	for _, r := range remains {
		got = append(got, fmt.Sprint(r.Name, " ", errs.KindOf(r.Err)))
	}
	want := []string{"20.damaged-2 corrupt", "30 invalid", "40 corrupt", "60 invalid", "70 invalid",
		"ckpt_00000050 invalid"}
	if !slices.Equal(got, want) || !slices.Equal(c.Steps(), []int64{10}) {
		t.Errorf("got %q, want %q; steps %v", got, want, c.Steps())
	}
}

// contents returns the contents of all files below dir, except the lock's. They are never empty.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	if err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == store.LockName {
			return err
		}
		b, err := os.ReadFile(name)
		out = append(out, string(b))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// StartFresh moves all steps and their remains, keeps each byte, and leaves what is not a step
// where it is.
func TestStartFresh(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 8, 9, 10)
	for _, name := range []string{"10", "8"} {
		if err := os.Remove(filepath.Join(dir, name, "commit_success.txt")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "10", "_CHECKPOINT_METADATA")); err != nil {
		t.Fatal(err)
	}
	for _, mine := range []string{"notes", "7.damaged", store.StagingName("5", "0123456789abcdef")} {
		if err := os.MkdirAll(filepath.Join(dir, mine), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, mine, "file"), []byte(mine), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	before := contents(t, dir)
	for round, want := range [][]string{
		{"aside-20260701T120000Z/7.damaged", "aside-20260701T120000Z/8", "aside-20260701T120000Z/9", "aside-20260701T120000Z/10"},
		nil,
		{"aside-20260701T120000Z-2/3"},
	} {
		var moved []string
		c, err := training.Open(t.Context(), dir, &training.Options{Clean: true, StartFresh: true,
			Now: func() time.Time { return now }, OnEvent: func(e training.Event) {
				if e.Kind == training.MovedAside {
					moved = append(moved, e.Name)
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Steps()) > 0 || !slices.Equal(moved, want) {
			t.Errorf("round %d: steps %v, moved %q, want %q", round, c.Steps(), moved, want)
		}
		if after := contents(t, dir); !slices.Equal(before, after) {
			t.Errorf("round %d: %d files, want %d with the same bytes", round, len(after), len(before))
		}
		if round == 1 {
			if _, err := c.Save(t.Context(), 3, model(3), nil); err != nil {
				t.Fatal(err)
			}
			before = contents(t, dir)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := checkpoint.Load(t.Context(), filepath.Join(dir, "aside-20260701T120000Z", "9"), nil); err != nil {
		t.Errorf("a step that was moved does not load: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes", "file")); err != nil {
		t.Error(err)
	}
}

// StartFresh needs the lock: beside another writer nothing is moved.
func TestStartFreshBesideWriter(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 1)
	c, err := training.Open(t.Context(), dir, &training.Options{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := training.Open(t.Context(), dir, &training.Options{StartFresh: true}); !errors.Is(err, errs.Busy) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "1", "bivouac.manifest")); err != nil {
		t.Error(err)
	}
}

// A directory that is a checkpoint, or lies in one, is not a directory of a run.
func TestWrongLevel(t *testing.T) {
	dir := t.TempDir()
	makeRun(t, dir, 640)
	before := contents(t, dir)
	for _, below := range []string{"640", "640/state", "640/state/d", "640/new"} {
		at := filepath.Join(dir, below)
		if _, err := training.Open(t.Context(), at, nil); !errors.Is(err, errs.Invalid) ||
			!strings.Contains(err.Error(), dir+")") {
			t.Errorf("training.Open of %s: got %v, want the remedy to open %s", below, err, dir)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := training.Open(t.Context(), filepath.Join(file, "run"), &training.Options{Clean: true}); err == nil {
		t.Error("a run below a file was opened")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for below, remedy := range map[string]string{"640/state": "open " + filepath.Join(dir, "640"),
		"640/state/d": "open the checkpoint above " + filepath.Join(dir, "640/state")} {
		at := filepath.Join(dir, below)
		if _, err := checkpoint.Load(t.Context(), at, nil); !errors.Is(err, errs.Invalid) ||
			!strings.Contains(err.Error(), remedy) {
			t.Errorf("checkpoint.Load of %s: got %v", below, err)
		}
	}
	if after := contents(t, dir); !slices.Equal(before, after) {
		t.Error("the checkpoint was changed")
	}
}

// A lock file or directory that goes while a run is open fails each save from then on,
// and nothing is made under the old name.
func TestLockRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		take func(dir string) error
		kind errs.Kind
	}{
		"lock file":         {func(dir string) error { return os.Remove(filepath.Join(dir, store.LockName)) }, errs.NotFound},
		"directory":         {os.RemoveAll, errs.NotFound},
		"directory renamed": {func(dir string) error { return os.Rename(dir, dir+"-old") }, errs.NotFound},
		"another writer": {func(dir string) error {
			if err := os.Remove(filepath.Join(dir, store.LockName)); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, store.LockName), nil, 0o666)
		}, errs.Busy},
	} {
		for _, lock := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " ", lock), func(t *testing.T) {
				if !lock && (name == "lock file" || name == "another writer") {
					t.Skip("there is no lock to remove")
				}
				dir := filepath.Join(t.TempDir(), "run")
				ck, err := training.Open(t.Context(), dir, &training.Options{NoLock: !lock})
				if err != nil {
					t.Fatal(err)
				}
				defer ck.Close()
				if _, err := ck.Save(t.Context(), 1, model(1), nil); err != nil {
					t.Fatal(err)
				}
				if err := c.take(dir); err != nil {
					t.Fatal(err)
				}
				for step := int64(2); step < 4; step++ {
					if _, err := ck.Save(context.Background(), step, model(step), nil); errs.KindOf(err) != c.kind {
						t.Errorf("save of step %d: got %v, want %v", step, err, c.kind)
					}
					if _, err := os.Stat(filepath.Join(dir, fmt.Sprint(step))); err == nil {
						t.Errorf("step %d is there", step)
					}
				}
			})
		}
	}
}
