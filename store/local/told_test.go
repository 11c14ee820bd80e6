package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crash"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// calls are what a store is asked to do, each on a run with step 1 committed, a
// note, and a leftover.
var calls = map[string]func(context.Context, store.Store) error{
	"Put": func(ctx context.Context, s store.Store) error {
		return s.Put(ctx, "a/b/n", []byte("n"), store.PutOptions{})
	},
	"Put again": func(ctx context.Context, s store.Store) error {
		return s.Put(ctx, "n", []byte("m"), store.PutOptions{})
	},
	"Put once": func(ctx context.Context, s store.Store) error {
		return s.Put(ctx, "x", []byte("n"), store.PutOptions{IfAbsent: true})
	},
	"Rename":      func(ctx context.Context, s store.Store) error { return s.Rename(ctx, "1", "1.damaged") },
	"RemoveTree":  func(ctx context.Context, s store.Store) error { return s.RemoveTree(ctx, "1") },
	"commit":      func(ctx context.Context, s store.Store) error { return save(ctx, s, "deep/2", 2) },
	"overwriting": func(ctx context.Context, s store.Store) error { return save(ctx, s, "1", 3) },
	"CleanStaging": func(ctx context.Context, s store.Store) error {
		_, err := s.CleanStaging(ctx, "", func(store.Info) bool { return false })
		return err
	},
	"linking": func(ctx context.Context, s store.Store) error {
		txn, err := s.Begin(ctx, "2", store.TxnOptions{})
		if err != nil {
			return err
		}
		defer txn.Abort() //nolint:errcheck // the error of the commit comes first
		if err := txn.Link(ctx, "d/x", "1/d/x"); err != nil {
			return err
		}
		return txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte("m")})
	},
}

func prepareCalls(fsys vfs.FS) error {
	err := setup(fsys)
	if err == nil {
		err = local.New(fsys, root, nil).Put(context.Background(), "n", []byte("n"), store.PutOptions{})
	}
	if err == nil {
		err = fsys.Mkdir(root+"/"+store.StagingName("9", "0123456789abcdef"), 0o777)
	}
	return err
}

// Each call of the file system fails once, on systems that can and cannot rename
// without replacing: the caller is told, or what failed is the removal of what
// no longer has a name.
func TestEveryFailureIsTold(t *testing.T) {
	for name, do := range calls {
		for _, lesser := range []bool{false, true} {
			for n := 1; ; n++ {
				mem := vfs.NewMem()
				if err := prepareCalls(mem); err != nil {
					t.Fatal(err)
				}
				var fsys vfs.FS = mem
				if lesser {
					fsys = vfs.NewFault(mem, vfs.Plan{N: 1, Forever: true, Err: syscall.ENOTSUP, Only: func(c vfs.Call) bool { return c.Op == vfs.OpRenameNoReplace }})
				}
				f := vfs.NewFault(fsys, vfs.Plan{N: n, Err: syscall.EIO})
				err := do(t.Context(), local.New(f, root, nil))
				call, hits := f.Hit()
				if hits == 0 {
					if err != nil {
						t.Errorf("%s: without a fault: %v", name, err)
					}
					break
				}
				early := name == "Put once" && call.Op == vfs.OpStat // a look before; the rename decides
				if err == nil && !unnamed(call) && !early {
					t.Errorf("%s: call %d, %v, failed, and nobody was told", name, n, call)
				}
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("%s: call %d, %v, failed, and the error says something else: %v", name, n, call, err)
				}
			}
		}
	}
}

// unnamed reports whether a call belongs to the removal of a staging name.
func unnamed(c vfs.Call) bool {
	switch c.Op {
	case vfs.OpStat, vfs.OpReadDir, vfs.OpRemove:
		return slices.ContainsFunc(splitPath(c.Name), store.IsLeftover)
	}
	return false
}

func splitPath(name string) (elems []string) {
	from := 0
	for i := range len(name) + 1 {
		if i == len(name) || name[i] == '/' {
			elems = append(elems, name[from:i])
			from = i + 1
		}
	}
	return elems
}

