package local_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
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
	"Rename": func(ctx context.Context, s store.Store) error { return s.Rename(ctx, "1", "1.damaged") },
	"Move":   func(ctx context.Context, s store.Store) error { return store.Move(ctx, s, "1", "aside/deep/1") },
	"reading what is pinned": func(ctx context.Context, s store.Store) error {
		p, err := store.Pin(ctx, s, "1")
		if err != nil {
			return err
		}
		defer p.Close() //nolint:errcheck // nothing was written
		_, err = store.ReadAll(ctx, p, "1/d/x")
		if err == nil {
			_, err = p.Stat(ctx, "1/small")
		}
		if err == nil {
			err = errors.Join(slices.Collect(failures(p.List(ctx, "1")))...)
		}
		if err == nil {
			err = p.Fate(ctx, "1")
		}
		if err == nil {
			_, err = p.Leased(ctx)
		}
		if err == nil {
			err = p.Lease(ctx)
		}
		return err
	},
	"locking": func(ctx context.Context, s store.Store) error {
		l, err := s.(store.Locker).Lock(ctx, "")
		if err != nil {
			return err
		}
		return errors.Join(l.(store.HeldLock).Check(ctx), l.Close())
	},
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

// failures are the errors of a listing.
func failures(list iter.Seq2[store.Info, error]) iter.Seq[error] {
	return func(yield func(error) bool) {
		for _, err := range list {
			if err != nil && !yield(err) {
				return
			}
		}
	}
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

// lesser are file systems that can do less, by the call that they refuse.
var lesser = map[string]vfstest.Plan{
	"all calls":               {},
	"no rename-no-replace":    {N: 1, Forever: true, Err: syscall.ENOTSUP, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpRenameNoReplace }},
	"no links, other devices": {N: 1, Forever: true, Err: syscall.EXDEV, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLink }},
}

// Each call of the file system fails once: the caller gets an error, or the call does not matter.
func TestEveryFailureIsTold(t *testing.T) {
	for name, do := range calls {
		for kind, plan := range lesser {
			if name == "Put once" && kind == "no links, other devices" {
				continue // links are what it is made of where renaming may replace
			}
			for n := 1; ; n++ {
				mem := vfstest.NewMem()
				if err := prepareCalls(mem); err != nil {
					t.Fatal(err)
				}
				f := vfstest.NewFault(vfstest.NewFault(mem, plan), vfstest.Plan{N: n, Err: syscall.EIO})
				err := do(t.Context(), local.New(f, root, nil))
				call, hits := f.Hit()
				if hits == 0 {
					if err != nil {
						t.Errorf("%s, %s: without a fault: %v", name, kind, err)
					}
					break
				}
				if err == nil && !idle(name, call) {
					t.Errorf("%s, %s: call %d, %v, failed, and nobody was told", name, kind, n, call)
				}
				if err != nil && !errors.Is(err, syscall.EIO) {
					t.Errorf("%s, %s: call %d, %v, failed, and the error says something else: %v", name, kind, n, call, err)
				}
			}
		}
	}
}

// idle reports whether a call does not matter: the removal of a replaced tree and the check whether
// it is read, the removal of the second name of a note, a check that the rename repeats, and the
// closing of a file that was only read.
func idle(name string, c vfstest.Call) bool {
	switch name {
	case "reading what is pinned":
		return c.Op == vfstest.OpClose
	case "overwriting":
		last := c.Op == vfstest.OpOpenDir || c.Op == vfstest.OpLockDir && c.Size == 1
		return last || c.Op == vfstest.OpStat || c.Op == vfstest.OpReadDir && c.Name != root || c.Op == vfstest.OpRemove
	case "linking":
		return c.Op == vfstest.OpClose && c.Name == root+"/1/d/x" // of a file that was read
	case "Put once":
		return c.Op == vfstest.OpRemove || c.Op == vfstest.OpStat && c.Name == root+"/x"
	}
	return false
}

// What an abort cannot remove is told too.
func TestAbortFailureIsTold(t *testing.T) {
	for _, whole := range []bool{false, true} {
		mem := vfstest.NewMem()
		f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpRemove }})
		txn, err := local.New(f, root, nil).Begin(t.Context(), "1", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := txn.Create(t.Context(), "a", 3)
		if err != nil {
			t.Fatal(err)
		}
		abort := w.Abort
		if whole {
			abort = txn.Abort
		}
		if err := abort(); !errors.Is(err, syscall.EIO) {
			t.Errorf("whole transaction %v: %v", whole, err)
		}
		txn.Abort() //nolint:errcheck // it was told
	}
}

// blind lists entries of which nothing more can be known.
type blind struct{ vfs.FS }

type blindEntry struct{ fs.DirEntry }

func (blindEntry) Info() (fs.FileInfo, error) { return nil, syscall.EIO }

