package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

const orbaxCases = "../testdata/orbax"

// putTree copies a directory of the disk to fsys, but what skip says.
func putTree(fsys vfs.FS, to, from string, skip func(name string) bool) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		if skip != nil && skip(filepath.ToSlash(rel)) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		at := path.Join(to, filepath.ToSlash(rel))
		if d.IsDir() {
			return fsys.Mkdir(at, 0o777)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return putFile(fsys, at, b)
	})
}

func putFile(fsys vfs.FS, name string, b []byte) error {
	f, err := fsys.Create(name, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	return errors.Join(err, f.Close())
}

// unmergedCase is a checkpoint of two processes whose databases were not merged.
func unmergedCase(to string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		return putTree(fsys, to, orbaxCases+"/v1-two-processes/checkpoint", func(name string) bool {
			return name == "state/manifest.ocdbt" || name == "state/d"
		})
	}
}

func sessionCase(name, to string) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return putTree(fsys, to, filepath.Join(orbaxCases, name), nil) }
}

// sameAs reports whether the checkpoint name of fsys holds what path of the disk
// holds.
func sameAs(fsys vfs.FS, name, disk string) error {
	state := func(fsys vfs.FS, name string) (string, error) {
		items, err := checkpoint.LoadCheckpointables(context.Background(), name,
			&checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
		return fmt.Sprint(treeText(items["state"])), err
	}
	want, known := onDisk.Load(disk)
	if !known {
		mem := vfstest.NewMem()
		if err := putTree(mem, "/want", disk, nil); err != nil {
			return err
		}
		text, err := state(mem, "want")
		if err != nil {
			return err
		}
		onDisk.Store(disk, text)
		want = text
	}
	got, err := state(fsys, name)
	if err == nil && got != want {
		err = errors.New("other leaves")
	}
	return err
}

// onDisk is what sameAs has read of the disk, by path: thousands of file systems are compared with
// it.
var onDisk sync.Map

// A repair of which power loss, or a failure, stops any operation is completed by
// the next, and the one after that finds nothing to do.
func TestRepairIsRepeatable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		setup      func(vfs.FS) error
		check      func(vfs.FS) error
	}{
		{"unmerged", "c", unmergedCase("/c"), func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/v1-two-processes/checkpoint") }},
		{"session", "c", sessionCase("partial-two/pending.partial_save", "/c.partial_save"),
			func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/partial-two/checkpoint") }},
		{"session that Orbax broke", "c.partial_save", sessionCase("partial-strings-collide/failed.partial_save", "/c.partial_save"), twoStrings},
		{"session in a directory", "run", inRun(sessionCase("partial-strings-collide/pending.partial_save", "/run/c.partial_save")),
			func(fsys vfs.FS) error { return loadStrings(fsys, "run/c") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			repair := func(fsys vfs.FS) (*integrity.RepairReport, error) {
				return integrity.Repair(context.Background(), c.path,
					&integrity.RepairOptions{Store: local.New(fsys, "/", nil), Apply: true})
			}
			check := func(fsys vfs.FS) error {
				path := c.path
				if r, err := repair(fsys); errs.KindOf(err) == errs.NotFound {
					path = strings.TrimSuffix(path, ".partial_save") // the session has become a checkpoint
				} else if err != nil || len(r.Problems) > 0 {
					return fmt.Errorf("second repair: %w, %v", err, r.Problems)
				}
				r, err := integrity.Repair(context.Background(), strings.TrimSuffix(path, ".partial_save"),
					&integrity.RepairOptions{Store: local.New(fsys, "/", nil)})
				if err != nil || len(r.Problems)+len(r.Actions) > 0 {
					return fmt.Errorf("third repair: %w, %v %v", err, r.Problems, r.Actions)
				}
				return c.check(fsys)
			}
			work := func(fsys vfs.FS, _ func(string)) error {
				r, err := repair(fsys)
				if err == nil && len(r.Problems) > 0 {
					err = r.Problems[0]
				}
				return err
			}
			report, err := crash.Run(work, func(fsys vfs.FS, _ []string) error { return check(fsys) },
				&crash.Options{Setup: c.setup, Limit: 16, Samples: 4})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(report)
		})
	}
}

func inRun(setup func(vfs.FS) error) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return errors.Join(fsys.Mkdir("/run", 0o777), setup(fsys)) }
}

func twoStrings(fsys vfs.FS) error { return loadStrings(fsys, "c") }