// A sync that failed promises nothing: whatever was not acknowledged may be lost,
// and nothing else.
func TestPowerLossAfterFailedSync(t *testing.T) {
	states := 0
	for n := 1; ; n++ {
		var fault *vfs.Fault
		report, err := crash.Run(work, check, &crash.Options{
			Setup: setup, Limit: 128, Samples: 64, Seed: uint64(n), Tolerate: func(error) bool { return true },
			Wrap: func(fsys vfs.FS) vfs.FS {
				fault = vfs.NewFault(fsys, vfs.Plan{N: n, Err: syscall.EIO, Only: func(c vfs.Call) bool { return c.Op == vfs.OpSync || c.Op == vfs.OpSyncDir }})
				return fault
			},
		})
		if err != nil {
			t.Fatalf("sync %d failed: %v", n, err)
		}
		states += report.States
		if fault.Calls() < n {
			break
		}
	}
	t.Logf("%d states", states)
}

// A commit that is cancelled, at whichever of its calls, begins nothing new.
func TestCancelledCommit(t *testing.T) {
	for n := 1; ; n++ {
		mem := vfs.NewMem()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var before, after []vfs.Op
		committing := false
		fsys := vfs.Intercept(mem, func(c *vfs.Call, do func() error) error {
			if committing && ctx.Err() == nil {
				before = append(before, c.Op)
			} else if committing {
				after = append(after, c.Op)
			}
			if len(before) == n {
				cancel(gone)
			}
			return do()
		})
		s := local.New(fsys, root, nil)
		txn, err := s.Begin(ctx, "5", store.TxnOptions{})
		if err == nil {
			err = txn.Put(ctx, "d/a", []byte("a"))
		}
		if err != nil {
			t.Fatal(err)
		}
		committing = true
		err = txn.Commit(ctx, store.Blob{Name: "manifest"}, store.Blob{Name: "one"}, store.Blob{Name: "two"})
		cancel(nil)
		_, absent := local.New(mem, root, nil).Stat(t.Context(), "5")
		if len(before) < n {
			if err != nil || absent != nil {
				t.Fatalf("not cancelled: %v, %v", err, absent)
			}
			return
		}
		switch {
		case err == nil && absent == nil:
		case err != nil && errors.Is(err, gone) && errs.KindOf(err) == errs.Canceled && errs.KindOf(absent) == errs.NotFound:
			if slices.Contains(after, vfs.OpCreate) || slices.Contains(after, vfs.OpSyncDir) && !slices.Contains(before, vfs.OpSyncDir) {
				t.Errorf("cancelled after %v: went on with %v", before, after)
			}
		default:
			t.Errorf("cancelled after %v: error %v, visible: %v", before, err, absent == nil)
		}
	}
}

// Cleaning that is cancelled says so and what it had removed.
func TestCancelledCleaning(t *testing.T) {
	mem := vfs.NewMem()
	if err := setup(mem); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 3 {
		names = append(names, store.StagingName(fmt.Sprint(i), "0123456789abcdef"))
		if err := mem.Mkdir(root+"/"+names[i], 0o777); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	removed, err := local.New(mem, root, nil).CleanStaging(ctx, "", func(store.Info) bool { cancel(); return false })
	if errs.KindOf(err) != errs.Canceled || !slices.Equal(removed, names[:1]) {
		t.Errorf("removed %q, error %v", removed, err)
	}
}

func TestRenameRefusals(t *testing.T) {
	mem := vfs.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	s := local.New(mem, root, nil)
	for names, want := range map[[2]string]errs.Kind{
		{"7", "8"}:    errs.NotFound,
		{"n", "8"}:    errs.Invalid,
		{"..", "8"}:   errs.Invalid,
		{"1", "../8"}: errs.Invalid,
		{"1", "d/8"}:  errs.Invalid,
		{store.StagingName("9", "0123456789abcdef"), "9"}: errs.Invalid,
	} {
		if err := s.Rename(t.Context(), names[0], names[1]); errs.KindOf(err) != want {
			t.Errorf("%q: got %v, want %v", names, err, want)
		}
	}
}
