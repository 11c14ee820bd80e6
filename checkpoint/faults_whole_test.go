package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// turn is a work that turns one whole state of a disk into another one.
type turn struct {
	name   string
	setup  func(fsys vfs.FS) error
	do     func(ctx context.Context, st store.Store) error
	before func(fsys vfs.FS) error // what holds until it is done
	after  func(fsys vfs.FS) error // what holds when it is
}

var turns = []turn{
	{
		name:  "save that links",
		setup: savedFrom("a", 1, "a"),
		do: func(ctx context.Context, st store.Store) error {
			return checkpoint.Save(ctx, "b", partOf(2), &checkpoint.SaveOptions{Store: st, Base: "a", VerifyEvery: 1})
		},
		before: both(loads("a", partOf(1)), absent("b")),
		after:  both(loads("a", partOf(1)), loads("b", partOf(2))),
	},
	{
		name:  "overwriting save that links to what it replaces",
		setup: savedFrom("a", 1, "a"),
		do: func(ctx context.Context, st store.Store) error {
			return checkpoint.Save(ctx, "a", partOf(2), &checkpoint.SaveOptions{Store: st, Base: "a", Overwrite: true})
		},
		before: loads("a", partOf(1)),
		after:  loads("a", partOf(2)),
	},
	{
		name:  "finalize",
		setup: sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save"),
		do: func(ctx context.Context, st store.Store) error {
			return partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st})
		},
		before: there("/c.partial_save"), // and it can be finalized, which is tried
		after:  both(twoStrings, absent("c.partial_save")),
	},
	{
		name:   "finalize with arrays",
		setup:  sessionCase("partial-two/pending.partial_save", "/c.partial_save"),
		do:     repairs("c"),
		before: there("/c.partial_save"),
		after: both(func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/partial-two/checkpoint") },
			absent("c.partial_save")),
	},
	{
		name:   "repair of databases that were not merged",
		setup:  unmergedCase("/c"),
		do:     repairs("c"),
		before: func(fsys vfs.FS) error { return sameAs(fsys, "c", orbaxCases+"/v1-two-processes/checkpoint") },
		after: func(fsys vfs.FS) error {
			return errors.Join(there("/c/state/manifest.ocdbt")(fsys), sameAs(fsys, "c", orbaxCases+"/v1-two-processes/checkpoint"))
		},
	},
	{
		name: "repair of a run",
		setup: func(fsys vfs.FS) error {
			return errors.Join(fsys.Mkdir("/run", 0o777), savedFrom("run/4", 1, "run/4")(fsys), fsys.Mkdir("/run/9.orbax-checkpoint-tmp", 0o777),
				putFile(fsys, "/run/9.orbax-checkpoint-tmp/x", []byte("x")), savedFrom("run/6", 2, "run/6")(fsys), cutOff(fsys, "/run/6", "_METADATA"))
		},
		do:     repairs("run"),
		before: both(loads("run/4", partOf(1)), oneOf("/run/6", "/run/6.damaged")),
		after:  both(loads("run/4", partOf(1)), absent("run/6"), there("/run/6.damaged"), absent("run/9.orbax-checkpoint-tmp")),
	},
	{
		name:  "convert",
		setup: savedFrom("a", 1, "a"),
		do: func(ctx context.Context, st store.Store) error {
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.OCDBTZarr2, Compression: options.Zstd}}, Store: st})
		},
		before: both(loads("a", partOf(1)), absent("b")),
		after:  both(loads("a", partOf(1)), loads("b", partOf(1))),
	},
	{
		name: "overwriting convert",
		setup: func(fsys vfs.FS) error {
			return errors.Join(savedFrom("a", 1, "a")(fsys), savedFrom("b", 2, "b")(fsys))
		},
		do: func(ctx context.Context, st store.Store) error {
			return checkpoint.Convert(ctx, "a", "b", &checkpoint.ConvertOptions{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}}, Store: st, Overwrite: true})
		},
		before: both(loads("a", partOf(1)), loads("b", partOf(2))),
		after:  both(loads("a", partOf(1)), loads("b", partOf(1))),
	},
}

// partOf is a state of which one array is the same in all versions.
func partOf(version int) map[string]any {
	w := make([]float64, 200)
	for i := range w {
		w[i] = float64(i)
	}
	return map[string]any{"w": w, "n": version}
}

func savedFrom(name string, version int, base string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		return checkpoint.Save(context.Background(), name, partOf(version),
			&checkpoint.SaveOptions{Store: local.New(fsys, "/", nil), Base: base})
	}
}

func repairs(name string) func(context.Context, store.Store) error {
	return func(ctx context.Context, st store.Store) error {
		r, err := integrity.Repair(ctx, name, &integrity.RepairOptions{Store: st, Apply: true})
		if err == nil && len(r.Problems) > 0 {
			err = r.Problems[0]
		}
		return err
	}
}

