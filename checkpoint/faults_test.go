package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// deed is something that is done to the checkpoint "ckpt", of which version 1
// is there before unless fresh; it acknowledges the version that it has saved.
type deed struct {
	name  string
	fresh bool
	do    func(ctx context.Context, st store.Store, ack func(string)) error
}

var deeds = []deed{
	{"save", true, func(ctx context.Context, st store.Store, ack func(string)) error {
		return acknowledge(checkpoint.Save(ctx, "ckpt", version(2), &checkpoint.SaveOptions{Store: st}), ack)
	}},
	{"save in the background", true, func(ctx context.Context, st store.Store, ack func(string)) error {
		return acknowledge(background(ctx, st, &checkpoint.SaveOptions{}), ack)
	}},
	{"save from the caller's memory", true, func(ctx context.Context, st store.Store, ack func(string)) error {
		released := make(chan struct{})
		err := background(ctx, st, &checkpoint.SaveOptions{Watch: true, Release: func() { close(released) }})
		if err == nil {
			<-released
		}
		return acknowledge(err, ack)
	}},
	{"save in bounded memory", true, func(ctx context.Context, st store.Store, ack func(string)) error {
		return acknowledge(background(ctx, st, &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: 1 << 16}}}), ack)
	}},
	{"overwrite", false, func(ctx context.Context, st store.Store, ack func(string)) error {
		return acknowledge(checkpoint.Save(ctx, "ckpt", version(2), &checkpoint.SaveOptions{Store: st, Overwrite: true}), ack)
	}},
	{"load", false, func(ctx context.Context, st store.Store, _ func(string)) error {
		got, err := checkpoint.Load(ctx, "ckpt", &checkpoint.LoadOptions{Store: st})
		if err == nil && versionOf(got) != 1 {
			err = errWrong
		}
		return err
	}},
	{"load all items", false, func(ctx context.Context, st store.Store, _ func(string)) error {
		got, err := checkpoint.LoadCheckpointables(ctx, "ckpt", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			return err
		}
		if n, ok := got["state"].(*tree.Node); !ok || versionOf(n) != 1 {
			return errWrong
		}
		return nil
	}},
	{"verify", false, func(ctx context.Context, st store.Store, _ func(string)) error {
		r, err := integrity.Verify(ctx, "ckpt", &integrity.VerifyOptions{Store: st})
		if err == nil && !r.OK() {
			// Verify reports EIO as damage. It must return any other failure as an error.
			if err = r.Problems[0]; !errors.Is(err, syscall.EIO) {
				err = errWrong
			}
		}
		return err
	}},
}

// errWrong is a wrong answer without an error.
var errWrong = errors.New("wrong, and no error")

func acknowledge(err error, ack func(string)) error {
	if err == nil {
		ack("2")
	}
	return err
}

func background(ctx context.Context, st store.Store, o *checkpoint.SaveOptions) error {
	o.Store = st
	o.Asynchronous.Timeout = options.Unlimited // a call may take an hour
	r, err := checkpoint.SaveAsync(ctx, "ckpt", version(2), o)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, r.Cancel)()
	_, err = r.Result(context.WithoutCancel(ctx))
	return err
}

// versionOf tells which version of the state n is, 0 for none.
func versionOf(n *tree.Node) int {
	for v := 1; v <= 2; v++ {
		if want, err := tree.From(version(v)); err == nil && tree.Equal(want, n) {
			return v
		}
	}
	return 0
}

func (d deed) setup(fsys vfs.FS) error {
	if d.fresh {
		return nil
	}
	return saveVersion(1, false)(fsys, func(string) {})
}

func (d deed) work(fsys vfs.FS, ack func(string)) error {
	return d.do(context.Background(), local.New(fsys, "/", nil), ack)
}

// left says what is wrong with what a deed left behind: the version that was
// acknowledged is there, or else the old one, whole; what is not is cleaned by
// the next start, and the next save comes through.
func (d deed) left(o crash.Outcome) error {
	ctx := context.Background()
	if errors.Is(o.Err, errWrong) {
		return o.Err
	}
	st := local.New(o.FS, "/", nil)
	got, err := checkpoint.Load(ctx, "ckpt", &checkpoint.LoadOptions{Store: st})
	switch {
	case err == nil && versionOf(got) == 0:
		return errors.New("another state was left")
	case err == nil && versionOf(got) == 1 && len(o.Acked) > 0:
		return errors.New("version 2 was acknowledged, and version 1 is there")
	case err != nil && (errs.KindOf(err) != errs.NotFound || !d.fresh || len(o.Acked) > 0):
		return err
	}
	if _, err := st.CleanStaging(ctx, "", nil); err != nil {
		return err
	}
	for e, err := range st.List(ctx, "") {
		if err != nil || e.Name != "ckpt" {
			return fmt.Errorf("%q is left over: %w", e.Name, err)
		}
	}
	return saveVersion(2, true)(o.FS, func(string) {})
}

