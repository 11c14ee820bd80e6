package training_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
)

// The disk is full after every block of a save with retention: the steps before
// stay, the reason is told, and when there is room again the run goes on.
func TestEveryFullDisk(t *testing.T) {
	full := func(o crash.Outcome) error {
		switch {
		case o.Err == nil:
			return errors.New("done on a disk that had no room for it")
		case !errors.Is(o.Err, errs.Exhausted):
			return fmt.Errorf("the disk is full, and the error is %w", o.Err)
		case len(o.Acked) > 0:
			return errors.New("acknowledged on a disk that had no room for it")
		}
		if err := survived(10, 20)(o.FS, nil); err != nil {
			return err
		}
		if err := saving(30)(o.FS, func(string) {}); err != nil {
			return fmt.Errorf("with room again: %w", err)
		}
		return survived(20, 30)(o.FS, nil)
	}
	runs, err := crash.Full(prepared(10, 20), saving(30), full)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(runs, "disks too small")
}

// Every call of a save with retention takes an hour: a trainer that waits gets
// its step, and one that does not gets an error when the call is over.
func TestEveryCallIsSlow(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of saves, one after the other")
	}
	const delay = time.Hour
	// What the process keeps, such as encoders, is made outside of the bubbles.
	mem := vfstest.NewMem()
	if err := errors.Join(prepared(10, 20)(mem), survived(10, 20)(mem, nil)); err != nil {
		t.Fatal(err)
	}
	for name, patience := range map[string]time.Duration{"patient": 1000 * delay, "impatient": delay / 2} {
		synctest.Test(t, func(t *testing.T) {
			runs, err := crash.Slow(prepared(10, 20), savingWithin(patience, 30), delay, func(o crash.Outcome) error {
				switch {
				case o.Err == nil && len(o.Acked) == 0:
					return errors.New("nothing was committed, and no error was returned")
				case o.Err != nil && (name == "patient" || !errors.Is(o.Err, errs.Canceled)):
					return fmt.Errorf("slow is no failure: %w", o.Err)
				case o.Took != time.Duration(o.Hits)*delay:
					return fmt.Errorf("took %v for %d slow calls", o.Took, o.Hits)
				}
				return survived(10, 20)(o.FS, o.Acked)
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			t.Logf("%s: %d slow", name, runs)
		})
	}
}

// savingWithin saves a step, and gives up after a while.
func savingWithin(patience time.Duration, step int64) crash.Workload {
	return func(fsys vfs.FS, ack func(string)) error {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := openOn(fsys, training.Options{Clean: true, OnEvent: func(e training.Event) {
			if e.Kind == training.SaveCommitted {
				ack(strconv.FormatInt(e.Step, 10))
			}
		}})
		if err != nil {
			return err
		}
		_, err = c.SaveCheckpointables(ctx, step, map[string]any{"state": model(step), "data": position(step)},
			&training.SaveOptions{Force: true})
		return errors.Join(err, c.Close())
	}
}
