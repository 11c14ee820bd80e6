package crash_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// publish writes a file the careful way, or without some of the steps.
func publish(skip string) crash.Workload {
	return func(fsys vfs.FS, ack func(string)) error {
		step := func(name string, do func() error) error {
			if strings.Contains(skip, name) {
				return nil
			}
			return do()
		}
		f, err := fsys.Create("/tmp", 0o666)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte("whole"), 0)
		if err == nil {
			err = step("sync file", f.Sync)
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
		if err := fsys.Rename("/tmp", "/final"); err != nil {
			return err
		}
		if err := step("sync directory", func() error { return fsys.SyncDir("/") }); err != nil {
			return err
		}
		ack("published")
		return nil
	}
}

func whole(fsys vfs.FS, acked []string) error {
	f, err := fsys.Open("/final")
	if err != nil {
		if len(acked) == 0 {
			return nil
		}
		return err
	}
	defer f.Close()
	b := make([]byte, 6)
	if n, _ := f.ReadAt(b, 0); string(b[:n]) != "whole" {
		return fmt.Errorf("torn: %q", b[:n])
	}
	return nil
}

func TestRun(t *testing.T) {
	report, err := crash.Run(publish(""), whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	// 0 the start; 1 create, 2 write, 3 sync, 4 rename, 5 sync of the directory, 6 the event.
	// Found: nothing, tmp empty, of zeros, written; final; both names.
	if want := (crash.Report{Moments: 7, States: 6, New: 6, Checks: 7}); report != want {
		t.Fatalf("got %+v, want %+v", report, want)
	}
	for skip, want := range map[string]string{"sync file": "torn", "sync directory": "no such file"} {
		_, err := crash.Run(publish(skip), whole, nil)
		var f *crash.Failure
		if !errors.As(err, &f) || !strings.Contains(err.Error(), want) {
			t.Errorf("without %q: %v", skip, err)
		}
	}
	for _, op := range []vfstest.Op{vfstest.OpSync, vfstest.OpSyncDir} {
		_, err := crash.Run(publish(""), whole,
			&crash.Options{Wrap: func(fsys vfs.FS) vfs.FS { return crash.Without(fsys, op) }})
		if !crash.IsFailure(err) {
			t.Errorf("without %v: %v", op, err)
		}
	}
}

// TestRunSampled: where there are too many states to try them all, one block
// that is missing is still found.
func TestRunSampled(t *testing.T) {
	work := func(fsys vfs.FS, ack func(string)) error {
		f, err := fsys.Create("/f", 0o666)
		if err != nil {
			return err
		}
		_, err = f.WriteAt(make([]byte, 100*vfstest.BlockSize), 0)
		if err == nil {
			_, err = f.WriteAt([]byte(strings.Repeat("x", 100*vfstest.BlockSize)), 0)
		}
		ack("written")
		return errors.Join(err, f.Close(), fsys.SyncDir("/"))
	}
	report, err := crash.Run(work, func(vfs.FS, []string) error { return nil }, &crash.Options{Limit: 50, Samples: 30})
	if err != nil || report.Sampled == 0 || report.States < 100 || !strings.Contains(report.String(), "sampled") {
		t.Fatalf("%v, %v", report, err)
	}
	_, err = crash.Run(work, func(fsys vfs.FS, _ []string) error {
		f, err := fsys.Open("/f")
		if err != nil {
			return nil
		}
		defer f.Close()
		b := make([]byte, 100*vfstest.BlockSize)
		n, _ := f.ReadAt(b, 0)
		if i := slices.Index(b[:n], 0); i == 70*vfstest.BlockSize && !slices.Contains(b[i+vfstest.BlockSize:n], 0) &&
			n == len(b) {
			return errors.New("block 70 alone is missing")
		}
		return nil
	}, &crash.Options{Limit: 50, Samples: 1})
	if !crash.IsFailure(err) {
		t.Fatalf("the single omission was not tried: %v", err)
	}
}

func TestRunConcurrent(t *testing.T) {
	_, err := crash.Run(func(fsys vfs.FS, ack func(string)) error {
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				name := fmt.Sprint("/f", i)
				f, err := fsys.Create(name, 0o666)
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(f.Close(), fsys.SyncDir("/")); err != nil {
					t.Error(err)
				}
				ack(name)
			})
		}
		wg.Wait()
		return nil
	}, func(fsys vfs.FS, acked []string) error {
		for _, name := range acked {
			if _, err := fsys.Stat(name); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// A second power loss, in a state that the first one left: the workload goes on
// there, with what was acknowledged before, and states that both runs meet
// count once.
func TestRunFrom(t *testing.T) {
	var states crash.States
	var left *vfstest.Mem
	first, err := crash.Run(publish(""), func(fsys vfs.FS, acked []string) error {
		if mem := fsys.(*vfstest.Mem); len(acked) > 0 {
			left = mem.Clone()
		}
		return whole(fsys, acked)
	}, &crash.Options{States: &states})
	if err != nil || first.New != first.States || states.Len() != first.New {
		t.Fatalf("%+v, %d states: %v", first, states.Len(), err)
	}
	again := func(fsys vfs.FS, ack func(string)) error {
		return errors.Join(fsys.Remove("/final"), publish("")(fsys, ack))
	}
	_, err = crash.Run(again, whole, &crash.Options{From: left, Acked: []string{"published"}, States: &states})
	if !crash.IsFailure(err) {
		t.Fatalf("what was acknowledged in the first run is gone in the second, and nobody noticed: %v", err)
	}
	second, err := crash.Run(again, whole, &crash.Options{From: left, States: &states})
	if err != nil || second.New >= second.States {
		t.Fatalf("%+v: %v", second, err)
	}
	if tree := crash.Tree(left); !strings.Contains(tree, "/final") {
		t.Errorf("the state that it started from was changed:\n%s", tree)
	}
}

func TestRunErrors(t *testing.T) {
	broken := errors.New("broken")
	fails := func(vfs.FS, func(string)) error { return broken }
	fine := func(vfs.FS, []string) error { return nil }
	if _, err := crash.Run(fails, fine, nil); !errors.Is(err, broken) || crash.IsFailure(err) {
		t.Errorf("workload: %v", err)
	}
	if _, err := crash.Run(fails, fine, &crash.Options{Tolerate: func(err error) bool { return err == broken }}); err != nil {
		t.Errorf("tolerated: %v", err)
	}
	if _, err := crash.Run(fails, fine, &crash.Options{Setup: func(vfs.FS) error { return syscall.EIO }}); !errors.Is(err, syscall.EIO) {
		t.Errorf("setup: %v", err)
	}
}

func TestFaults(t *testing.T) {
	runs, err := crash.Faults(nothing, publish(""), func(o crash.Outcome) error {
		if (o.Err == nil) != (len(o.Acked) == 1) {
			return errors.New("an error and an acknowledgement, or neither")
		}
		return whole(o.FS, o.Acked)
	})
	if err == nil || !strings.Contains(err.Error(), "short transfer") {
		t.Fatalf("the unchecked short write was not found: %v", err)
	}
	if runs < 30 {
		t.Fatalf("%d runs", runs)
	}
}

// careful is publish that looks at short writes, cleans up, and takes as long as it takes.
func careful(fsys vfs.FS, ack func(string)) (err error) {
	f, err := fsys.Create("/tmp", 0o666)
	if err != nil {
		return err
	}
	n, err := f.WriteAt([]byte("whole"), 0)
	if err == nil && n < 5 {
		err = syscall.EIO
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = errors.Join(fsys.Rename("/tmp", "/final"), fsys.SyncDir("/"))
	}
	if err != nil {
		return errors.Join(err, fsys.Remove("/tmp"))
	}
	ack("published")
	return nil
}

func TestFull(t *testing.T) {
	runs, err := crash.Full(nothing, careful, func(o crash.Outcome) error {
		if !errors.Is(o.Err, syscall.ENOSPC) {
			return errors.New("the disk is full, and nobody said so")
		}
		return whole(o.FS, o.Acked)
	})
	if err != nil || runs != 2 {
		t.Fatalf("%d runs: %v", runs, err)
	}
	_, err = crash.Full(nothing, publish(""), func(crash.Outcome) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("the check was not asked: %v", err)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, err := crash.Slow(nothing, careful, time.Hour, func(o crash.Outcome) error {
			if o.Err != nil || o.Took != time.Duration(o.Hits)*time.Hour {
				return fmt.Errorf("took %v, %w", o.Took, o.Err)
			}
			return whole(o.FS, o.Acked)
		})
		if err != nil || runs != 12 {
			t.Fatalf("%d runs: %v", runs, err)
		}
	})
}

func nothing(vfs.FS) error { return nil }

func TestFaultsLeak(t *testing.T) {
	leak := func(fsys vfs.FS, ack func(string)) error {
		f, err := fsys.Create("/f", 0o666)
		if err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		return f.Close()
	}
	if _, err := crash.Faults(nothing, leak, func(crash.Outcome) error { return nil }); err == nil ||
		!strings.Contains(err.Error(), "open") {
		t.Fatalf("the file left open was not found: %v", err)
	}
}
