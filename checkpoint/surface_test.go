package checkpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/pending"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
)

// When a save began and when it was committed is known to the nanosecond, as is what
// the caller put beside it.
func TestInfo(t *testing.T) {
	b := newBlunder(t)
	before := time.Now()
	if err := checkpoint.Save(t.Context(), b.path("new"), map[string]any{"a": 1},
		&checkpoint.SaveOptions{Custom: map[string]any{"n": 1}}); err != nil {
		t.Fatal(err)
	}
	info, err := checkpoint.Metadata(t.Context(), b.path("new"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if info.Path != b.path("new") || info.Began.Before(before) || info.Commit.Before(info.Began) ||
		info.Commit.After(time.Now()) {
		t.Errorf("%+v, saved from %v on", info, before)
	}
	if string(info.Custom) != `{"n":1}` {
		t.Errorf("metadata %s", info.Custom)
	}
	var stored struct {
		Began  int64 `json:"init_timestamp_nsecs"`
		Commit int64 `json:"commit_timestamp_nsecs"`
	}
	raw, err := os.ReadFile(b.path("new/_CHECKPOINT_METADATA"))
	if err == nil {
		err = json.Unmarshal(raw, &stored)
	}
	if err != nil || !info.Began.Equal(time.Unix(0, stored.Began)) || !info.Commit.Equal(time.Unix(0, stored.Commit)) {
		t.Errorf("%v and %v, stored as %+v; %v", info.Began, info.Commit, stored, err)
	}
}

// IsCheckpoint is of any layout, or of the family that is asked for, whatever the
// context says about saves; and so are loads.
func TestIsCheckpoint(t *testing.T) {
	b := newBlunder(t)
	o := &checkpoint.SaveOptions{}
	o.Layout = options.SafetensorsLayout
	if err := checkpoint.Save(t.Context(), b.path("st"), map[string]any{"w": []float32{1}}, o); err != nil {
		t.Fatal(err)
	}
	ctx := options.With(t.Context(), options.Options{CheckpointLayout: options.SafetensorsFile})
	for _, c := range []struct {
		name   string
		family options.CheckpointLayout
		want   bool
	}{
		{"ok", 0, true}, {"ok", options.Auto, true}, {"ok", options.Orbax, true}, {"ok", options.SafetensorsFile, false},
		{"st", 0, true}, {"st", options.Auto, true}, {"st", options.Orbax, false}, {"st", options.SafetensorsFile, true},
		{"nothing", 0, false},
	} {
		o := &checkpoint.LoadOptions{}
		o.CheckpointLayout = c.family
		if got := checkpoint.IsCheckpoint(ctx, b.path(c.name), o); got != c.want {
			t.Errorf("%s as %v: %v", c.name, c.family, got)
		}
		if _, err := checkpoint.Load(ctx, b.path(c.name), o); (err == nil) != c.want {
			t.Errorf("load of %s as %v: %v", c.name, c.family, err)
		}
	}
}

// What is deleted in the background is gone when its result is there.
func TestDeleteAsync(t *testing.T) {
	b := newBlunder(t)
	for _, want := range []bool{true, false} {
		r, err := checkpoint.DeleteAsync(t.Context(), b.path("ok"), &checkpoint.DeleteOptions{MissingOK: true})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.Result(t.Context()); got != want || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
		if _, err := os.Stat(b.path("ok")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("it is there: %v", err)
		}
	}
	if r, err := checkpoint.DeleteAsync(t.Context(), b.path("ok"), nil); err == nil {
		if _, err = r.Result(t.Context()); errs.KindOf(err) != errs.NotFound {
			t.Error(err)
		}
	}
}

// At whatever moment the power fails, what is deleted is whole, or not found; and not
// found from the moment on at which Delete returns.
func TestDeleteIsAtOnce(t *testing.T) {
	state := map[string]any{"a": count(400, 1), "s": "text"}
	setup := func(fsys vfs.FS) error {
		return checkpoint.Save(context.Background(), "c", state, &checkpoint.SaveOptions{Store: local.New(fsys, "/", nil)})
	}
	work := func(fsys vfs.FS, ack func(string)) error {
		_, err := checkpoint.Delete(context.Background(), "c", &checkpoint.DeleteOptions{Store: local.New(fsys, "/", nil)})
		if err == nil {
			ack("deleted")
		}
		return err
	}
	check := func(fsys vfs.FS, acked []string) error {
		err := holds(context.Background(), "c", state, &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
		switch gone := errs.KindOf(err) == errs.NotFound; {
		case gone || err == nil && len(acked) == 0:
			return nil
		case err == nil:
			return errors.New("it is there, though it was deleted")
		}
		return err
	}
	report, err := crash.Run(work, check, &crash.Options{Setup: setup, Limit: 16, Samples: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
}

// Who asked to be told is told once, before the result is there, or at once.
func TestOnComplete(t *testing.T) {
	held := make(chan struct{})
	r := (*checkpoint.Response[int])(pending.Go(t.Context(), func(context.Context) (int, error) { <-held; return 7, nil }))
	var told []int
	r.OnComplete(func(n int, _ error) { told = append(told, n) })
	if len(told) > 0 || r.Observed() {
		t.Error("told too early")
	}
	close(held)
	<-r.Done()
	r.OnComplete(func(n int, _ error) { told = append(told, n+1) })
	if len(told) != 2 || told[0] != 7 || told[1] != 8 || !r.Observed() {
		t.Errorf("told %v", told)
	}
}