func (b blind) ReadDir(name string) ([]fs.DirEntry, error) {
	list, err := b.FS.ReadDir(name)
	for i := range list {
		list[i] = blindEntry{list[i]}
	}
	return list, err
}

// What cannot be looked at is neither removed nor passed over.
func TestCleaningBlind(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	removed, err := local.New(blind{mem}, root, nil).CleanStaging(t.Context(), "", func(store.Info) bool { return false })
	if !errors.Is(err, syscall.EIO) || len(removed) > 0 {
		t.Errorf("removed %q, error %v", removed, err)
	}
}

// What was never committed is not taken over.
func TestLinkRefusals(t *testing.T) {
	mem := vfstest.NewMem()
	s := local.New(mem, root, nil)
	open, err := s.Begin(t.Context(), "1", store.TxnOptions{})
	if err == nil {
		err = open.Put(t.Context(), "a", []byte("a"))
	}
	if err != nil {
		t.Fatal(err)
	}
	defer open.Abort() //nolint:errcheck // nothing to lose
	txn, err := s.Begin(t.Context(), "2", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Abort() //nolint:errcheck // nothing to lose
	for _, name := range []string{open.Staging() + "/a", "../a", ""} {
		if err := txn.Link(t.Context(), "a", name); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// If links are refused and only links are wanted, the caller gets an error and may write the
// object.
func TestLinksOnly(t *testing.T) {
	for _, refusal := range []error{syscall.EXDEV, syscall.EMLINK, syscall.EPERM, syscall.ENOTSUP} {
		mem := vfstest.NewMem()
		if err := setup(mem); err != nil {
			t.Fatal(err)
		}
		s := local.New(vfstest.NewFault(mem, vfstest.Plan{N: 1, Forever: true, Err: refusal, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpLink }}), root, nil)
		txn, err := s.Begin(t.Context(), "2", store.TxnOptions{LinksOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer txn.Abort() //nolint:errcheck // nothing to lose
		if err := txn.Link(t.Context(), "d/x", "1/d/x"); errs.KindOf(err) != errs.Unsupported || !errors.Is(err, refusal) {
			t.Errorf("%v: %v", refusal, err)
		}
		if err := txn.Put(t.Context(), "d/x", []byte("x")); err != nil {
			t.Errorf("%v: the name is taken: %v", refusal, err)
		}
		if err := txn.Commit(t.Context(), store.Blob{Name: "manifest", Data: []byte("m")}); err != nil {
			t.Errorf("%v: %v", refusal, err)
		}
	}
}

// A failed sync promises nothing: objects that were not acknowledged may be lost, and nothing else.
func TestPowerLossAfterFailedSync(t *testing.T) {
	states, step := 0, 1
	if testing.Short() {
		step = 7
	}
	for n := 1; ; n += step {
		var fault *vfstest.Fault
		report, err := crash.Run(work, check, &crash.Options{
			Setup: setup, Limit: 128, Samples: 64, Seed: uint64(n), Tolerate: func(error) bool { return true },
			Wrap: func(fsys vfs.FS) vfs.FS {
				fault = vfstest.NewFault(fsys, vfstest.Plan{N: n, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSync || c.Op == vfstest.OpSyncDir }})
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
		mem := vfstest.NewMem()
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		var before, after []vfstest.Op
		committing := false
		fsys := vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
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
			if slices.Contains(after, vfstest.OpCreate) || slices.Contains(after, vfstest.OpSyncDir) && !slices.Contains(before, vfstest.OpSyncDir) {
				t.Errorf("cancelled after %v: went on with %v", before, after)
			}
		default:
			t.Errorf("cancelled after %v: error %v, visible: %v", before, err, absent == nil)
		}
	}
}

// Cleaning that is cancelled says so and what it had removed.
func TestCancelledCleaning(t *testing.T) {
	mem := vfstest.NewMem()
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

// refused checks what a call that gives an object another name refuses.
func refused(t *testing.T, s *local.Store, call func(ctx context.Context, from, to string) error, more map[[2]string]errs.Kind) {
	t.Helper()
	cases := map[[2]string]errs.Kind{{"7", "8"}: errs.NotFound, {"..", "8"}: errs.Invalid, {"1", "../8"}: errs.Invalid}
	maps.Copy(cases, more)
	for names, want := range cases {
		if err := call(t.Context(), names[0], names[1]); errs.KindOf(err) != want {
			t.Errorf("%q: got %v, want %v", names, err, want)
		}
	}
}

// calledStore is a store on what prepareCalls makes.
func calledStore(t *testing.T) *local.Store {
	t.Helper()
	mem := vfstest.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	return local.New(mem, root, nil)
}

func TestRenameRefusals(t *testing.T) {
	s := calledStore(t)
	refused(t, s, s.Rename, map[[2]string]errs.Kind{
		{"n", "8"}:   errs.Invalid,
		{"1", "d/8"}: errs.Invalid,
		{store.StagingName("9", "0123456789abcdef"), "9"}: errs.Invalid,
	})
}

func TestMoveRefusals(t *testing.T) {
	s := calledStore(t)
	refused(t, s, s.Move, map[[2]string]errs.Kind{
		{"1", "1/8"}: errs.Invalid,
		{"1", "n"}:   errs.Exists,
		{"1", store.StagingName("9", "0123456789abcdef")}: errs.Invalid,
	})
	if err := store.Move(t.Context(), struct{ store.Store }{s}, "1", "d/8"); errs.KindOf(err) != errs.Unsupported {
		t.Errorf("a store that cannot move: %v", err)
	}
	if err := s.Move(t.Context(), "1", "d/8"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(t.Context(), "d/8"); err != nil {
		t.Error(err)
	}
}

// A read that ends before the size that the system told of the file says
// nothing against the file, and one past that size does.
func TestShortRead(t *testing.T) {
	mem := vfstest.NewMem()
	if err := local.New(mem, root, nil).Put(t.Context(), "n", []byte("four"), store.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	f := vfstest.NewFault(mem, vfstest.Plan{N: 1, Short: true, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpReadAt }})
	r, err := local.New(f, root, nil).Open(t.Context(), "n")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read from
	p := make([]byte, 4)
	if err := r.ReadAt(t.Context(), p, 0); errs.KindOf(err) != errs.IO {
		t.Errorf("short: %v", err)
	}
	if err := r.ReadAt(t.Context(), p, 0); err != nil || string(p) != "four" {
		t.Errorf("again: %q, %v", p, err)
	}
	if err := r.ReadAt(t.Context(), p, 1); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("past the end: %v", err)
	}
}

// A transaction that has ended is not begun, synced or sealed by any call.
func TestCancelledCalls(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	s := local.New(mem, root, nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	txn, err := s.Begin(t.Context(), "5", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer txn.Abort() //nolint:errcheck // nothing is committed
	w, err := txn.Create(t.Context(), "a", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteAt(t.Context(), []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	_, begun := s.Begin(ended, "6", store.TxnOptions{})
	for what, err := range map[string]error{"begin": begun, "seal": w.Seal(ended), "sync": s.Sync(ended, "n")} {
		if errs.KindOf(err) != errs.Canceled {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Only a staging directory beside the name can be joined, and only a name of the
// same directory can be staged.
func TestJoinRefusals(t *testing.T) {
	mem := vfstest.NewMem()
	if err := prepareCalls(mem); err != nil {
		t.Fatal(err)
	}
	staging := store.StagingName("9", "fedcba9876543210")
	f, err := mem.Create(root+"/"+staging, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s := local.New(mem, root, nil)
	for what, o := range map[string]store.TxnOptions{
		"a file":              {Join: staging},
		"what is no staging":  {Join: "1"},
		"what is not there":   {Join: store.StagingName("8", "0123456789abcdef")},
		"one beyond the root": {Staging: "../x"},
	} {
		txn, err := s.Begin(t.Context(), "9", o)
		if kind := errs.KindOf(err); kind != errs.Invalid && kind != errs.NotFound {
			t.Errorf("%s: %v", what, err)
		}
		if err == nil {
			txn.Abort() //nolint:errcheck // nothing is committed
		}
	}
}

// A sync whose context ends after the first file leaves the others, and says so.
func TestCancelledSync(t *testing.T) {
	mem := vfstest.NewMem()
	s := local.New(mem, root, nil)
	for _, name := range []string{"d/a", "d/b", "d/c"} {
		if err := s.Put(t.Context(), name, []byte("x"), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	synced := 0
	s = local.New(vfstest.Intercept(mem, func(c *vfstest.Call, do func() error) error {
		if c.Op == vfstest.OpSync {
			synced++
			cancel()
		}
		return do()
	}), root, nil)
	if err := s.Sync(ctx, "d"); errs.KindOf(err) != errs.Canceled || synced != 1 {
		t.Errorf("%d files synced, error %v", synced, err)
	}
}

// A lock that was given back, or that nobody waits for, is not told to be held.
func TestLockCheckRefusals(t *testing.T) {
	s, err := local.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Lock(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	held := l.(store.HeldLock)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := held.Check(ended); errs.KindOf(err) != errs.Canceled {
		t.Errorf("without time: %v", err)
	}
	if err := errors.Join(held.Check(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	if err := held.Check(t.Context()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("given back: %v", err)
	}
}

// A socket in the place of a file is told to be no file.
func TestPinnedSocket(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "1"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir) // the name of a socket must be short
	socket, err := net.Listen("unix", "1/s")
	if err != nil {
		t.Skip("no sockets here:", err)
	}
	defer socket.Close() //nolint:errcheck // a listener of this test
	s, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Pin(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close() //nolint:errcheck // nothing was written
	if _, err := p.Open(t.Context(), "1/s"); errs.KindOf(err) != errs.Invalid {
		t.Errorf("got %v", err)
	}
}
