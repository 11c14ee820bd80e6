package training_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const keep = 2

// model is the state of step n: something inline, something in a data file,
// a string, an empty container.
func model(n int64) map[string]any {
	w := make([]float32, 300)
	for i := range w {
		w[i] = float32(n) + float32(i)/1000
	}
	return map[string]any{"w": w, "b": []float64{float64(n)}, "step": n, "name": "step " + strconv.FormatInt(n, 10),
		"none": map[string]any{}}
}

func position(n int64) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"position":%d}`, n)) }

func openOn(fsys vfs.FS, o training.Options) (*training.Checkpointer, error) {
	o.Store = local.New(fsys, "/run", nil)
	o.Preserve = training.LatestN{N: keep}
	return training.Open(context.Background(), "", &o)
}

// saving saves the steps one after the other; every commit is acknowledged
// before retention begins.
func saving(steps ...int64) crash.Workload {
	return func(fsys vfs.FS, ack func(string)) error {
		ctx := context.Background()
		c, err := openOn(fsys, training.Options{Clean: true, OnEvent: func(e training.Event) {
			if e.Kind == training.SaveCommitted {
				ack(strconv.FormatInt(e.Step, 10))
			}
		}})
		if err != nil {
			return err
		}
		for _, n := range steps {
			r, err := c.SaveCheckpointablesAsync(ctx, n, map[string]any{"state": model(n), "data": position(n)},
				&training.SaveOptions{Force: true})
			if err != nil {
				return errors.Join(err, c.Close())
			}
			if _, err := r.Result(ctx); err != nil {
				return errors.Join(err, c.Close())
			}
		}
		return c.Close()
	}
}

// survived checks what a process finds that starts after the failure: every
// step that is listed is whole, the newest acknowledged ones are there, nothing
// torn stands under the name of a step, and no leftovers remain after opening.
func survived(before ...int64) func(fsys vfs.FS, acked []string) error {
	return func(fsys vfs.FS, acked []string) error {
		ctx := context.Background()
		var torn error
		c, err := openOn(fsys, training.Options{Clean: true, OnEvent: func(e training.Event) {
			if e.Kind == training.Skipped || e.Kind == training.Quarantined {
				torn = fmt.Errorf("step %d is visible and not whole: %w", e.Step, e.Err)
			}
		}})
		if err != nil {
			return err
		}
		defer c.Close()
		if torn != nil {
			return torn
		}
		listed := map[int64]bool{}
		for _, in := range c.Checkpoints() {
			listed[in.Step] = true
			if err := equals(ctx, c, in.Step); err != nil {
				return err
			}
		}
		promised := append([]int64(nil), before...)
		for _, s := range acked {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				return err
			}
			promised = append(promised, n)
		}
		for _, n := range promised[max(0, len(promised)-keep):] {
			if !listed[n] {
				return fmt.Errorf("step %d was acknowledged and is gone", n)
			}
		}
		st := local.New(fsys, "/run", nil)
		for e, err := range st.List(ctx, "") {
			if err != nil {
				return err
			}
			if store.IsStaging(e.Name) {
				return fmt.Errorf("%s is left over", e.Name)
			}
		}
		return nil
	}
}

// equals loads a step and compares it with what was saved.
func equals(ctx context.Context, c *training.Checkpointer, step int64) error {
	items, err := c.LoadCheckpointables(ctx, step, nil)
	if err != nil {
		return err
	}
	want, err := tree.From(model(step))
	if err != nil {
		return err
	}
	got, _ := items["state"].(*tree.Node)
	if got == nil || !tree.Equal(want, got) {
		return fmt.Errorf("step %d holds another state", step)
	}
	if raw, _ := items["data"].(json.RawMessage); string(raw) != string(position(step)) {
		return fmt.Errorf("step %d holds another position: %s", step, raw)
	}
	return nil
}

func prepared(steps ...int64) func(vfs.FS) error {
	return func(fsys vfs.FS) error { return saving(steps...)(fsys, func(string) {}) }
}

// sampling is the bound on states at one moment under -short: the race detector
// wants the interleavings, not the states.
const sampling = 32

// Power loss at every operation of a save with retention, every state.
func TestPowerLoss(t *testing.T) {
	limit := 0 // all states of a moment, up to the harness's bound
	switch {
	case os.Getenv("BIVOUAC_LONG") != "":
		limit = 1 << 20
	case testing.Short():
		limit = sampling
	}
	report, err := crash.Run(saving(30), survived(10, 20), &crash.Options{Setup: prepared(10, 20), Limit: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if report.Sampled > 0 && !testing.Short() {
		t.Errorf("%d moments were sampled, want all states of every moment", report.Sampled)
	}
}

// The first save into a directory that does not exist.
func TestPowerLossFirstSave(t *testing.T) {
	o := &crash.Options{}
	if testing.Short() {
		o.Limit = sampling
	}
	report, err := crash.Run(saving(0), survived(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
}

// The enumeration must find out a store that does not sync.
func TestPowerLossFindsMissingSyncs(t *testing.T) {
	if testing.Short() {
		t.Skip("a test of the other tests")
	}
	for name, wrap := range map[string]func(vfs.FS) vfs.FS{
		"files":       func(f vfs.FS) vfs.FS { return noFileSync{f} },
		"directories": func(f vfs.FS) vfs.FS { return noDirSync{f} },
	} {
		_, err := crash.Run(saving(30), survived(10, 20), &crash.Options{Setup: prepared(10, 20), Wrap: wrap, Limit: 256})
		var f *crash.Failure
		if !errors.As(err, &f) {
			t.Errorf("%s are never synced, and no loss was found: %v", name, err)
		}
	}
}

type noDirSync struct{ vfs.FS }

func (noDirSync) SyncDir(string) error { return nil }

type noFileSync struct{ vfs.FS }

func (f noFileSync) Create(name string, perm os.FileMode) (vfs.File, error) {
	file, err := f.FS.Create(name, perm)
	return unsynced{file}, err
}

type unsynced struct{ vfs.File }

func (unsynced) Sync() error { return nil }

// Every operation of a save fails once and for ever: earlier steps stay, the
// reason is reported, and the next start leaves no leftovers.
func TestEveryOperationFails(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of saves, one after the other")
	}
	runs, err := crash.Faults(prepared(10, 20), saving(30), func(o crash.Outcome) error {
		if o.Err == nil && len(o.Acked) == 0 {
			return errors.New("nothing was committed, and no error was returned")
		}
		if o.Err != nil && errs.KindOf(o.Err) == errs.Other {
			return fmt.Errorf("an error without a kind: %w", o.Err)
		}
		if len(o.Acked) == 0 && strings.Contains(fmt.Sprint(o.Err), "is committed") {
			return errors.New("said to be committed without an acknowledgement")
		}
		return survived(10, 20)(o.FS, o.Acked)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(runs, "runs")
}
