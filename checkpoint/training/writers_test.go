package training_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
)

// step saves one step, whatever the policy says.
func step(c *training.Checkpointer, n int64) error {
	_, err := c.SaveCheckpointables(context.Background(), n, map[string]any{"state": model(n), "data": position(n)},
		&training.SaveOptions{Force: true})
	return err
}

func listed(c *training.Checkpointer) (steps []int64) {
	for _, in := range c.Checkpoints() {
		steps = append(steps, in.Step)
	}
	return steps
}

// A second writer is told who the first is, and readers and those that save as
// one with it are let in.
func TestOneWriter(t *testing.T) {
	ctx := context.Background()
	mem := vfstest.NewMem()
	open := func(o training.Options) *training.Checkpointer {
		t.Helper()
		c, err := openOn(mem, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	first := open(training.Options{Clean: true}) // the directory is not there yet
	if err := step(first, 1); err != nil {
		t.Fatal(err)
	}
	busy := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, errs.Busy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", os.Getpid())) ||
			!strings.Contains(err.Error(), " since ") || !strings.Contains(err.Error(), "Options.Multiprocessing") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := openOn(mem, training.Options{Clean: true})
	busy("a second writer that cleans", err)
	reader := open(training.Options{})
	if err := equals(ctx, reader, 1); err != nil {
		t.Errorf("a reader: %v", err)
	}
	busy("a reader that saves", step(reader, 2))
	part := open(training.Options{Clean: true, NoLock: true})
	if err := step(part, 3); err != nil {
		t.Errorf("without a lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := step(reader, 4); err != nil {
		t.Errorf("after the first one closed: %v", err)
	}
	_, err = openOn(mem, training.Options{Clean: true})
	busy("beside one that has saved", err)
}

// A process that cannot lock because it may not write may read. A store without locks needs no
// lock.
func TestWithoutLocks(t *testing.T) {
	for _, c := range []struct {
		err   error
		saves bool
	}{{errors.ErrUnsupported, true}, {syscall.EROFS, false}, {syscall.EACCES, false}, {syscall.ENOSPC, false}} {
		mem := vfstest.NewMem()
		if err := prepared(10)(mem); err != nil {
			t.Fatal(err)
		}
		f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Forever: true, Err: c.err,
			Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLock }})
		ck, err := openOn(f, training.Options{Clean: true})
		if err != nil {
			t.Errorf("%v: %v", c.err, err)
			continue
		}
		if err := step(ck, 20); (err == nil) != c.saves || err != nil && !errors.Is(err, c.err) {
			t.Errorf("%v: saving: %v", c.err, err)
		}
		if err := ck.Close(); err != nil {
			t.Error(err)
		}
	}
	mem := vfstest.NewMem()
	if err := prepared(10)(mem); err != nil {
		t.Fatal(err)
	}
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLock }})
	if _, err := openOn(f, training.Options{Clean: true}); !errors.Is(err, syscall.EIO) {
		t.Errorf("a lock that fails: %v", err)
	}
}

