package training_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/proof/crash"
)

// TestSystemCallsOfSaves records the system calls of another process that saves steps, replaces one
// and lets retention remove others, and compares them with the commit sequence: nothing is
// published, reported or removed before the kernel was asked to make durable what it rests on.
func TestSystemCallsOfSaves(t *testing.T) {
	if dir, _, ok := crash.Traced(); ok {
		tracedSaves(t, filepath.Join(dir, "run"))
		return
	}
	calls, _, err := crash.Trace(t.Context(), crash.Tracing{Test: t.Name(), Dir: t.TempDir()})
	if errors.Is(err, crash.ErrNoTrace) && os.Getenv(crash.TraceRequired) == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	staging := func(base string) bool { return strings.Contains(base, ".orbax-checkpoint-tmp-") }
	if n, err := crash.CheckDurable(calls, staging); err != nil || n < 5 {
		t.Errorf("%d names were published: %v\n%s", n, err, strings.Join(calls, "\n"))
	}
	// The check finds each sync that is missing.
	for i, c := range calls {
		if !strings.HasPrefix(c, "fdatasync run/") && !strings.HasPrefix(c, "fsync run") || strings.Contains(c, ".lock") {
			continue
		}
		again := slices.ContainsFunc(calls[i+1:], func(later string) bool { return later == c })
		if _, err := crash.CheckDurable(slices.Delete(slices.Clone(calls), i, i+1), staging); err == nil && !again {
			t.Errorf("call %d, %q, is not missed", i, c)
		}
	}
}

// tracedSaves saves steps and keeps the last two.
func tracedSaves(t *testing.T, dir string) {
	ctx := t.Context()
	c, err := training.Open(ctx, dir, &training.Options{Preserve: training.LatestN{N: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for n := range int64(4) {
		if _, err := c.Save(ctx, n, model(n), nil); err != nil {
			t.Fatal(err)
		}
		crash.Mark(fmt.Sprint(" acked ", n))
	}
	if _, err := c.Save(ctx, 3, model(4), &training.SaveOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	crash.Mark(" acked again")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}
