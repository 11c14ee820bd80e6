package local_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Tests that make mutate asked for: each fails when one line of the package is
// taken out.

// A directory whose renaming was acknowledged has its new name, and does not come
// back under the old one. Before, it is whole wherever it is found.
func TestPowerLossRename(t *testing.T) {
	for _, to := range []string{"1.damaged", "aside/1"} {
		powerLossRename(t, to)
	}
}

func powerLossRename(t *testing.T, to string) {
	work := func(fsys vfs.FS, ack func(string)) error {
		s := local.New(fsys, root, nil)
		rename := s.Rename
		if strings.Contains(to, "/") {
			rename = s.Move
		}
		err := rename(context.Background(), "1", to)
		if err == nil {
			ack("renamed")
		}
		return err
	}
	check := func(fsys vfs.FS, acked []string) error {
		s := local.New(fsys, root, nil)
		old, err := walk(s, "1")
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
		aside, err := walk(s, to)
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
		switch {
		case matches("1", 0, old) && matches("1", 1, aside):
			return nil
		case len(acked) == 0 && (matches("1", 1, old) || matches("1", 0, old)) && matches("1", 0, aside):
			return nil
		case len(acked) == 0 && to != "1.damaged" && matches("1", 1, old) && matches("1", 1, aside): // one directory was synced
			return nil
		}
		return fmt.Errorf("acknowledged %q, old name %q, %s: %q", acked, old, to, aside)
	}
	report, err := crash.Run(work, check, &crash.Options{Setup: setup})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}

// A process was killed after it had renamed a step to a staging name and before
// the sync. Cleaning must not take bytes that power loss would bring back under
// the name of the step.
func TestPowerLossCleanUnsyncedRemoval(t *testing.T) {
	trash := store.StagingName("1", "0123456789abcdef")
	work := func(fsys vfs.FS, ack func(string)) error {
		if err := fsys.Rename(root+"/1", root+"/"+trash); err != nil {
			return err
		}
		removed, err := local.New(fsys, root, nil).CleanStaging(context.Background(), "", nil)
		if err == nil && !slices.Equal(removed, []string{trash}) {
			err = fmt.Errorf("removed %q", removed)
		}
		if err == nil {
			ack("cleaned")
		}
		return err
	}
	check := func(fsys vfs.FS, _ []string) error {
		got, err := walk(local.New(fsys, root, nil), "1")
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
		if !matches("1", 1, got) && !matches("1", 0, got) {
			return fmt.Errorf("step 1 came back torn: %q", got)
		}
		return nil
	}
	report, err := crash.Run(work, check, &crash.Options{Setup: setup})
	t.Log(report)
	if err != nil {
		t.Fatal(err)
	}
}
