package partial_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/partial"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// history is a session: parts, of which the last replaces a leaf and brings
// strings, and its end. What checkpoint it makes after n parts is content(n).
func history(fsys vfs.FS, ack func(string)) error {
	ctx, st := context.Background(), local.New(fsys, "/", nil)
	for i, part := range []map[string]any{
		{"a": ramp(600, 1), "s": "one"}, {"b": ramp(500, 2), "n": 3}, {"a": ramp(400, 3), "t": "two"},
	} {
		o := on(st)
		o.Replace = i == 2
		if err := partial.Save(ctx, "c", part, o); err != nil {
			return err
		}
		ack("part")
	}
	if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		return err
	}
	ack("final")
	return nil
}

func content(parts int) map[string]any {
	m := map[string]any{"a": ramp(600, 1), "s": "one"}
	if parts > 1 {
		m["b"], m["n"] = ramp(500, 2), 3
	}
	if parts > 2 {
		m["a"], m["t"] = ramp(400, 3), "two"
	}
	return m
}

// recovered finalizes what is left of a session, if nobody has, and reports which
// of the parts that were acknowledged, and perhaps one more, the checkpoint has.
func recovered(fsys vfs.FS, acked []string) error {
	ctx, st := context.Background(), local.New(fsys, "/", nil)
	done := slices.Contains(acked, "final")
	parts := len(acked)
	if done {
		parts--
	} else if err := partial.Finalize(ctx, "c", &partial.FinalizeOptions{Store: st}); err != nil {
		_, serr := st.Stat(ctx, "c")
		switch kind := errs.KindOf(err); {
		case kind == errs.NotFound && parts == 0, kind == errs.Exists && serr == nil: // nothing yet, or all done
		case kind == errs.Corrupt && parts == 0: // a session that has no part yet
		default:
			return fmt.Errorf("finalize: %w", err)
		}
	}
	n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		if parts == 0 {
			return nil
		}
		return err
	}
	var diff string
	for _, p := range []int{parts, parts + 1} {
		w, err := tree.From(content(p))
		if err != nil {
			return err
		}
		d := tree.Diff(w, n)
		if len(d) == 0 {
			return nil
		}
		diff += tree.FormatDiff(d)
		if done {
			break
		}
	}
	return fmt.Errorf("after %d parts: %s", parts, diff)
}

// Whatever moment the power fails at, no part that was acknowledged is lost.
func TestCrash(t *testing.T) {
	report, err := crash.Run(history, recovered, &crash.Options{Limit: 16, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
}

// Nor whichever operation fails. The short form has the first part only;
// package checkpoint has Finalize fail.
func TestFaults(t *testing.T) {
	work := crash.Workload(history)
	if os.Getenv("BIVOUAC_LONG") == "" {
		work = func(fsys vfs.FS, ack func(string)) error {
			ctx, st := context.Background(), local.New(fsys, "/", nil)
			if err := partial.Save(ctx, "c", content(1), on(st)); err != nil {
				return err
			}
			ack("part")
			return nil
		}
	}
	runs, err := crash.Faults(func(vfs.FS) error { return nil }, work,
		func(o crash.Outcome) error { return recovered(o.FS, o.Acked) })
	if err != nil {
		t.Fatal(err)
	}
	t.Log(runs, "runs")
}