func both(checks ...func(vfs.FS) error) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		for _, c := range checks {
			if err := c(fsys); err != nil {
				return err
			}
		}
		return nil
	}
}

func loads(name string, state map[string]any) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		got, err := checkpoint.Load(context.Background(), name, &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
		if err != nil {
			return err
		}
		want, err := tree.From(state)
		if err == nil && !tree.Equal(want, got) {
			err = fmt.Errorf("%s holds another state", name)
		}
		return err
	}
}

func there(name string) func(vfs.FS) error {
	return func(fsys vfs.FS) error { _, err := fsys.Stat(name); return err }
}

func absent(name string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		if _, err := fsys.Stat("/" + name); err == nil {
			return fmt.Errorf("%s is there", name)
		}
		return nil
	}
}

func oneOf(a, b string) func(vfs.FS) error {
	return func(fsys vfs.FS) error {
		if (there(a)(fsys) == nil) == (there(b)(fsys) == nil) {
			return fmt.Errorf("%s and %s, or neither", a, b)
		}
		return nil
	}
}

// others are files that are nobody's business, everywhere where one may lie.
var others = []string{"/thesis.tex", "/photos/1.jpg", "/photos/2.orbax-checkpoint-tmp"}

func putOthers(fsys vfs.FS) error {
	err := fsys.Mkdir("/photos", 0o777)
	for _, name := range others {
		err = errors.Join(err, putFile(fsys, name, []byte("precious")))
	}
	return err
}

func othersThere(fsys vfs.FS) error {
	for _, name := range others {
		if info, err := fsys.Stat(name); err != nil || info.Size() != int64(len("precious")) {
			return fmt.Errorf("%s was touched: %w", name, err)
		}
	}
	return nil
}

// left says what is wrong with what a turn left behind.
func (u turn) left(o crash.Outcome) error {
	if err := othersThere(o.FS); err != nil {
		return err
	}
	done := u.after(o.FS)
	switch {
	case o.Err == nil && done != nil:
		return fmt.Errorf("no error, and %w", done)
	case o.Err != nil && errs.KindOf(o.Err) == errs.Other:
		return errors.New("an error without a kind")
	case o.Err != nil && o.Plan.Err != nil && !errors.Is(o.Err, o.Plan.Err):
		return errors.New("not what the system said")
	case done != nil:
		if err := u.before(o.FS); err != nil {
			return fmt.Errorf("neither done (%w) nor as it was: %w", done, err)
		}
	}
	st := local.New(o.FS, "/", nil)
	if _, err := st.CleanStaging(context.Background(), "", nil); err != nil {
		return err
	}
	if done == nil {
		return nil
	}
	if err := u.do(context.Background(), st); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	if err := u.after(o.FS); err != nil {
		return fmt.Errorf("again: %w", err)
	}
	return othersThere(o.FS)
}

// Every call of what changes whole checkpoints fails in every way: what was there
// is there, or what was to be, nothing of others is touched, and a second attempt
// finishes it.
func TestEveryTurnFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of saves, one after the other")
	}
	for _, u := range turns {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			setup := func(fsys vfs.FS) error { return errors.Join(u.setup(fsys), putOthers(fsys)) }
			work := func(fsys vfs.FS, _ func(string)) error { return u.do(context.Background(), local.New(fsys, "/", nil)) }
			kinds := []string{"EIO", "EIO after the effect"}
			switch {
			case os.Getenv("BIVOUAC_LONG") != "":
				kinds = nil // all
			case raceDetector:
				kinds = kinds[1:]
			}
			runs, err := crash.Faults(setup, work, u.left, kinds...)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d faults", runs)
		})
	}
}

// A session is finalized once more after the last sync of the first time failed:
// until the name of the checkpoint is durable the session stays.
func TestPowerLossAfterUncertainFinalize(t *testing.T) {
	finalize := func(fsys vfs.FS, _ func(string)) error {
		return partial.Finalize(context.Background(), "c", &partial.FinalizeOptions{Store: local.New(fsys, "/", nil)})
	}
	mem := vfstest.NewMem()
	if err := sessionCase("partial-strings-collide/pending.partial_save", "/c.partial_save")(mem); err != nil {
		t.Fatal(err)
	}
	mem.SyncAll()
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSyncDir && c.Name == "/" }})
	if err := finalize(f, nil); !errors.Is(err, store.ErrUncertain) {
		t.Fatalf("the last sync failed: %v", err)
	}
	report, err := crash.Run(finalize, func(fsys vfs.FS, _ []string) error {
		if twoStrings(fsys) == nil {
			return nil
		}
		return errors.Join(finalize(fsys, nil), twoStrings(fsys))
	}, &crash.Options{From: mem, Limit: 256})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
