package local_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// A workload that commits two steps, each with one object that is written past
// the cache and whose tail fills no block.

var direct = &local.Options{DirectFrom: 1}

func directContent(n int) string { return strings.Repeat(fmt.Sprint(n), 700) }

func directStep(s store.Store, n int) (stats store.TxnStats, err error) {
	ctx := context.Background()
	txn, err := s.Begin(ctx, fmt.Sprint(n), store.TxnOptions{})
	if err != nil {
		return stats, err
	}
	defer txn.Abort() //nolint:errcheck // the error of the commit comes first
	b := []byte(directContent(n))
	w, err := txn.Create(ctx, "x", int64(len(b)))
	if err != nil {
		return stats, err
	}
	if err := w.WriteAt(ctx, b, 0); err != nil {
		return stats, err
	}
	if err := w.Seal(ctx); err != nil {
		return stats, err
	}
	return txn.Stats(), txn.Commit(ctx, store.Blob{Name: "manifest", Data: []byte("m")})
}

func directWork(fsys vfs.FS, ack func(string)) error {
	s := local.New(fsys, root, direct)
	var first error
	for n := 1; n <= 2; n++ {
		_, err := directStep(s, n)
		if err == nil {
			ack(fmt.Sprint(n))
		} else if first == nil {
			first = err
		}
	}
	return first
}

func directCheck(fsys vfs.FS, acked []string) error {
	s := local.New(fsys, root, direct)
	if _, err := s.CleanStaging(context.Background(), "", nil); err != nil && !errors.Is(err, errs.NotFound) {
		return err
	}
	for n := 1; n <= 2; n++ {
		name := fmt.Sprint(n)
		got, err := walk(s, name)
		if errors.Is(err, errs.NotFound) {
			if strings.Contains(strings.Join(acked, " "), name) {
				return fmt.Errorf("step %s was lost", name)
			}
			continue
		}
		if err != nil {
			return err
		}
		if got["x"] != directContent(n) || got["manifest"] != "m" {
			return fmt.Errorf("step %s is torn: %d bytes", name, len(got["x"]))
		}
	}
	return nil
}

func TestDirectPowerLoss(t *testing.T) {
	report, err := crash.Run(directWork, directCheck, nil)
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}

// Each sync and truncation of the direct path, left out, is noticed.
func TestDirectPowerLossFindsMissing(t *testing.T) {
	for _, op := range []vfstest.Op{vfstest.OpSync, vfstest.OpTruncate} {
		_, err := crash.Run(directWork, directCheck, &crash.Options{Wrap: func(fsys vfs.FS) vfs.FS { return crash.Without(fsys, op) }})
		if !crash.IsFailure(err) {
			t.Errorf("without any %v: %v", op, err)
		}
	}
}

func TestDirectFaults(t *testing.T) {
	runs, err := crash.Faults(func(vfs.FS) error { return nil }, directWork, func(o crash.Outcome) error {
		if o.Err == nil && len(o.Acked) != 2 {
			return errors.New("no error, and not everything was acknowledged")
		}
		return directCheck(o.FS, o.Acked)
	})
	t.Logf("%d faults", runs)
	if err != nil {
		t.Fatal(err)
	}
}

// A file system that refuses, at once or at the first write, gets the same
// bytes through the cache, and the statistics say so.
func TestDirectFallback(t *testing.T) {
	for _, c := range []struct {
		op     vfstest.Op
		err    error
		direct int64
		calls  int // how often it was tried for two steps
	}{
		{vfstest.OpNone, nil, 700, 0},
		{vfstest.OpSetDirect, syscall.ENOTSUP, 0, 1},
		{vfstest.OpWriteAt, syscall.EINVAL, 0, 1},
	} {
		refused := false
		tried := 0
		fsys := vfstest.Intercept(vfstest.NewMem(), func(call *vfstest.Call, do func() error) error {
			if call.Op != c.op || refused && c.op == vfstest.OpWriteAt {
				return do()
			}
			refused = true
			tried++
			return c.err
		})
		s := local.New(fsys, root, direct)
		for n := 1; n <= 2; n++ {
			stats, err := directStep(s, n)
			if err != nil {
				t.Fatalf("%v: %v", c.op, err)
			}
			if stats.Files != 1 || stats.Bytes != 700 || stats.Direct != c.direct {
				t.Errorf("%v: %+v", c.op, stats)
			}
		}
		if tried != c.calls {
			t.Errorf("%v: tried %d times", c.op, tried)
		}
		if err := directCheck(fsys, []string{"1", "2"}); err != nil {
			t.Errorf("%v: %v", c.op, err)
		}
	}
}

// Writes to large objects begin and end on blocks; memory need not.
func TestDirectAlignment(t *testing.T) {
	mem := vfstest.NewMem()
	s := local.New(mem, root, direct)
	content := bytes.Repeat([]byte("0123456789abcdef!"), 40_000)
	ctx := t.Context()
	txn, err := s.Begin(ctx, "a", store.TxnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := txn.Create(ctx, "x", int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	half := 80 * s.Properties().Block
	shifted := append([]byte("x"), content...)[1:]
	for _, off := range []int{half, 0} {
		end := len(content)
		if off == 0 {
			end = half
		}
		if err := w.WriteAt(ctx, shifted[off:end], int64(off)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if err := txn.Commit(ctx, manifest); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, s, "a/x", string(content))

	for _, at := range []struct{ off, end int }{{1, 4096}, {0, 100}, {4096, 5000}} {
		txn, err := s.Begin(ctx, "b", store.TxnOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := txn.Create(ctx, "x", 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteAt(ctx, content[at.off:at.end], int64(at.off)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%v: %v", at, err)
		}
		if err := txn.Abort(); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that cannot be led back to the cache is not written.
func TestDirectStays(t *testing.T) {
	fsys := vfstest.Intercept(vfstest.NewMem(), func(call *vfstest.Call, do func() error) error {
		switch {
		case call.Op == vfstest.OpWriteAt:
			return syscall.EINVAL
		case call.Op == vfstest.OpSetDirect && call.Size == 0:
			return syscall.EIO
		}
		return do()
	})
	if _, err := directStep(local.New(fsys, root, direct), 1); !errors.Is(err, syscall.EIO) {
		t.Errorf("it failed with %v", err)
	}
}
