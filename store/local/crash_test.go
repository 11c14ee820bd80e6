package local_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestPowerLoss cuts the power at every operation, in every state: acknowledged objects are there
// and no object is torn.
func TestPowerLoss(t *testing.T) {
	report, err := crash.Run(work, check, &crash.Options{Setup: setup})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
	if report.Sampled != 0 || report.States < 100 {
		t.Fatalf("not all states were checked: %v", report)
	}
}

// freshWork starts where there is not even the directory.
func freshWork(fsys vfs.FS, ack func(string)) error {
	if err := setup(fsys); err != nil {
		return err
	}
	ack("done 1 1")
	return work(fsys, ack)
}

func freshCheck(fsys vfs.FS, events []string) error {
	if len(events) == 0 {
		events = []string{"try 1 0"}
	}
	return check(fsys, events)
}

func TestPowerLossFresh(t *testing.T) {
	report, err := crash.Run(freshWork, freshCheck, nil)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}

// TestPowerLossLesser is TestPowerLoss without RENAME_NOREPLACE.
func TestPowerLossLesser(t *testing.T) {
	report, err := crash.Run(work, check, &crash.Options{Setup: setup, Wrap: func(fsys vfs.FS) vfs.FS {
		return vfstest.NewFault(fsys, vfstest.Plan{
			N: 1, Forever: true, Err: syscall.ENOTSUP,
			Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpRenameNoReplace },
		})
	}})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}

// TestPowerLossFindsMissingSync proves that TestPowerLoss can fail: each sync
// of the protocol is left out in turn, then all of a kind.
func TestPowerLossFindsMissingSync(t *testing.T) {
	if testing.Short() {
		t.Skip("in full without -short")
	}
	syncs := 0
	for n := 1; ; n++ {
		o := omission{n: n}
		_, err := crash.Run(freshWork, freshCheck, &crash.Options{Wrap: o.wrap})
		if o.count < n {
			break
		}
		syncs++
		if !crash.IsFailure(err) && !o.redundant() {
			t.Errorf("sync %d left out (%s) is not noticed: %v", n, o.left, err)
		}
	}
	if syncs < 20 {
		t.Errorf("only %d syncs in the workload", syncs)
	}
	for _, op := range []vfstest.Op{vfstest.OpSync, vfstest.OpSyncDir} {
		_, err := crash.Run(work, check, &crash.Options{Setup: setup, Wrap: func(fsys vfs.FS) vfs.FS { return crash.Without(fsys, op) }})
		if !crash.IsFailure(err) {
			t.Errorf("without any %v: %v", op, err)
		}
	}
}

// omission leaves out the n-th sync of a file or directory.
type omission struct {
	n, count      int
	left          vfstest.Call
	before, after bool // the same directory was synced earlier, is synced later
	seen          map[string]bool
}

func (o *omission) wrap(fsys vfs.FS) vfs.FS {
	o.seen = map[string]bool{}
	return vfstest.Intercept(fsys, func(c *vfstest.Call, do func() error) error {
		if c.Op != vfstest.OpSync && c.Op != vfstest.OpSyncDir {
			return do()
		}
		if o.count++; o.count == o.n {
			o.left, o.before = *c, o.seen[c.Name]
			return nil
		}
		o.seen[c.Name] = true
		o.after = o.after || *c == o.left
		return do()
	})
}

// redundant reports whether another sync makes up for the one left out. A
// Store that finds its root there syncs the entry again, as the process that
// made it may have been killed; and the sync of a staging directory before the
// manifest is only for readers of a staging tree: nothing is visible before the
// one after the manifest.
func (o *omission) redundant() bool {
	c := o.left
	return c.Op == vfstest.OpSyncDir && ((c.Name == "/data" && o.before) || (store.IsStaging(c.Name) && o.after))
}

// TestPowerLossAfterFault fails each operation once and then cuts the power at
// every later moment: a failed sync in particular promises nothing afterwards.
func TestPowerLossAfterFault(t *testing.T) {
	states, runs, step := 0, 0, 1
	if testing.Short() {
		step = 41 // odd, so that both kinds of fault are met
	}
	for n := 1; ; n += step {
		var fault *vfstest.Fault
		report, err := crash.Run(work, check, &crash.Options{
			Setup: setup, Limit: 64, Samples: 32, Seed: uint64(n),
			Tolerate: func(error) bool { return true },
			Wrap: func(fsys vfs.FS) vfs.FS {
				fault = vfstest.NewFault(fsys, vfstest.Plan{N: n, Err: syscall.EIO, Done: n%2 == 0})
				return fault
			},
		})
		if err != nil {
			t.Fatalf("call %d failed: %v", n, err)
		}
		if fault.Calls() < n {
			break
		}
		states += report.States
		runs++
	}
	t.Logf("%d faults, %d states", runs, states)
}

// TestFaults fails each operation: earlier objects are undamaged, the caller gets an error, and the
// next start removes all leftovers.
func TestFaults(t *testing.T) {
	runs, err := crash.Faults(setup, work, func(o crash.Outcome) error {
		if err := check(o.FS, o.Acked); err != nil {
			return err
		}
		if o.Err == nil {
			if len(o.Acked) != 10 {
				return errors.New("no error, and not everything was acknowledged")
			}
			return nil
		}
		var e *errs.Error
		if !errors.As(o.Err, &e) || errs.KindOf(o.Err) == errs.Other {
			return fmt.Errorf("an error without a kind: %w", o.Err)
		}
		return nil
	})
	t.Logf("%d faults", runs)
	if err != nil {
		t.Fatal(err)
	}
}

// TestUncertain: the rename happened, the sync of the parent failed.
func TestUncertain(t *testing.T) {
	mem := vfstest.NewMem()
	if err := setup(mem); err != nil {
		t.Fatal(err)
	}
	renamed := false
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool {
		renamed = renamed || c.Op == vfstest.OpRenameNoReplace
		return renamed && c.Op == vfstest.OpSyncDir
	}})
	s := local.New(f, root, nil)
	err := save(t.Context(), s, "2", 2)
	if !errors.Is(err, store.ErrUncertain) || !errors.Is(err, errs.IO) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("got %v", err)
	}
	if err := check(mem, []string{"done 2 2"}); err != nil {
		t.Fatal(err)
	}
}

// TestDoneAllTheSame: a rename that reports a failure though it happened is a commit.
func TestDoneAllTheSame(t *testing.T) {
	for _, op := range []vfstest.Op{vfstest.OpRename, vfstest.OpRenameNoReplace, vfstest.OpExchange} {
		mem := vfstest.NewMem()
		if err := setup(mem); err != nil {
			t.Fatal(err)
		}
		f := vfstest.NewFault(mem, vfstest.Plan{
			N: 1, Forever: true, Done: true, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == op },
		})
		var events []string
		if err := work(f, func(e string) { events = append(events, e) }); err != nil {
			t.Errorf("%v: %v", op, err)
		}
		if err := check(mem, events); err != nil {
			t.Errorf("%v: %v", op, err)
		}
	}
}
