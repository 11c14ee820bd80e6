package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

func TestPatternsRefused(t *testing.T) {
	c := collected(t, checkpoint.New(), 1)
	for _, p := range []string{"", "a.json", "a_{}.json", "a_{n}.json", "a_{seq}_{seq}.json", "a_{seq", "a_seq}", "{seq:zz}", "{seq!x}", "{seq.real}", "{seq:.2d}", "{seq:,x}", "{seq:,n}", "{seq:f}", "{seq:c}", "{seq:65}", "{seq:é}"} {
		if _, err := c.Save(t.Context(), filepath.Join(t.TempDir(), p)); !errors.Is(err, errs.Invalid) {
			t.Errorf("Save(%q): %v", p, err)
		}
		if _, err := c.Load(filepath.Join(t.TempDir(), p)); !errors.Is(err, errs.Invalid) {
			t.Errorf("Load(%q): %v", p, err)
		}
	}
}

// Characters that mean something to a shell mean themselves.
func TestGlobCharacters(t *testing.T) {
	dir := t.TempDir()
	c := collected(t, checkpoint.New(), 1)
	decoy := filepath.Join(dir, "a5_9.json")
	if err := os.WriteFile(decoy, []byte("no state"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"a[0-9]_{seq}.json", "b_{seq}{{x}}.json", "[!a]{seq:03d}"} {
		path, err := c.Save(t.Context(), filepath.Join(dir, p))
		if err != nil {
			t.Fatal(err)
		}
		loaded := checkpoint.New()
		if got, err := loaded.Load(filepath.Join(dir, p)); got != path || err != nil {
			t.Errorf("%s: loaded %q, %v; saved %q", p, got, err, path)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	c := checkpoint.New()
	if _, err := c.Load(filepath.Join(dir, "none", "{seq}.json")); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if _, err := c.Load(filepath.Join(dir, "{seq}.json")); !errors.Is(err, errs.NotFound) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "4.json"), []byte(`{"version": 2, "sta`), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Load(filepath.Join(dir, "{seq}.json")); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if c.IsLoaded() {
		t.Error("loaded")
	}
}

func TestUnwritableDirectory(t *testing.T) {
	dir := t.TempDir()
	c := collected(t, checkpoint.New(), 1)
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Save(t.Context(), filepath.Join(blocked, "{seq}.json")); err == nil {
		t.Error("a directory below a file")
	}
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("permissions do not bind this user")
	}
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Save(t.Context(), filepath.Join(closed, "{seq}.json")); !errors.Is(err, errs.Permission) {
		t.Error(err)
	}
}

// names returns the names of the files in dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestKeep(t *testing.T) {
	dir := t.TempDir()
	for _, other := range []string{"s_x.json", "s_.json", "t_0.json", "s_900.txt"} {
		if err := os.WriteFile(filepath.Join(dir, other), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := collected(t, checkpoint.NewWith(checkpoint.Options{Keep: 2}), 1)
	for range 5 {
		if _, err := c.Save(t.Context(), filepath.Join(dir, "s_{seq:03d}.json")); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"s_.json", "s_003.json", "s_004.json", "s_900.txt", "s_x.json", "t_0.json"}, names(t, dir)); d != "" {
		t.Error(d)
	}
}

// on makes checkpoints that write to a file system in memory.
func on(fsys vfs.FS, o checkpoint.Options) *checkpoint.Checkpoint {
	return checkpoint.NewOn(o, func(dir string) (store.Store, error) { return local.New(fsys, dir, nil), nil })
}

const runPattern = "/run/{seq}.json"

// saving saves some states, of which every one that Save returned for is acknowledged.
func saving(t *testing.T, n int) crash.Workload {
	return func(fsys vfs.FS, ack func(string)) error {
		for i := range n {
			c := collected(t, on(fsys, checkpoint.Options{Extend: true, Keep: 2}), 100+i)
			path, err := c.Save(context.Background(), runPattern)
			if path != "" {
				ack(strconv.Itoa(100 + i))
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// newest holds the newest state that can be loaded against what was acknowledged.
func newest(fsys vfs.FS, acked []string) error {
	c := on(fsys, checkpoint.Options{})
	path, err := c.Load(runPattern)
	switch {
	case errors.Is(err, errs.NotFound) && len(acked) == 0:
		return nil
	case err != nil:
		return fmt.Errorf("after %v: %w", acked, err)
	}
	text, err := c.Serialize()
	if err != nil {
		return err
	}
	var words int
	if _, err := fmt.Sscanf(path, "/run/%d.json", &words); err != nil || words < len(acked)-1 {
		return fmt.Errorf("after %v, %s is the newest: %s (%w)", acked, path, text, err)
	}
	return nil
}

// Power may fail at any moment: what Save returned for is there, and whole.
func TestCrash(t *testing.T) {
	r, err := crash.Run(saving(t, 4), newest, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
}

// Whatever operation of the system fails: the newest file that was there can be loaded.
func TestFaults(t *testing.T) {
	setup := func(fsys vfs.FS) error { return saving(t, 2)(fsys, func(string) {}) }
	runs, err := crash.Faults(setup, saving(t, 2),
		func(o crash.Outcome) error { return newest(o.FS, []string{"100", "101"}) })
	if err != nil {
		t.Fatal(err)
	}
	t.Log(runs, "runs")
}