func loadStrings(fsys vfs.FS, name string) error {
	n, err := checkpoint.Load(context.Background(), name, &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
	if err != nil {
		return err
	}
	if got := treeText(n); got != "s=one t=two " {
		return errors.New("loaded " + got)
	}
	return nil
}

// What cannot be repaired is told and left as it was, to the last bit.
func TestRepairHarmsNothing(t *testing.T) {
	for name, c := range map[string]struct {
		setup    func(vfs.FS) error
		path     string
		problems int
		actions  string
	}{
		"a damaged part": {func(fsys vfs.FS) error {
			return errors.Join(sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(fsys), cutOff(fsys, "/c.partial_save", "_METADATA"))
		}, "c", 1, ""},
		"a taken name": {func(fsys vfs.FS) error {
			return errors.Join(sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(fsys), fsys.Mkdir("/c", 0o777), putFile(fsys, "/c/thesis.tex", nil))
		}, "c.partial_save", 1, ""},
		"one leaf in two parts": {func(fsys vfs.FS) error {
			return errors.Join(sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(fsys), again(fsys, "/c.partial_save"))
		}, "c", 1, ""},
		"an empty session": {func(fsys vfs.FS) error { return fsys.Mkdir("/c.partial_save", 0o777) }, "c", 1, ""},
		"a database that lacks a process": {func(fsys vfs.FS) error {
			return putTree(fsys, "/c", orbaxCases+"/v1-two-processes/checkpoint", func(name string) bool {
				return name == "state/manifest.ocdbt" || name == "state/d" || name == "state/ocdbt.process_1"
			})
		}, "c", 1, ""},
		"no checkpoints": {func(fsys vfs.FS) error {
			return errors.Join(fsys.Mkdir("/run", 0o777), fsys.Mkdir("/run/7", 0o777), putFile(fsys, "/run/7/photo.jpg", nil), fsys.Mkdir("/run/logs", 0o777))
		}, "run", 1, ""},
		"steps": {func(fsys vfs.FS) error {
			return errors.Join(fsys.Mkdir("/run", 0o777), fsys.Mkdir("/run/7", 0o777), fsys.Mkdir("/run/8.damaged", 0o777),
				fsys.Mkdir("/run/9.orbax-checkpoint-tmp", 0o777), unmergedCase("/run/5")(fsys),
				unmergedCase("/run/6")(fsys), cutOff(fsys, "/run/6", "_METADATA"))
		}, "run", 0, "clean 9.orbax-checkpoint-tmp; merge 5/state; set aside 6 6.damaged; set aside 7 7.damaged; "},
	} {
		t.Run(name, func(t *testing.T) {
			mem := vfstest.NewMem()
			if err := c.setup(mem); err != nil {
				t.Fatal(err)
			}
			before := mem.Hash()
			for _, apply := range []bool{false, true} {
				r, err := integrity.Repair(context.Background(), c.path,
					&integrity.RepairOptions{Store: local.New(mem, "/", nil), Apply: apply})
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, a := range r.Actions {
					got += strings.TrimSpace(a.Kind.String()+" "+a.Path+" "+a.To) + "; "
				}
				if len(r.Problems) != c.problems || got != c.actions {
					t.Errorf("apply %v: problems %v, actions %q, want %d and %q", apply, r.Problems, got, c.problems, c.actions)
				}
				if (!apply || c.actions == "") && mem.Hash() != before {
					t.Error("something changed")
				}
			}
		})
	}
}

// A run in which somebody saves is not repaired, and looked at all the same.
func TestRepairBesideAWriter(t *testing.T) {
	st := local.New(vfstest.NewMem(), "/", nil)
	c, err := training.Open(t.Context(), "run", &training.Options{Store: st})
	if err == nil {
		_, err = c.Save(t.Context(), 1, version(1), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, apply := range []bool{false, true} {
		_, err := integrity.Repair(t.Context(), "run", &integrity.RepairOptions{Store: st, Apply: apply})
		if errors.Is(err, errs.Busy) != apply || (err == nil) == apply {
			t.Errorf("apply %v: %v", apply, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := integrity.Repair(t.Context(), "run", &integrity.RepairOptions{Store: st, Apply: true}); err != nil {
		t.Errorf("when it is closed: %v", err)
	}
}

// find calls f for the first file below dir with that base name.
func find(fsys vfs.FS, dir, base string, f func(name string) error) error {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		if e.IsDir() {
			if err := find(fsys, at, base, f); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		} else if e.Name() == base {
			return f(at)
		}
	}
	return fs.ErrNotExist
}

// cutOff cuts a file off.
func cutOff(fsys vfs.FS, dir, base string) error {
	return find(fsys, dir, base,
		func(name string) error { return errors.Join(fsys.Remove(name), putFile(fsys, name, []byte("{"))) })
}

// again makes a later part that saves the string s once more.
func again(fsys vfs.FS, session string) error {
	part := session + "/c.partial_save.pending_1895248913448614920_00000000000000000000000000000000"
	return errors.Join(fsys.Mkdir(part, 0o777), fsys.Mkdir(part+"/state", 0o777),
		putFile(fsys, part+"/state/_strings.json", []byte(`{"s": "other"}`)))
}

// treeText renders the leaves of a tree.
func treeText(v any) string {
	n, ok := v.(*tree.Node)
	if !ok {
		return fmt.Sprint(v)
	}
	var b strings.Builder
	for _, e := range tree.Flatten(n) {
		fmt.Fprintf(&b, "%s=%v ", e.Path, e.Node.Value)
	}
	return b.String()
}