// told says what is wrong with the error of a deed: it has a kind, says what
// was being done to what, and its chain leads to what the system said.
func told(o crash.Outcome) error {
	var e *errs.Error
	switch {
	case o.Err == nil:
		return nil
	case !errors.As(o.Err, &e) || errs.KindOf(o.Err) == errs.Other:
		return fmt.Errorf("an error without a kind: %w", o.Err)
	case !strings.Contains(o.Err.Error(), "ckpt"):
		return fmt.Errorf("an error that does not say where: %w", o.Err)
	case o.Plan.Err != nil && !errors.Is(o.Err, o.Plan.Err):
		return fmt.Errorf("not what the system said: %w", o.Err)
	case o.Plan.Err == nil && !errors.Is(o.Err, io.ErrUnexpectedEOF) && !errors.Is(o.Err, io.ErrShortWrite):
		return fmt.Errorf("not what happened: %w", o.Err)
	}
	return nil
}

// Every call fails in every way: there is an error that says so or the deed is
// done, and what is found afterwards is whole.
func TestEveryCallFails(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of saves, one after the other")
	}
	var kinds []string // all
	if raceDetector {
		kinds = []string{"EIO", "short transfer"}
	}
	for _, d := range deeds {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			runs, err := crash.Faults(d.setup, d.work, func(o crash.Outcome) error { return errors.Join(told(o), d.left(o)) },
				kinds...)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%d faults", runs)
		})
	}
}

// The disk is full after every block.
func TestEveryFullDisk(t *testing.T) {
	for _, d := range deeds {
		runs, err := crash.Full(d.setup, d.work, func(o crash.Outcome) error {
			if o.Err != nil && (!errors.Is(o.Err, errs.Exhausted) || !errors.Is(o.Err, syscall.ENOSPC)) {
				return fmt.Errorf("the disk is full, and the error is %w", o.Err)
			}
			if o.Err == nil && len(o.Acked) > 0 {
				return errors.New("done on a disk that had no room for it")
			}
			return d.left(o)
		})
		if err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
		t.Logf("%s: %d disks too small", d.name, runs)
	}
}

// Every call takes an hour, each one and all of them: what is done in time is
// done, and what is not is given up after the call that was under way.
func TestEveryCallIsSlow(t *testing.T) {
	const delay, patience = time.Hour, 10 * time.Minute
	// What the process keeps, such as encoders, is made outside of the bubbles.
	for _, d := range deeds {
		mem := vfstest.NewMem()
		if err := errors.Join(d.setup(mem), d.work(mem, func(string) {})); err != nil {
			t.Fatal(err)
		}
	}
	for i, d := range deeds {
		synctest.Test(t, func(t *testing.T) {
			if sampled() && i%2 == 0 { // every other deed is patient
				return
			}
			runs, err := crash.Slow(d.setup, d.work, delay, func(o crash.Outcome) error {
				if o.Err != nil {
					return fmt.Errorf("slow is no failure: %w", o.Err)
				}
				return d.left(o)
			})
			if err != nil {
				t.Errorf("%s: %v", d.name, err)
			}
			t.Logf("%s: %d slow", d.name, runs)
		})
		synctest.Test(t, func(t *testing.T) {
			if sampled() && i%2 == 1 { // and every other one is not
				return
			}
			impatient := func(fsys vfs.FS, ack func(string)) error {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				return d.do(ctx, local.New(fsys, "/", nil), ack)
			}
			runs, err := crash.Slow(d.setup, impatient, delay, func(o crash.Outcome) error {
				switch {
				case o.Err != nil && !errors.Is(o.Err, errs.Canceled):
					return fmt.Errorf("not cancelled, but %w", o.Err)
				case o.Took != time.Duration(o.Hits)*delay:
					return fmt.Errorf("took %v for %d slow calls", o.Took, o.Hits)
				}
				return d.left(o)
			})
			if err != nil {
				t.Errorf("%s, impatient: %v", d.name, err)
			}
			t.Logf("%s: %d slow and impatient", d.name, runs)
		})
	}
}
