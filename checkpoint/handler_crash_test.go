package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// generation is what a save of TestPowerLossHandled saves: an item of a handler,
// and leaves of one.
func generation(n int) map[string]any {
	return map[string]any{
		"words": words{fmt.Sprint("word", n), "same"},
		"state": map[string]any{"note": note{fmt.Sprint("note", n)}, "n": n},
	}
}

// TestPowerLossHandled loses power while items and leaves of handlers replace
// others: what is there afterwards is of one generation, and the last one that was
// acknowledged or the one after it.
func TestPowerLossHandled(t *testing.T) {
	ctx := context.Background()
	o := handledOptions(t)
	save := func(fsys vfs.FS, n int) error {
		so := &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil), Options: o, Overwrite: true}
		if n == 3 { // the last one adds to what is there
			return checkpoint.SaveCheckpointables(ctx, "c",
				map[string]any{"more": words{"added"}, "state": map[string]any{"second": note{"added"}}},
				&checkpoint.SaveOptions{Store: so.Store, Options: o, PartialUpdate: true})
		}
		return checkpoint.SaveCheckpointables(ctx, "c", generation(n), so)
	}
	work := func(fsys vfs.FS, ack func(string)) error {
		for n := 1; n <= 3; n++ {
			if err := save(fsys, n); err != nil {
				return err
			}
			ack(fmt.Sprint(n))
		}
		return nil
	}
	check := func(fsys vfs.FS, acked []string) error {
		got, err := checkpoint.LoadCheckpointables(ctx, "c",
			&checkpoint.LoadOptions{Store: local.New(fsys, "/", nil), Options: o})
		if errs.KindOf(err) == errs.NotFound && len(acked) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		state := got["state"].(*tree.Node)
		n := int(state.Get("n").Value.(int64))
		added := got["more"] != nil
		if added != (state.Get("second") != nil) || added && state.Get("second").Value != (note{"added"}) {
			return errors.New("one half of what was added")
		}
		want := generation(n)
		if diff := cmp.Diff(want["words"], got["words"]); diff != "" ||
			state.Get("note").Value != want["state"].(map[string]any)["note"] {
			return fmt.Errorf("parts of several generations: %s, %v", diff, state)
		}
		if added {
			n = 3
		}
		if n < len(acked) || n > len(acked)+1 {
			return fmt.Errorf("generation %d after %v were acknowledged", n, acked)
		}
		return nil
	}
	report, err := crash.Run(work, check, &crash.Options{Limit: 48, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}