// A process that is killed leaves no lock that keeps the next one out.
func TestKilledWriterLeavesNoLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.HasPrefix(lines.Text(), "committed "); {
	}
	_, err = training.Open(t.Context(), dir, &training.Options{Clean: true})
	if !errors.Is(err, errs.Busy) || !strings.Contains(err.Error(), fmt.Sprintf("process %d on ", cmd.Process.Pid)) {
		t.Errorf("beside a living writer: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
	c, err := training.Open(t.Context(), dir, &training.Options{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// unsure fails the Nth sync of the directory of the run.
func unsure(n int, forever bool) vfstest.Plan {
	return vfstest.Plan{N: n, Forever: forever, Err: syscall.EIO,
		Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSyncDir && c.Name == "/run" }}
}

// A commit whose last sync failed is told for what it is, and the next save
// finds out what became of it.
func TestUncertainSave(t *testing.T) {
	for _, background := range []bool{false, true} {
		mem := vfstest.NewMem()
		if err := prepared(10, 20)(mem); err != nil {
			t.Fatal(err)
		}
		var events []string
		c, err := openOn(vfstest.NewFault(mem, unsure(2, false)),
			training.Options{Clean: true, OnEvent: func(e training.Event) {
				if e.Kind == training.SaveBegin {
					return
				}
				events = append(events, fmt.Sprint(e.Kind, " ", e.Step, " ", e.Uncertain, " ", e.Err != nil))
			}})
		if err != nil {
			t.Fatal(err)
		}
		if background {
			if _, err = c.SaveCheckpointablesAsync(t.Context(), 30, map[string]any{"state": model(30), "data": position(30)},
				&training.SaveOptions{Force: true}); err == nil {
				err = c.Wait(t.Context())
			}
		} else {
			err = step(c, 30)
		}
		if !errors.Is(err, store.ErrUncertain) || !errors.Is(err, syscall.EIO) {
			t.Fatalf("a commit whose last sync failed: %v", err)
		}
		if d := cmp.Diff([]int64{10, 20}, listed(c)); d != "" {
			t.Errorf("listed before it is known:\n%s", d)
		}
		if err := step(c, 30); !errors.Is(err, errs.Exists) {
			t.Errorf("the same step again, which is there: %v", err)
		}
		if d := cmp.Diff([]int64{10, 20, 30}, listed(c)); d != "" {
			t.Errorf("listed when it is known:\n%s", d)
		}
		if err := step(c, 40); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"save failed 30 true true", "settled 30 false false",
			"save committed 40 false false", "removed 10 false false", "removed 20 false false",
		}
		if d := cmp.Diff(want, events); d != "" {
			t.Error(d)
		}
		afterPowerLoss(t, mem, 30, 40)
	}
}

// While it cannot be found out nothing is saved, and Open fails for a writer.
func TestUncertainForLong(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepared(10, 20)(mem); err != nil {
		t.Fatal(err)
	}
	c, err := openOn(vfstest.NewFault(mem, unsure(2, true)), training.Options{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{30, 40, 40} {
		if err := step(c, n); !errors.Is(err, store.ErrUncertain) {
			t.Errorf("step %d: %v", n, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Errorf("told twice: %v", err)
	}
	if _, err := mem.Stat("/run/40"); err == nil {
		t.Error("step 40 was saved on top of what is unknown")
	}
	if _, err := openOn(vfstest.NewFault(mem, unsure(1, false)), training.Options{Clean: true}); !errors.Is(err,
		store.ErrUncertain) {
		t.Errorf("Open of a writer: %v", err)
	}
	c, err = openOn(mem, training.Options{Clean: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if d := cmp.Diff([]int64{10, 20, 30}, listed(c)); d != "" {
		t.Errorf("listed by the next process:\n%s", d)
	}
	afterPowerLoss(t, mem, 20, 30)
}

// afterPowerLoss wants the steps in whatever a power loss leaves.
func afterPowerLoss(t *testing.T, mem *vfstest.Mem, steps ...int64) {
	t.Helper()
	for state := range mem.Edges() {
		if err := survived(steps...)(state, nil); err != nil {
			t.Fatalf("after a power loss: %v", err)
		}
	}
}

// Where the rename itself fails and nobody can look, the step may not be there.
func TestUncertainRename(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepared(10)(mem); err != nil {
		t.Fatal(err)
	}
	renamed := false
	fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		switch {
		case c.Op == vfstest.OpRenameNoReplace:
			renamed = true
			return syscall.EIO
		case renamed && c.Op == vfstest.OpStat && c.Name == "/run/20":
			renamed = false
			return syscall.EIO
		}
		return do()
	})
	var settled error
	c, err := openOn(fsys, training.Options{Clean: true, OnEvent: func(e training.Event) {
		if e.Kind == training.Settled {
			settled = e.Err
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := step(c, 20); !errors.Is(err, store.ErrUncertain) {
		t.Fatalf("a rename of which nothing is known: %v", err)
	}
	if _, err := c.SaveCheckpointables(t.Context(), 30, nil, &training.SaveOptions{Force: true}); err == nil ||
		errors.Is(err, store.ErrUncertain) {
		t.Errorf("nothing to save: %v", err)
	}
	if !errors.Is(settled, errs.NotFound) {
		t.Errorf("settled as %v, want not found", settled)
	}
	if d := cmp.Diff([]int64{10}, listed(c)); d != "" {
		t.Error(d)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := survived(10)(mem, nil); err != nil { // and the tree of 20 was removed
		t.Error(err)
	}
}
